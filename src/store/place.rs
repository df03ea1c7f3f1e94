//! The store's directory: what is at a path, and which names in it are the store's.

use crate::error::{Error, Result};
use crate::manifest::{self, Manifest};
use crate::vfs::{Kind, Vfs};
use std::path::{Path, PathBuf};

/// The file whose lock is the store's.
pub(super) const LOCK: &str = "LOCK";

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
    // The manifest comes before any log or segment: these without it mean that it
    // was lost, and then nothing is created over them.
    if let Some(name) = names.iter().find(|name| file_number(name).is_some()) {
        return Err(Error::corrupt(
            &dir.join(manifest::FILE_NAME),
            0,
            format!("a manifest beside {name}"),
            "no file",
        ));
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

/// The number in the name of a log or a segment.
pub(super) fn file_number(name: &str) -> Option<u64> {
    let (stem, extension) = name.split_once('.')?;
    let own = matches!(extension, "log" | "seg")
        && stem.len() >= 6
        && stem.bytes().all(|byte| byte.is_ascii_digit());
    own.then(|| stem.parse().ok()).flatten()
}

/// Creates the directory and makes its name, and those of missing parents, durable.
pub(super) fn create_dir(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let mut to_sync = Vec::new();
    let mut missing = Some(dir);
    while let Some(path) = missing {
        let parent = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_path_buf(),
            None => break,
        };
        let exists = vfs
            .kind(&parent)
            .map_err(|e| Error::io("look at", &parent, e))?
            .is_some();
        to_sync.push(parent);
        missing = if exists { None } else { path.parent() };
    }
    vfs.create_dir(dir)
        .map_err(|e| Error::io("create", dir, e))?;
    for parent in to_sync {
        vfs.sync_dir(&parent)
            .map_err(|e| Error::io("sync", &parent, e))?;
    }
    Ok(())
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

/// A file that the manifest names and that is not there is damage, whatever the
/// system calls it.
pub(super) fn missing(error: Error) -> Error {
    match &error {
        Error::Io { path, .. } if error.is_not_found() => {
            Error::corrupt(path, 0, "a file that the manifest names", "no file")
        }
        _ => error,
    }
}
