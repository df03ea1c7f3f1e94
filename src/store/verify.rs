//! Reads everything and checks everything.

use super::place::{file_number, live_files, missing, no_manifest};
use crate::error::{Error, Result};
use crate::log::{LogReader, Operation};
use crate::manifest::{self, Manifest};
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
    for named in manifest.runs.iter().flatten() {
        let path = dir.join(crate::segment::file_name(named.number));
        let before = done.bytes;
        let checked = Segment::open(vfs, &path, manifest.store, named, Reads::Pread)
            .and_then(|segment| {
                check_against(&segment, &manifest, &path)?;
                Ok(segment)
            })
            .map(|segment| {
                let damage = segment.verify_all(&mut |bytes| {
                    done.bytes = (done.bytes + bytes).min(before + named.size);
                    progress(&done);
                });
                (segment.meta().keys, damage)
            });
        done.bytes = before + named.size;
        progress(&done);
        match checked {
            Ok((keys, damage)) => {
                report.entries += if damage.is_empty() { keys } else { 0 };
                report.damage.extend(damage);
            }
            Err(error) if error.is_not_found() && is_replaced(&**vfs, dir, &path)? => continue,
            Err(error) => report.damage.push(missing(error)),
        }
        report.files += 1;
        report.bytes += named.size;
    }
    for log in &manifest.logs {
        let path = dir.join(crate::log::file_name(log.number));
        let checked =
            LogReader::open(&**vfs, &path, manifest.store, log.number).and_then(|mut reader| {
                let mut entries = 0;
                reader.read(log.length, true, &mut |operation| {
                    entries += u64::from(matches!(operation, Operation::Insert { .. }));
                    Ok(())
                })?;
                Ok((entries, reader.offset()))
            });
        match checked {
            Ok((entries, bytes)) => {
                report.entries += entries;
                report.bytes += bytes;
            }
            Err(error) if error.is_not_found() && is_replaced(&**vfs, dir, &path)? => continue,
            Err(error) => report.damage.push(missing(error)),
        }
        report.files += 1;
    }
    report.unknown_files = unknown_files(&**vfs, dir)?;
    Ok(report)
}

/// What a segment says of itself agrees with the manifest.
fn check_against(segment: &Segment, manifest: &Manifest, path: &Path) -> Result<()> {
    let said = (segment.seed(), segment.policy(), segment.stamps());
    let named = (manifest.seed, manifest.policy.as_str(), manifest.stamps);
    if said == named {
        return Ok(());
    }
    Err(Error::corrupt(
        path,
        0,
        format!("the hash seed, policy and stamps {named:?} of the manifest"),
        format!("{said:?}"),
    ))
}

/// Whether the manifest in force does not name the file any more.
fn is_replaced(vfs: &dyn Vfs, dir: &Path, path: &Path) -> Result<bool> {
    let manifest = Manifest::load(vfs, dir)?.ok_or_else(|| no_manifest(dir))?;
    let mut live = live_files(&manifest);
    Ok(!live.any(|name| path.ends_with(&name)))
}

/// Names that are neither live nor of the store's own making: files that a crash
/// left are removed by the next opening, and are not worth a word.
fn unknown_files(vfs: &dyn Vfs, dir: &Path) -> Result<Vec<String>> {
    let own = |name: &String| {
        ["LOCK", manifest::FILE_NAME, manifest::TEMPORARY].contains(&name.as_str())
            || file_number(name).is_some()
    };
    let mut names = vfs.list(dir).map_err(|e| Error::io("list", dir, e))?;
    names.retain(|name| !own(name));
    names.sort();
    Ok(names)
}
