//! Files of the store's own that its manifest does not name.
//!
//! Most are what a flush, a merge or a change of manifest left when it was
//! interrupted: the manifest has what is in them, or nothing is. One with more means
//! that an older manifest was put in the place of the store's.

use super::place::{is_log_or_segment, live_files, numbered};
use crate::error::{Error, Result};
use crate::header::{self, FileKind};
use crate::log::LogReader;
use crate::manifest::{self, Manifest};
use crate::segment::{self, Origin};
use crate::vfs::Vfs;
use std::path::Path;

/// The names of the logs and segments of the store that `manifest` does not name, in
/// order.
pub(super) fn unnamed(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let live: Vec<String> = live_files(manifest).collect();
    let mut names = Vec::new();
    for name in vfs.list(dir).map_err(|e| Error::io("list", dir, e))? {
        if live.contains(&name) {
            continue;
        }
        match is_log_or_segment(vfs, dir, &name, Some(manifest.store)) {
            Ok(true) => names.push(name),
            Ok(false) => {}
            // Gone meanwhile: a writer's.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    names.sort();
    Ok(names)
}

/// What a file is that the manifest does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unnamed {
    /// No manifest ever named it.
    Unfinished,
    /// An earlier manifest may have named it; the present one has what is in it.
    Superseded,
    /// A log with something in it that cannot be read. It is left to a person.
    Unreadable,
}

/// Refuses a manifest beside a file with frames or entries that it does not know of.
pub(super) fn check_unnamed(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    names: &[String],
) -> Result<()> {
    judge(vfs, dir, manifest, names.to_vec()).map(drop)
}

/// Says of each file what it is; refuses as [`check_unnamed`] does.
pub(super) fn judge(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    names: Vec<String>,
) -> Result<Vec<(String, Unnamed)>> {
    let mut judged = Vec::with_capacity(names.len());
    for name in names {
        let Some((number, kind)) = numbered(&name) else {
            continue;
        };
        let path = dir.join(&name);
        let one = match kind {
            FileKind::Log => judge_log(vfs, &path, manifest, number),
            _ => judge_segment(vfs, &path, manifest, number),
        };
        match one {
            Ok(Ok(unnamed)) => judged.push((name, unnamed)),
            Ok(Err(sequence)) => {
                return Err(Error::corrupt(
                    &dir.join(manifest::FILE_NAME),
                    0,
                    format!("a manifest that knows of frame {sequence}, which is in {name}"),
                    format!("an older one, up to frame {}", manifest.sequence),
                ));
            }
            // Gone meanwhile: a writer's.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(judged)
}

/// What a segment is, or the last frame in it of which the manifest does not know.
fn judge_segment(
    vfs: &dyn Vfs,
    path: &Path,
    manifest: &Manifest,
    number: u64,
) -> Result<Result<Unnamed, u64>> {
    // Written whole, and synced, before a manifest names it.
    let Some(Origin {
        sequences: (first, last),
        inputs,
    }) = segment::origin(vfs, path, manifest.store, number)?
    else {
        return Ok(Ok(Unnamed::Unfinished));
    };
    // One that was written for a log which is live still has nothing that the log has
    // not; and what a segment was made of is never live again once it was named.
    let log_is_live = manifest.logs.iter().any(|log| log.first_sequence == first);
    if last >= manifest.sequence && !log_is_live {
        return Ok(Err(last));
    }
    let is_live = |input: &u64| {
        let mut live = manifest.runs.iter().flatten();
        live.any(|segment| segment.number == *input)
    };
    let inputs_are_live = !inputs.is_empty() && inputs.iter().all(is_live);
    let unfinished = log_is_live || inputs_are_live || number >= manifest.next_number;
    Ok(Ok(match unfinished {
        true => Unnamed::Unfinished,
        false => Unnamed::Superseded,
    }))
}

/// What a log is, or the last frame in it of which the manifest does not know.
fn judge_log(
    vfs: &dyn Vfs,
    path: &Path,
    manifest: &Manifest,
    number: u64,
) -> Result<Result<Unnamed, u64>> {
    let mut log = match LogReader::open(vfs, path, manifest.store, number) {
        Ok(log) => log,
        Err(Error::Corrupt(_)) => return judge_bad_log(vfs, path).map(Ok),
        Err(error) => return Err(error),
    };
    let first = log.first_sequence();
    if first >= manifest.sequence {
        log.read(None, true, &mut |_| Ok(()))?;
        if log.next_sequence() > first {
            return Ok(Err(log.next_sequence() - 1));
        }
    }
    Ok(Ok(match number >= manifest.next_number {
        true => Unnamed::Unfinished,
        false => Unnamed::Superseded,
    }))
}

/// A log whose header is not good, or not its own. It is synced before a manifest names
/// the log, and only then are there frames.
fn judge_bad_log(vfs: &dyn Vfs, path: &Path) -> Result<Unnamed> {
    let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
    let length = file
        .len()
        .map_err(|e| Error::io("find the length of", path, e))?;
    let is_begun = header::looks_like(&*file, path, FileKind::Log, None)?;
    match header::read(&*file, path, FileKind::Log) {
        Err(Error::Corrupt(_)) if !is_begun || length <= crate::log::EMPTY => {
            Ok(Unnamed::Unfinished)
        }
        Err(Error::Corrupt(_)) => Ok(Unnamed::Unreadable),
        // A copy under another number, say.
        Ok(_) => Ok(Unnamed::Superseded),
        Err(error) => Err(error),
    }
}
