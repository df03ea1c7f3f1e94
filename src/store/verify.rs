//! Reads everything and checks everything.

use super::checks::{check_log, check_run, check_segment};
use super::core::Cut;
use super::place::{LOCK, UNFINISHED, is_log_or_segment, live_files, missing, no_manifest};
use super::unnamed::check_unnamed;
use crate::error::{Error, Result};
use crate::log::{LogReader, Operation, Tail};
use crate::manifest::{self, LogRef, Manifest};
use crate::options::Reads;
use crate::segment::Segment;
use crate::vfs::Vfs;
use std::path::Path;
use std::sync::Arc;

/// How far a long operation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes done.
    pub bytes: u64,
    /// Bytes in all.
    pub total: u64,
}

/// What verifying a store found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries found intact in segments and logs.
    pub entries: u64,
    /// Every damaged part, as an error that names file and offset.
    pub damage: Vec<Error>,
    /// Unfinished ends of logs: what a writer is just writing, or did not finish when
    /// it was killed. They are no damage.
    pub cuts: Vec<Cut>,
    /// Logs and segments of the store that its manifest does not name: being written,
    /// or left by a crash. The next opening for writing removes them.
    pub leftovers: Vec<String>,
    /// Names in the store's directory that are none of the store's. They are left
    /// alone.
    pub unknown_files: Vec<String>,
}

/// Checks the store in `dir`, also one that is too damaged to be opened. Beside a
/// writer, files that it replaced meanwhile are passed over.
pub(super) fn verify(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<VerifyReport> {
    let manifest = Manifest::load(&**vfs, dir)?.ok_or_else(|| no_manifest(dir))?;
    let mut report = VerifyReport {
        files: 1,
        ..VerifyReport::default()
    };
    let segments: u64 = manifest.runs.iter().flatten().map(|s| s.size).sum();
    let mut done = Progress {
        bytes: 0,
        total: segments,
    };
    for run in &manifest.runs {
        let mut metas = Vec::new();
        for named in run {
            let path = dir.join(crate::segment::file_name(named.number));
            let before = done.bytes;
            let checked = Segment::open(vfs, &path, manifest.store, named, Reads::Pread)
                .and_then(|segment| check_segment(dir, &segment, &manifest).map(|()| segment))
                .map(|segment| {
                    let damage = segment.verify_all(&mut |bytes| {
                        done.bytes = (done.bytes + bytes).min(before + named.size);
                        progress(&done);
                    });
                    (segment.meta().clone(), damage)
                });
            done.bytes = before + named.size;
            progress(&done);
            match checked {
                Ok((meta, damage)) => {
                    report.entries += if damage.is_empty() { meta.keys } else { 0 };
                    report.damage.extend(damage);
                    metas.push(meta);
                }
                Err(error) if error.is_not_found() && is_replaced(&**vfs, dir, &path)? => continue,
                Err(error) => report.damage.push(missing(error)),
            }
            report.files += 1;
            report.bytes += named.size;
        }
        // Of those that could be opened: what is missing is told already.
        if !metas.is_empty() || run.is_empty() {
            report.damage.extend(check_run(dir, metas.iter()).err());
        }
    }
    let mut next = Some(manifest.sequence);
    for (place, log) in manifest.logs.iter().enumerate() {
        if let Some(next) = next {
            let is_last = place + 1 == manifest.logs.len();
            report
                .damage
                .extend(check_log(dir, log, next, is_last).err());
        }
        match verify_log(&**vfs, dir, &manifest, log, &mut report) {
            Ok(reached) => next = Some(reached),
            Err(error) => {
                // Where the next log begins cannot be told.
                next = None;
                let path = dir.join(crate::log::file_name(log.number));
                if error.is_not_found() && is_replaced(&**vfs, dir, &path)? {
                    continue;
                }
                report.damage.push(missing(error));
            }
        }
        report.files += 1;
    }
    list_others(&**vfs, dir, &manifest, &mut report)?;
    Ok(report)
}

/// Reads a log; the number of the frame that would follow it.
fn verify_log(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    log: &LogRef,
    report: &mut VerifyReport,
) -> Result<u64> {
    let path = dir.join(crate::log::file_name(log.number));
    let mut reader = LogReader::open(vfs, &path, manifest.store, log.number)?;
    let mut entries = 0;
    let tail = reader.read(log.length, true, &mut |operation| {
        entries += u64::from(!matches!(operation, Operation::Position(_)));
        Ok(())
    })?;
    report.entries += entries;
    report.bytes += reader.offset();
    if let Tail::Unfinished { reason } = tail {
        report.cuts.push(Cut {
            path,
            offset: reader.offset(),
            reason,
        });
    }
    Ok(reader.next_sequence())
}

/// Whether the manifest in force does not name the file any more.
fn is_replaced(vfs: &dyn Vfs, dir: &Path, path: &Path) -> Result<bool> {
    let manifest = Manifest::load(vfs, dir)?.ok_or_else(|| no_manifest(dir))?;
    let mut live = live_files(&manifest);
    Ok(!live.any(|name| path.ends_with(&name)))
}

/// Names in the directory that the manifest does not name.
fn list_others(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    report: &mut VerifyReport,
) -> Result<()> {
    let mut known: Vec<String> = live_files(manifest).collect();
    known.extend([LOCK, UNFINISHED, manifest::FILE_NAME, manifest::TEMPORARY].map(String::from));
    for name in vfs.list(dir).map_err(|e| Error::io("list", dir, e))? {
        if known.contains(&name) {
            continue;
        }
        match is_log_or_segment(vfs, dir, &name, Some(manifest.store)) {
            Ok(true) => report.leftovers.push(name),
            Ok(false) => report.unknown_files.push(name),
            // Gone meanwhile: a writer's.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    report.leftovers.sort();
    report.unknown_files.sort();
    if let Err(error) = check_unnamed(vfs, dir, manifest, &report.leftovers) {
        let now = Manifest::load(vfs, dir)?;
        // Else a writer was at work, and has replaced it.
        if now.as_ref() == Some(manifest) {
            report.damage.push(error);
        }
    }
    Ok(())
}
