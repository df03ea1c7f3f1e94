//! Files of the store's own that its manifest does not name.
//!
//! Most are what a flush, a merge or a change of manifest left when it was
//! interrupted: the manifest has what is in them, or nothing is. One with more means
//! that an older manifest was put in the place of the store's.

use super::place::{is_log_or_segment, live_files};
use crate::error::{Error, Result};
use crate::log::LogReader;
use crate::manifest::{self, Manifest};
use crate::segment;
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

/// Refuses a manifest beside a file with frames or entries that it does not know of.
pub(super) fn check_unnamed(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    names: &[String],
) -> Result<()> {
    for name in names {
        match newest_unknown(vfs, dir, manifest, name) {
            Ok(None) => {}
            Ok(Some(sequence)) => {
                return Err(Error::corrupt(
                    &dir.join(manifest::FILE_NAME),
                    0,
                    format!("a manifest that knows of frame {sequence}, which is in {name}"),
                    format!("an older one, up to frame {}", manifest.sequence),
                ));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The last frame in a file, if the manifest knows neither that frame nor a log that
/// begins with the file's first.
fn newest_unknown(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    name: &str,
) -> Result<Option<u64>> {
    let path = dir.join(name);
    let Some((number, extension)) = name.split_once('.') else {
        return Ok(None);
    };
    let Ok(number) = number.parse() else {
        return Ok(None);
    };
    let sequences = if extension == "log" {
        frames(vfs, &path, manifest, number)?
    } else {
        segment::sequences(vfs, &path, manifest.store, number)?
    };
    let is_live = |first| manifest.logs.iter().any(|log| log.first_sequence == first);
    Ok(sequences.and_then(|(first, last)| {
        // What is below the manifest's number is in its segments. A segment that was
        // written for a log which is live still has nothing that the log has not.
        let is_known = last < manifest.sequence || (extension == "seg" && is_live(first));
        (!is_known).then_some(last)
    }))
}

/// The first and last frame of a log; `None` if it has none, or is not a log of this
/// store and number: one is synced before the manifest names it, and only then are
/// there frames.
fn frames(
    vfs: &dyn Vfs,
    path: &Path,
    manifest: &Manifest,
    number: u64,
) -> Result<Option<(u64, u64)>> {
    let mut log = match LogReader::open(vfs, path, manifest.store, number) {
        Ok(log) => log,
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(_) => return Ok(None),
    };
    let first = log.first_sequence();
    if first >= manifest.sequence {
        log.read(None, false, &mut |_| Ok(()))?;
    }
    Ok((log.next_sequence() > first).then(|| (first, log.next_sequence() - 1)))
}
