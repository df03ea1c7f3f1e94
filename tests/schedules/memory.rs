//! Files in memory. Others may go on before each operation and in the middle of each
//! write; a power cut leaves what was synced.

use crate::support::EIO;
use seendb::vfs::{File, Kind, Lock, Map, Vfs, WriteMap};
use shuttle::thread;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where the store is.
pub(super) const STORE: &str = "/store";

/// A disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<Disk>);

#[derive(Debug, Default)]
struct Disk {
    names: Mutex<Names>,
    locked: AtomicBool,
    /// Syncs of logs that were begun.
    log_syncs: AtomicU64,
    /// From now on, syncs of logs fail, but for the first of each: it has no frame then.
    is_failing: AtomicBool,
    /// One did.
    has_failed: AtomicBool,
    /// Nothing may be changed any more.
    is_sealed: AtomicBool,
    /// What must never happen, and did. A panic would not do: some threads catch it.
    wrong: Mutex<Vec<String>>,
}

#[derive(Debug, Clone, Default)]
struct Names {
    directories: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Arc<Node>>,
    durable: BTreeMap<PathBuf, Arc<Node>>,
}

#[derive(Debug, Default)]
struct Node {
    bytes: Mutex<Vec<u8>>,
    durable: Mutex<Durable>,
    /// Syncs of it that were begun.
    syncs: AtomicU64,
    /// A sync of it by the store's writer is on.
    syncing: AtomicBool,
}

/// What a sync left, the last by when it was begun.
#[derive(Debug, Clone, Default)]
struct Durable {
    bytes: Vec<u8>,
    sync: u64,
}

/// Lets the scheduler choose who goes on.
fn pause() {
    thread::sleep(Duration::ZERO);
}

impl Memory {
    /// A disk with what the power's going now would leave of this one.
    pub(super) fn after_a_power_cut(&self) -> Memory {
        let old = self.0.names.lock().unwrap().clone();
        let left: BTreeMap<_, _> = old
            .durable
            .iter()
            .map(|(path, node)| {
                let bytes = node.durable.lock().unwrap().bytes.clone();
                let durable = Durable {
                    bytes: bytes.clone(),
                    sync: 0,
                };
                let node = Node {
                    bytes: Mutex::new(bytes),
                    durable: Mutex::new(durable),
                    ..Node::default()
                };
                (path.clone(), Arc::new(node))
            })
            .collect();
        Memory(Arc::new(Disk {
            names: Mutex::new(Names {
                directories: old.directories,
                files: left.clone(),
                durable: left,
            }),
            ..Disk::default()
        }))
    }

    /// Syncs of logs that were begun so far.
    pub(super) fn log_syncs(&self) -> u64 {
        self.0.log_syncs.load(SeqCst)
    }

    /// Syncs of logs with frames fail from now on.
    pub(super) fn fail_log_syncs(&self) {
        self.0.is_failing.store(true, SeqCst);
    }

    /// Whether one failed.
    pub(super) fn has_failed(&self) -> bool {
        self.0.has_failed.load(SeqCst)
    }

    /// Nobody may change anything from now on.
    pub(super) fn seal(&self) {
        self.0.is_sealed.store(true, SeqCst);
    }

    /// Nothing happened that must never happen.
    pub(super) fn check(&self) {
        let wrong = self.0.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    fn wrong(&self, what: &str, path: &Path) {
        let mut wrong = self.0.wrong.lock().unwrap();
        wrong.push(format!("{what}: {}", path.display()));
    }

    /// Before each change.
    fn changes(&self, path: &Path) {
        pause();
        if self.0.is_sealed.load(SeqCst) {
            self.wrong("a change after closing", path);
        }
    }

    fn find(&self, path: &Path, writable: bool) -> Result<Arc<dyn File>> {
        let names = self.0.names.lock().unwrap();
        let node = names.files.get(path).ok_or(ErrorKind::NotFound)?;
        Ok(Arc::new(OpenFile {
            disk: self.clone(),
            path: path.to_path_buf(),
            node: node.clone(),
            writable,
        }))
    }
}

impl Vfs for Memory {
    fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        pause();
        let names = self.0.names.lock().unwrap();
        Ok(if names.directories.contains(path) {
            Some(Kind::Directory)
        } else {
            names.files.contains_key(path).then_some(Kind::File)
        })
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        pause();
        let names = self.0.names.lock().unwrap();
        let inside = names.files.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect())
    }

    fn create_dir(&self, dir: &Path) -> Result<()> {
        self.changes(dir);
        self.0.names.lock().unwrap().directories.insert(dir.into());
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn File>> {
        self.changes(path);
        let mut names = self.0.names.lock().unwrap();
        if names.files.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        names.files.insert(path.into(), Arc::default());
        drop(names);
        self.find(path, true)
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        pause();
        self.find(path, false)
    }

    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>> {
        pause();
        self.find(path, true)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.changes(to);
        let mut names = self.0.names.lock().unwrap();
        let node = names.files.remove(from).ok_or(ErrorKind::NotFound)?;
        names.files.insert(to.into(), node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.changes(path);
        let mut names = self.0.names.lock().unwrap();
        names.files.remove(path).ok_or(ErrorKind::NotFound)?;
        Ok(())
    }

    fn sync_dir(&self, _: &Path) -> Result<()> {
        pause();
        // There is one directory with files in it.
        let mut names = self.0.names.lock().unwrap();
        names.durable = names.files.clone();
        Ok(())
    }

    fn lock(&self, _: &Path) -> Result<Option<Box<dyn Lock>>> {
        pause();
        if self.0.locked.swap(true, SeqCst) {
            return Ok(None);
        }
        Ok(Some(Box::new(Held(self.clone()))))
    }
}

#[derive(Debug)]
struct Held(Memory);

impl Lock for Held {}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.locked.store(false, SeqCst);
    }
}

