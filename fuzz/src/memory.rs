//! A file system in memory that can be copied at any moment.

use seendb::vfs::{File, Kind, Lock, Map, Vfs, WriteMap};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Debug, Formatter};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

/// The file system. Every directory exists.
#[derive(Debug, Default)]
pub struct Memory {
    files: Mutex<BTreeMap<PathBuf, Arc<Content>>>,
    locks: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// A file's bytes; shared until one of those who have them writes.
#[derive(Default)]
struct Content(RwLock<Arc<Vec<u8>>>);

impl Debug for Content {
    /// Not the bytes: nobody reads them in a message.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes().len())
    }
}

impl Content {
    fn bytes(&self) -> Arc<Vec<u8>> {
        self.0.read().unwrap().clone()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        change(Arc::make_mut(&mut self.0.write().unwrap()))
    }
}

impl Memory {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Content>>> {
        self.files.lock().unwrap()
    }

    fn find(&self, path: &Path) -> Result<Arc<Content>> {
        let found = self.files().get(path).cloned();
        found.ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The same files, as a kill of the process would leave them.
    pub fn copy(&self) -> Arc<Memory> {
        let copy = |(path, content): (&PathBuf, &Arc<Content>)| {
            let bytes = RwLock::new(content.bytes());
            (path.clone(), Arc::new(Content(bytes)))
        };
        Arc::new(Memory {
            files: Mutex::new(self.files().iter().map(copy).collect()),
            locks: Arc::default(),
        })
    }

    /// Names and bytes of all files in a directory.
    pub fn all(&self, dir: &Path) -> BTreeMap<String, Arc<Vec<u8>>> {
        self.files()
            .iter()
            .filter(|(path, _)| path.parent() == Some(dir))
            .map(|(path, content)| (name(path), content.bytes()))
            .collect()
    }

    /// Replaces a file, or makes it.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        let content = Content(RwLock::new(Arc::new(bytes)));
        self.files().insert(path.to_path_buf(), Arc::new(content));
    }

    /// The bytes of all files together.
    pub fn size(&self) -> usize {
        self.files().values().map(|c| c.bytes().len()).sum()
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

impl Vfs for Memory {
    fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        let files = self.files();
        let is_dir = || files.keys().any(|file| file.starts_with(path));
        Ok(if files.contains_key(path) {
            Some(Kind::File)
        } else if is_dir() {
            Some(Kind::Directory)
        } else {
            None
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        Ok(self.all(dir).into_keys().collect())
    }

    fn create_dir(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn File>> {
        if self.files().contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.put(path, Vec::new());
        self.open(path)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        Ok(Arc::new(Open(self.find(path)?)))
    }

    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>> {
        self.open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut files = self.files();
        let content = files.remove(from).ok_or(ErrorKind::NotFound)?;
        files.insert(to.to_path_buf(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let removed = self.files().remove(path);
        removed.map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        if !self.locks.lock().unwrap().insert(path.to_path_buf()) {
            return Ok(None);
        }
        if self.find(path).is_err() {
            self.put(path, Vec::new());
        }
        Ok(Some(Box::new(Held {
            path: path.to_path_buf(),
            locks: self.locks.clone(),
        })))
    }
}

#[derive(Debug)]
struct Held {
    path: PathBuf,
    locks: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Lock for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        self.locks.lock().unwrap().remove(&self.path);
    }
}

#[derive(Debug)]
struct Open(Arc<Content>);

impl File for Open {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = self.0.bytes();
        let from = usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
        let count = buf.len().min(bytes.len() - from);
        buf[..count].copy_from_slice(&bytes[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let from = usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge)?;
        let end = from.checked_add(buf.len()).ok_or(ErrorKind::FileTooLarge)?;
        self.0.change(|bytes| {
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[from..end].copy_from_slice(buf);
        });
        Ok(buf.len())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.0.bytes().len() as u64)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let len = usize::try_from(len).map_err(|_| Error::from(ErrorKind::FileTooLarge))?;
        self.0.change(|bytes| bytes.resize(len, 0));
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn map(&self) -> Result<Option<Box<dyn Map>>> {
        Ok(Some(Box::new(Mapped(self.0.bytes()))))
    }

    fn map_write(&self, offset: u64, len: usize) -> Result<Option<Box<dyn WriteMap>>> {
        let start = usize::try_from(offset).map_err(|_| Error::from(ErrorKind::FileTooLarge))?;
        assert!(
            start + len <= self.0.bytes().len(),
            "room is allocated first"
        );
        let content = self.0.clone();
        Ok(Some(Box::new(MappedForWriting {
            content,
            start,
            len,
        })))
    }
}

#[derive(Debug)]
struct MappedForWriting {
    content: Arc<Content>,
    start: usize,
    len: usize,
}

impl WriteMap for MappedForWriting {
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.len, "a store within the map");
        let from = self.start + offset;
        self.content
            .change(|all| all[from..from + bytes.len()].copy_from_slice(bytes));
    }
}

struct Mapped(Arc<Vec<u8>>);

impl Debug for Mapped {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} mapped bytes", self.0.len())
    }
}

impl Map for Mapped {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn populate(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.0.len() => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}
