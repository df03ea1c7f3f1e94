//! The store's directory: what is at a path, and which names in it are the store's.

use crate::error::{Error, Result};
use crate::header::{self, FileKind, MAX_NUMBER, StoreId};
use crate::manifest::{self, Manifest};
use crate::vfs::{Kind, Vfs};
use std::io::ErrorKind;
use std::path::Path;

/// The file whose lock is the store's.
pub(super) const LOCK: &str = "LOCK";

/// Empty: lies beside what a repair has made as long as its manifest is not written, and
/// means nothing beside a manifest.
pub(super) const UNFINISHED: &str = "REPAIR.tmp";

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A directory where a store can begin: empty, or with what a creation that
    /// was cut short left.
    Room,
    Store,
}

/// Refuses a path where there is no store.
pub(super) fn must_exist(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    if survey(vfs, dir)? == Found::Store {
        return Ok(());
    }
    Err(Error::NoSuchStore {
        path: dir.to_path_buf(),
    })
}

/// Looks at the path without changing anything.
pub(super) fn survey(vfs: &dyn Vfs, dir: &Path) -> Result<Found> {
    let not_a_store = |found: String| Error::NotAStore {
        path: dir.to_path_buf(),
        found,
    };
    if dir.as_os_str().is_empty() {
        return Err(not_a_store("the path is empty".into()));
    }
    match vfs.kind(dir).map_err(|e| Error::io("look at", dir, e))? {
        None => return Ok(Found::Nothing),
        Some(Kind::File) => return Err(not_a_store("it is a file".into())),
        Some(Kind::Other) => {
            return Err(not_a_store("it is neither a directory nor a file".into()));
        }
        Some(Kind::Directory) => {}
    }
    let names = vfs.list(dir).map_err(|e| Error::io("list", dir, e))?;
    if names.iter().any(|name| name == manifest::FILE_NAME) {
        return Ok(Found::Store);
    }
    if names.iter().any(|name| name == UNFINISHED) {
        return Err(not_a_store(
            "a repair into it is not finished; if none is running, remove it and repair again, or"
                .into(),
        ));
    }
    // The manifest comes before any log or segment: these without it mean that it
    // was lost, and then nothing is created over them.
    for name in &names {
        if is_log_or_segment(vfs, dir, name, None)? {
            return Err(Error::corrupt(
                &dir.join(manifest::FILE_NAME),
                0,
                format!("a manifest beside {name}"),
                "no file",
            ));
        }
    }
    match names
        .iter()
        .find(|name| ![LOCK, manifest::TEMPORARY].contains(&name.as_str()))
    {
        None => Ok(Found::Room),
        Some(other) => Err(not_a_store(format!(
            "it is a directory with other files in it, {other:?} among them"
        ))),
    }
}

/// The number and kind of a log or segment, going by its name.
pub(super) fn numbered(name: &str) -> Option<(u64, FileKind)> {
    let (number, extension) = name.split_once('.')?;
    let number = number.parse().ok().filter(|&number| number < MAX_NUMBER)?;
    match extension {
        "log" if crate::log::file_name(number) == name => Some((number, FileKind::Log)),
        "seg" if crate::segment::file_name(number) == name => Some((number, FileKind::Segment)),
        _ => None,
    }
}

/// Whether a file is a log or a segment, going by its name and its first bytes: of
/// the store `of` if that is given. One whose beginning was never written counts
/// as the store's: it was being created.
pub(super) fn is_log_or_segment(
    vfs: &dyn Vfs,
    dir: &Path,
    name: &str,
    of: Option<StoreId>,
) -> Result<bool> {
    let Some((_, kind)) = numbered(name) else {
        return Ok(false);
    };
    let path = dir.join(name);
    if vfs
        .kind(&path)
        .map_err(|e| Error::io("look at", &path, e))?
        != Some(Kind::File)
    {
        return Ok(false);
    }
    let file = vfs.open(&path).map_err(|e| Error::io("open", &path, e))?;
    header::looks_like(&*file, &path, kind, of)
}

/// Makes the directory's name durable, and the names of the directories above it:
/// which of them are new is not known after a creation that was cut short.
pub(super) fn sync_parents(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let mut path = dir;
    loop {
        let parent = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return Ok(()),
        };
        match vfs.sync_dir(parent) {
            Ok(()) => {}
            // One that may not be opened was not made by this user just now.
            Err(e) if e.kind() == ErrorKind::PermissionDenied && path != dir => {
                return Ok(());
            }
            Err(e) => return Err(Error::io("sync", parent, e)),
        }
        if parent == Path::new(".") {
            return Ok(());
        }
        path = parent;
    }
}

/// The names of the logs and segments that a manifest names.
pub(super) fn live_files(manifest: &Manifest) -> impl Iterator<Item = String> {
    let segments = manifest.runs.iter().flatten();
    segments
        .map(|segment| crate::segment::file_name(segment.number))
        .chain(
            manifest
                .logs
                .iter()
                .map(|log| crate::log::file_name(log.number)),
        )
}

/// The error for a store whose manifest is gone.
pub(super) fn no_manifest(dir: &Path) -> Error {
    Error::corrupt(
        &dir.join(manifest::FILE_NAME),
        0,
        "the store's manifest",
        "no file",
    )
}

/// A file that the manifest names and that is not there, or is a directory, is damage,
/// whatever the system calls it.
pub(super) fn missing(error: Error) -> Error {
    let Error::Io { path, source, .. } = &error else {
        return error;
    };
    let found = match source.kind() {
        ErrorKind::NotFound => "no file",
        ErrorKind::IsADirectory => "a directory",
        _ => return error,
    };
    Error::corrupt(path, 0, "a file that the manifest names", found)
}
