//! The operating system's files.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the door that everything else goes through"
)]

use super::mmap::{FileMap, FileWriteMap};
use super::{File, Kind, Lock, Map, Vfs, WriteMap};
use std::fs;
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Os;

#[derive(Debug)]
struct OsFile(fs::File);

#[derive(Debug)]
struct OsLock {
    // The lock belongs to the open file and ends with it.
    file: fs::File,
    path: PathBuf,
}

impl Lock for OsLock {
    fn is_current(&self) -> Result<bool> {
        let locked = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(there) => Ok((locked.dev(), locked.ino()) == (there.dev(), there.ino())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Vfs for Os {
    fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(Kind::Directory)),
            Ok(metadata) if metadata.is_file() => Ok(Some(Kind::File)),
            Ok(_) => Ok(Some(Kind::Other)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        fs::read_dir(dir)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn create_dir(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        Ok(Arc::new(OsFile(file)))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        Ok(Arc::new(OsFile(fs::File::open(path)?)))
    }

    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Arc::new(OsFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(OsLock {
                file,
                path: path.to_path_buf(),
            }))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.0.write_at(buf, offset)
    }

    fn len(&self) -> Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        // On Linux this covers pages that were dirtied through a shared map,
        // and the length where it is needed to read the data back.
        self.0.sync_data()
    }

    fn map(&self) -> Result<Option<Box<dyn Map>>> {
        if self.len()? == 0 {
            return Ok(None);
        }
        Ok(Some(Box::new(FileMap::new(&self.0)?)))
    }

    fn map_write(&self, offset: u64, len: usize) -> Result<Option<Box<dyn WriteMap>>> {
        if !overwrites_in_place(&self.0) {
            return Ok(None);
        }
        Ok(Some(Box::new(FileWriteMap::new(&self.0, offset, len)?)))
    }
}

/// Whether writing over bytes that were written before needs no new block, so
/// that a store to a map of them cannot meet a full disk. Known for the ext family
/// and tmpfs. A file system that copies on write does not count, nor does xfs, where
/// a copy of the file may share its blocks, nor one over a network or unknown.
#[cfg(target_os = "linux")]
fn overwrites_in_place(file: &fs::File) -> bool {
    const EXT: i64 = 0xEF53;
    const TMPFS: i64 = 0x0102_1994;
    rustix::fs::fstatfs(file).is_ok_and(|stat| {
        #[allow(clippy::unnecessary_cast, reason = "its type differs by platform")]
        let kind = stat.f_type as i64;
        [EXT, TMPFS].contains(&kind)
    })
}

#[cfg(not(target_os = "linux"))]
fn overwrites_in_place(_: &fs::File) -> bool {
    false
}