#[derive(Debug)]
struct OpenFile {
    disk: Memory,
    path: PathBuf,
    node: Arc<Node>,
    writable: bool,
}

impl OpenFile {
    /// A log, open for writing: readers sync for themselves.
    fn is_log(&self) -> bool {
        self.writable && self.path.extension().is_some_and(|is| is == "log")
    }

    fn sync_log(&self) -> Result<()> {
        let disk = &self.disk.0;
        disk.log_syncs.fetch_add(1, SeqCst);
        let is_new = self.node.durable.lock().unwrap().sync == 0;
        if disk.has_failed.load(SeqCst) && !is_new {
            self.disk.wrong("a sync after one that failed", &self.path);
        }
        if self.node.syncing.swap(true, SeqCst) {
            self.disk.wrong("two syncs at once", &self.path);
        }
        let outcome = if disk.is_failing.load(SeqCst) && !is_new {
            pause();
            disk.has_failed.store(true, SeqCst);
            Err(Error::from_raw_os_error(EIO))
        } else {
            self.make_durable();
            Ok(())
        };
        self.node.syncing.store(false, SeqCst);
        outcome
    }

    /// What was there when the sync began is durable when it ends, and nothing else.
    fn make_durable(&self) {
        let sync = self.node.syncs.fetch_add(1, SeqCst) + 1;
        let bytes = self.node.bytes.lock().unwrap().clone();
        pause();
        let mut durable = self.node.durable.lock().unwrap();
        if durable.sync < sync {
            *durable = Durable { bytes, sync };
        }
    }
}

impl File for OpenFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        pause();
        let bytes = self.node.bytes.lock().unwrap();
        let from = usize::try_from(offset).unwrap().min(bytes.len());
        let count = buf.len().min(bytes.len() - from);
        buf[..count].copy_from_slice(&bytes[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.disk.changes(&self.path);
        store_in_halves(&self.node, usize::try_from(offset).unwrap(), buf);
        Ok(buf.len())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.node.bytes.lock().unwrap().len() as u64)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.disk.changes(&self.path);
        let len = usize::try_from(len).unwrap();
        self.node.bytes.lock().unwrap().resize(len, 0);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        pause();
        if self.is_log() {
            return self.sync_log();
        }
        self.make_durable();
        Ok(())
    }

    fn map(&self) -> Result<Option<Box<dyn Map>>> {
        Ok(None)
    }

    fn map_write(&self, offset: u64, len: usize) -> Result<Option<Box<dyn WriteMap>>> {
        pause();
        let start = usize::try_from(offset).unwrap();
        assert!(start + len <= self.node.bytes.lock().unwrap().len());
        Ok(Some(Box::new(MappedPart {
            disk: self.disk.clone(),
            path: self.path.clone(),
            node: self.node.clone(),
            start,
        })))
    }
}

#[derive(Debug)]
struct MappedPart {
    disk: Memory,
    path: PathBuf,
    node: Arc<Node>,
    start: usize,
}

impl WriteMap for MappedPart {
    fn store(&mut self, offset: usize, bytes: &[u8]) {
        self.disk.changes(&self.path);
        store_in_halves(&self.node, self.start + offset, bytes);
    }
}

/// Others may see a half.
fn store_in_halves(node: &Node, offset: usize, bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    store(node, offset, first);
    pause();
    store(node, offset + first.len(), second);
}

fn store(node: &Node, offset: usize, from: &[u8]) {
    let mut bytes = node.bytes.lock().unwrap();
    let end = offset + from.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(from);
}
