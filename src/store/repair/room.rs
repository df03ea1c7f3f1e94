//! The directory that a repaired store is made in.
//!
//! Until its manifest is written, a file says that what lies there is no store: the
//! segments of an unfinished repair are whole, and would pass for all that there was.
//! That file is durable before the first segment, and goes when the manifest is.

use super::sources::is_file;
use crate::compact::RunWriter;
use crate::error::{Error, Result};
use crate::header::{FileKind, looks_like};
use crate::manifest::{self, Manifest, SaveError};
use crate::store::place::{Found, LOCK, UNFINISHED, numbered, survey, sync_parents};
use crate::vfs::{Kind, Lock, Vfs};
use std::path::{Path, PathBuf};

/// A place for the new store, which nobody else can take.
#[derive(Debug)]
pub(super) struct Room<'a> {
    vfs: &'a dyn Vfs,
    dir: PathBuf,
    lock: Box<dyn Lock>,
    /// Whether the lock's file was not there before.
    made_lock: bool,
}

impl<'a> Room<'a> {
    /// Takes the directory, which must not exist or be empty.
    pub(super) fn claim(vfs: &'a dyn Vfs, dir: &Path) -> Result<Room<'a>> {
        let found = must_be_free(vfs, dir)?;
        if found == Found::Nothing {
            vfs.create_dir(dir)
                .map_err(|e| Error::io("create", dir, e))?;
        }
        let path = dir.join(LOCK);
        let kind = vfs.kind(&path);
        let made_lock = kind.map_err(|e| Error::io("look at", &path, e))?.is_none();
        let locked = || Error::Locked {
            path: dir.to_path_buf(),
        };
        let lock = vfs
            .lock(&path)
            .map_err(|e| Error::io("lock", &path, e))?
            .ok_or_else(locked)?;
        if !lock
            .is_current()
            .map_err(|e| Error::io("look at", &path, e))?
        {
            return Err(locked());
        }
        // Again, now that nobody else can be making something there.
        must_be_free(vfs, dir)?;
        let room = Room {
            vfs,
            dir: dir.to_path_buf(),
            lock,
            made_lock,
        };
        match room.mark() {
            Ok(()) => Ok(room),
            Err(error) => {
                room.clear(None);
                Err(error)
            }
        }
    }

    fn mark(&self) -> Result<()> {
        let path = self.dir.join(UNFINISHED);
        let file = self.vfs.create(&path);
        let synced = file.and_then(|file| file.sync());
        synced.map_err(|e| Error::io("create", &path, e))?;
        self.sync_names()?;
        sync_parents(self.vfs, &self.dir)
    }

    fn sync_names(&self) -> Result<()> {
        self.vfs
            .sync_dir(&self.dir)
            .map_err(|e| Error::io("sync", &self.dir, e))
    }

    /// Makes a store of what was written: the names of its segments are durable before
    /// the manifest is.
    pub(super) fn open(self, manifest: &Manifest, writer: RunWriter) -> Result<()> {
        if let Err(error) = self.must_be_ours().and_then(|()| self.sync_names()) {
            self.clear(Some(writer));
            return Err(error);
        }
        match manifest.save(self.vfs, &self.dir) {
            Ok(()) => {}
            Err(SaveError::Unchanged(error)) => {
                self.clear(Some(writer));
                return Err(error);
            }
            // It may be in force after a power loss: then it must find its segments.
            Err(SaveError::Unknown(error)) => return Err(error),
        }
        // Means nothing any more; the next opening removes it if this does not.
        let _ = self.vfs.remove(&self.dir.join(UNFINISHED));
        Ok(())
    }

    /// Refuses a directory that is no longer the one that was taken: a repair can last for
    /// hours, and somebody may have removed it and made a store in its place.
    fn must_be_ours(&self) -> Result<()> {
        let look = |e| Error::io("look at the lock of", &self.dir, e);
        if self.lock.is_current().map_err(look)? {
            return Ok(());
        }
        let gone = std::io::Error::other(
            "the directory was removed or replaced meanwhile; nothing in it was changed or removed: \
             repair again into another place",
        );
        Err(Error::io("make a store at", &self.dir, gone))
    }

    /// Removes what was made, and nothing else: nothing at all in a directory that is
    /// another by now. The mark goes last: what cannot be removed must not pass for a
    /// store. The directory itself stays.
    pub(super) fn clear(self, writer: Option<RunWriter>) {
        if self.must_be_ours().is_err() {
            return;
        }
        let mut is_cleared = true;
        if let Some(mut writer) = writer {
            writer.abandon();
            let _ = self.vfs.remove(&self.dir.join(manifest::TEMPORARY));
            is_cleared = self.vfs.sync_dir(&self.dir).is_ok();
        }
        if is_cleared && self.is_empty() {
            let _ = self.vfs.remove(&self.dir.join(UNFINISHED));
            if self.made_lock {
                let _ = self.vfs.remove(&self.dir.join(LOCK));
            }
        }
    }

    fn is_empty(&self) -> bool {
        let own = [LOCK, UNFINISHED];
        let names = self.vfs.list(&self.dir);
        names.is_ok_and(|names| names.iter().all(|name| own.contains(&name.as_str())))
    }
}

/// Refuses a place where something is.
pub(super) fn must_be_free(vfs: &dyn Vfs, dir: &Path) -> Result<Found> {
    match survey(vfs, dir)? {
        Found::Store => Err(Error::AlreadyExists {
            path: dir.to_path_buf(),
        }),
        found => Ok(found),
    }
}

/// Refuses a place within a store: nothing is made there, least of all in a damaged one.
pub(super) fn must_be_outside(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    for above in whole.ancestors().skip(1) {
        let is_dir = matches!(vfs.kind(above), Ok(Some(Kind::Directory)));
        if is_dir && holds_store(vfs, above) {
            return Err(Error::InvalidOption {
                option: "into",
                expected: format!("give a place outside of the store {}", above.display()),
                found: dir.display().to_string(),
            });
        }
    }
    Ok(())
}

/// Whether a store is there, be it damaged. A file with a manifest's name alone is none:
/// trees of sources have one.
fn holds_store(vfs: &dyn Vfs, dir: &Path) -> bool {
    match survey(vfs, dir) {
        Ok(Found::Store) => {}
        found => return matches!(found, Err(Error::Corrupt(_))),
    }
    let path = dir.join(manifest::FILE_NAME);
    let file = is_file(vfs, &path).ok().and_then(|()| vfs.open(&path).ok());
    let is_manifest = file
        .is_some_and(|file| looks_like(&*file, &path, FileKind::Manifest, None).unwrap_or(true));
    let is_own = |name: &String| name == LOCK || numbered(name).is_some();
    is_manifest || vfs.list(dir).is_ok_and(|names| names.iter().any(is_own))
}
