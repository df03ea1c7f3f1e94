//! The simulated file system as the store uses it.

use super::Sim;
use super::disk::{Disk, Id, Node};
use super::file::Content;
use super::operation::{Fault, Kind};
use crate::vfs::{self, File, Lock, Map, Vfs, WriteMap};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const EIO: i32 = 5;

impl Sim {
    /// Does one operation, or what its fault makes of it.
    fn run<T>(
        &self,
        kind: Kind,
        path: &Path,
        effect: impl FnOnce(&mut Disk) -> Result<T>,
    ) -> Result<T> {
        let mut disk = self.lock();
        match disk.begin(self.process, kind, path, 0)? {
            None | Some(Fault::Short) => effect(&mut disk),
            Some(Fault::Error(code)) => Err(Error::from_raw_os_error(code)),
            Some(Fault::ErrorAfter(code)) => {
                effect(&mut disk)?;
                Err(Error::from_raw_os_error(code))
            }
            Some(Fault::PowerCut) => {
                // It may have got through, but for a sync: that adds nothing to what is
                // pending.
                if kind.changes() && !matches!(kind, Kind::Sync | Kind::SyncDir) {
                    effect(&mut disk)?;
                }
                Err(Error::other("the power was cut"))
            }
        }
    }

    fn open_file(&self, path: &Path) -> Result<Arc<dyn File>> {
        let id = self.run(Kind::Open, path, |disk| {
            let id = disk.find(path)?;
            disk.file(id).map(|_| id)
        })?;
        Ok(self.handle(path, id))
    }

    fn handle(&self, path: &Path, id: Id) -> Arc<dyn File> {
        let failures = self.lock().file(id).map_or(0, Content::failures);
        Arc::new(SimFile {
            sim: self.clone(),
            path: path.to_path_buf(),
            id,
            failures: AtomicU64::new(failures),
        })
    }
}

