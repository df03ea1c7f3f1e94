//! A file system in memory that keeps only what is not zero, so that files can be far larger
//! than memory.

use memmap2::MmapMut;
use seendb::vfs::{File, Kind, Lock, Map, Vfs, WriteMap};
use std::collections::{BTreeMap, HashMap};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes that are kept or left out together.
const PART: usize = 256;

#[derive(Debug, Default)]
pub struct Sparse {
    files: Mutex<BTreeMap<PathBuf, Arc<Mutex<Content>>>>,
}

#[derive(Debug, Default)]
struct Content {
    len: u64,
    parts: HashMap<u64, Box<[u8; PART]>>,
}

impl Sparse {
    pub fn new() -> Arc<Sparse> {
        Arc::default()
    }

    /// The lengths of the files whose names end so.
    pub fn lengths(&self, end: &str) -> Vec<u64> {
        let files = self.files.lock().unwrap();
        let named = |path: &Path| path.to_string_lossy().ends_with(end);
        files
            .iter()
            .filter(|(path, _)| named(path))
            .map(|(_, content)| content.lock().unwrap().len)
            .collect()
    }

    /// Bytes that are kept.
    pub fn kept(&self) -> usize {
        let files = self.files.lock().unwrap();
        let parts = files.values().map(|file| file.lock().unwrap().parts.len());
        parts.sum::<usize>() * PART
    }

    /// Changes a byte.
    pub fn flip(&self, end: &str, offset: u64) {
        let files = self.files.lock().unwrap();
        let named = |path: &&PathBuf| path.to_string_lossy().ends_with(end);
        let mut content = files[files.keys().find(named).unwrap()].lock().unwrap();
        let mut byte = [0];
        content.read(&mut byte, offset);
        content.write(&[byte[0] ^ 1], offset);
    }

    fn find(&self, path: &Path) -> Result<Arc<dyn File>> {
        match self.files.lock().unwrap().get(path) {
            Some(content) => Ok(Arc::new(SparseFile(content.clone()))),
            None => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl Content {
    /// Visits the parts of a range: their numbers, and where they begin and end in it.
    fn each(offset: u64, len: usize, mut visit: impl FnMut(u64, usize, usize, usize)) {
        let mut at = 0;
        while at < len {
            let place = offset + at as u64;
            let within = (place % PART as u64) as usize;
            let end = len.min(at + PART - within);
            visit(place / PART as u64, within, at, end);
            at = end;
        }
    }

    fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let count = (buf.len() as u64).min(self.len.saturating_sub(offset)) as usize;
        let buf = &mut buf[..count];
        buf.fill(0);
        Content::each(offset, count, |part, within, at, end| {
            if let Some(bytes) = self.parts.get(&part) {
                buf[at..end].copy_from_slice(&bytes[within..within + end - at]);
            }
        });
        count
    }

    fn write(&mut self, bytes: &[u8], offset: u64) {
        self.len = self.len.max(offset + bytes.len() as u64);
        Content::each(offset, bytes.len(), |part, within, at, end| {
            let bytes = &bytes[at..end];
            let zeros = [0; PART];
            if bytes != &zeros[..bytes.len()] || self.parts.contains_key(&part) {
                let kept = self.parts.entry(part).or_insert_with(|| Box::new(zeros));
                kept[within..within + bytes.len()].copy_from_slice(bytes);
            }
        });
    }
}

impl Vfs for Sparse {
    fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        let files = self.files.lock().unwrap();
        let is_dir = files.keys().any(|file| file.parent() == Some(path));
        Ok(match files.contains_key(path) {
            true => Some(Kind::File),
            false => is_dir.then_some(Kind::Directory),
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        let files = self.files.lock().unwrap();
        let inside = files.keys().filter(|file| file.parent() == Some(dir));
        Ok(inside
            .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
            .collect())
    }

    fn create_dir(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn File>> {
        let mut files = self.files.lock().unwrap();
        if files.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        files.insert(path.to_path_buf(), Arc::default());
        drop(files);
        self.find(path)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        self.find(path)
    }

    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>> {
        self.find(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut files = self.files.lock().unwrap();
        let content = files.remove(from).ok_or(ErrorKind::NotFound)?;
        files.insert(to.to_path_buf(), content);
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let removed = self.files.lock().unwrap().remove(path);
        removed.map(drop).ok_or(ErrorKind::NotFound.into())
    }

    fn sync_dir(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    /// There is one process only, and it opens the store once at a time.
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        self.files
            .lock()
            .unwrap()
            .entry(path.to_path_buf())
            .or_default();
        Ok(Some(Box::new(SparseLock)))
    }
}

#[derive(Debug)]
struct SparseLock;

impl Lock for SparseLock {}

#[derive(Debug)]
struct SparseFile(Arc<Mutex<Content>>);

impl SparseFile {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap()
    }
}

impl File for SparseFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        Ok(self.content().read(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.content().write(buf, offset);
        Ok(buf.len())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.content().len)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut content = self.content();
        if len < content.len {
            return Err(Error::other("files are not cut here"));
        }
        content.len = len;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Pages of zeros that are only read take no memory.
    fn map(&self) -> Result<Option<Box<dyn Map>>> {
        let content = self.content();
        let len = usize::try_from(content.len).map_err(Error::other)?;
        let mut map = MmapMut::map_anon(len)?;
        for (part, bytes) in &content.parts {
            let at = *part as usize * PART;
            let end = len.min(at + PART);
            map[at..end].copy_from_slice(&bytes[..end - at]);
        }
        Ok(Some(Box::new(SparseMap(map))))
    }

    fn map_write(&self, _: u64, _: usize) -> Result<Option<Box<dyn WriteMap>>> {
        Ok(None)
    }
}

#[derive(Debug)]
struct SparseMap(MmapMut);

impl Map for SparseMap {
    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn populate(&self, _: usize, _: usize) -> Result<()> {
        Ok(())
    }
}