impl Vfs for Sim {
    fn kind(&self, path: &Path) -> Result<Option<vfs::Kind>> {
        self.run(Kind::Look, path, |disk| match disk.find(path) {
            Ok(id) if disk.directory(id).is_ok() => Ok(Some(vfs::Kind::Directory)),
            Ok(_) => Ok(Some(vfs::Kind::File)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        self.run(Kind::List, dir, |disk| disk.names(dir))
    }

    fn create_dir(&self, dir: &Path) -> Result<()> {
        self.run(Kind::CreateDir, dir, |disk| disk.create_dir(dir))
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn File>> {
        let id = self.run(Kind::Create, path, |disk| {
            disk.create(path, Node::file(Content::default()))
        })?;
        Ok(self.handle(path, id))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        self.open_file(path)
    }

    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>> {
        self.open_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.run(Kind::Rename, to, |disk| disk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.run(Kind::Remove, path, |disk| disk.remove(path))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let mut disk = self.lock();
        match disk.begin(self.process, Kind::SyncDir, dir, 0)? {
            None | Some(Fault::Short) => disk.sync_dir(dir),
            Some(Fault::Error(code)) => {
                let error = Error::from_raw_os_error(code);
                if !is_of_opening(&error) {
                    disk.lose_names(dir)?;
                }
                Err(error)
            }
            Some(Fault::ErrorAfter(code)) => {
                disk.sync_dir(dir)?;
                Err(Error::from_raw_os_error(code))
            }
            Some(Fault::PowerCut) => Err(Error::other("the power was cut")),
        }
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        // A lock that is not given to anybody is not held: so it is taken last.
        let id = self.run(Kind::Lock, path, |disk| match disk.find(path) {
            Ok(id) => disk.file(id).map(|_| id),
            Err(_) => disk.create(path, Node::file(Content::default())),
        })?;
        let taken = self.lock().take_lock(id, self.process);
        Ok(taken.then(|| {
            Box::new(SimLock {
                sim: self.clone(),
                path: path.to_path_buf(),
                id,
            }) as Box<dyn Lock>
        }))
    }
}

/// Whether an error is one of opening a file, before anything is done to it.
fn is_of_opening(error: &Error) -> bool {
    use rustix::io::Errno;
    let code = Errno::from_io_error(error);
    [Errno::MFILE, Errno::NFILE, Errno::ACCESS]
        .map(Some)
        .contains(&code)
}

#[derive(Debug)]
struct SimLock {
    sim: Sim,
    path: PathBuf,
    id: Id,
}

impl Lock for SimLock {
    fn is_current(&self) -> Result<bool> {
        self.sim.run(Kind::Look, &self.path, |disk| {
            Ok(disk.find(&self.path).is_ok_and(|id| id == self.id))
        })
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let process = self.sim.process;
        self.sim.lock().give_lock_back(self.id, process);
    }
}

#[derive(Debug)]
struct SimFile {
    sim: Sim,
    path: PathBuf,
    id: Id,
    /// Failed syncs of the file that this handle knows of, or that were before it.
    failures: AtomicU64,
}

impl SimFile {
    fn run<T>(&self, kind: Kind, effect: impl FnOnce(&mut Disk) -> Result<T>) -> Result<T> {
        self.sim.run(kind, &self.path, effect)
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut disk = self.sim.lock();
        let count = match disk.begin(self.sim.process, Kind::Read, &self.path, buf.len())? {
            None => buf.len(),
            Some(Fault::Short) => buf.len().div_ceil(2),
            Some(Fault::Error(code) | Fault::ErrorAfter(code)) => {
                return Err(Error::from_raw_os_error(code));
            }
            Some(Fault::PowerCut) => return Err(Error::other("the power was cut")),
        };
        let buf = buf.get_mut(..count).unwrap_or_default();
        Ok(disk.file(self.id)?.read(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let mut disk = self.sim.lock();
        let fault = disk.begin(self.sim.process, Kind::Write, &self.path, buf.len())?;
        let half = buf.len().div_ceil(2);
        let (count, error) = match fault {
            None => (buf.len(), None),
            Some(Fault::Short) => (half, None),
            Some(Fault::Error(code)) => return Err(Error::from_raw_os_error(code)),
            Some(Fault::ErrorAfter(code)) => (half, Some(Error::from_raw_os_error(code))),
            Some(Fault::PowerCut) => (buf.len(), Some(Error::other("the power was cut"))),
        };
        let tick = disk.tick();
        let bytes = buf.get(..count).unwrap_or_default();
        disk.file_mut(self.id)?.write(bytes, offset, tick);
        error.map_or(Ok(count), Err)
    }

    fn len(&self) -> Result<u64> {
        self.run(Kind::Len, |disk| {
            Ok(disk.file(self.id)?.cache().len() as u64)
        })
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.run(Kind::SetLen, |disk| {
            let tick = disk.tick();
            disk.file_mut(self.id)?.set_len(len, tick);
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        let mut disk = self.sim.lock();
        match disk.begin(self.sim.process, Kind::Sync, &self.path, 0)? {
            None | Some(Fault::Short) => {
                let content = disk.file_mut(self.id)?;
                content.sync();
                let failures = content.failures();
                // As Linux does: whoever had the file open is told once.
                if self.failures.swap(failures, Relaxed) < failures {
                    return Err(Error::from_raw_os_error(EIO));
                }
                Ok(())
            }
            Some(Fault::Error(code)) => {
                disk.lose(self.id)?;
                self.failures.store(disk.file(self.id)?.failures(), Relaxed);
                Err(Error::from_raw_os_error(code))
            }
            Some(Fault::ErrorAfter(code)) => {
                disk.file_mut(self.id)?.sync();
                Err(Error::from_raw_os_error(code))
            }
            Some(Fault::PowerCut) => Err(Error::other("the power was cut")),
        }
    }

    fn map(&self) -> Result<Option<Box<dyn Map>>> {
        // A sealed file does not change, so that a copy of its bytes is as good.
        let bytes = self.run(Kind::Map, |disk| Ok(disk.file(self.id)?.cache().to_vec()))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(SimMap {
            sim: self.sim.clone(),
            path: self.path.clone(),
            bytes,
        })))
    }

    fn map_write(&self, offset: u64, len: usize) -> Result<Option<Box<dyn WriteMap>>> {
        self.run(Kind::MapWrite, |disk| {
            let there = disk.file(self.id)?.cache().len() as u64;
            if offset.checked_add(len as u64).is_none_or(|end| end > there) {
                return Err(ErrorKind::InvalidInput.into());
            }
            Ok(())
        })?;
        Ok(Some(Box::new(SimWriteMap {
            sim: self.sim.clone(),
            path: self.path.clone(),
            id: self.id,
            offset,
        })))
    }
}

#[derive(Debug)]
struct SimMap {
    sim: Sim,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Map for SimMap {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn populate(&self, _: usize, _: usize) -> Result<()> {
        self.sim.run(Kind::Populate, &self.path, |_| Ok(()))
    }
}

#[derive(Debug)]
struct SimWriteMap {
    sim: Sim,
    path: PathBuf,
    id: Id,
    offset: u64,
}

impl WriteMap for SimWriteMap {
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        let mut disk = self.sim.lock();
        // A process that is dead, or has no power, stores nothing.
        let begun = disk.begin(self.sim.process, Kind::Store, &self.path, bytes.len());
        if begun.is_ok() {
            disk.store(self.id, self.offset + offset as u64, bytes);
        }
    }
}
