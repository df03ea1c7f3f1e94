//! A file system that fails when a test says so.
//!
//! It does everything on the system's files. Before each operation it asks a
//! rule, which may let it pass, fail it, cut it short, or block for a while.

use seendb::vfs::{File, Kind, Lock, Map, Os, Vfs, WriteMap};
use std::fmt;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Create,
    Open,
    Read,
    Write,
    SetLen,
    Sync,
    Rename,
    Remove,
    SyncDir,
}

/// What happens to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Do {
    Pass,
    /// It fails with this error number, and has no effect.
    Fail(i32),
    /// It takes place, and then this error number is answered.
    FailAfter(i32),
    /// It succeeds without being done: a sync that costs nothing, say.
    Skip,
    /// A read or write moves at most this many bytes.
    Short(usize),
}

/// How parts of a log are mapped for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maps {
    /// As the system does.
    System,
    /// Not at all: each frame is a write.
    Never,
}

/// An operation as a rule sees it: what, on which file (its name only), and the
/// number of bytes of a read or write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub op: Op,
    pub name: String,
    pub bytes: usize,
}

impl Event {
    pub fn is(&self, op: Op, part_of_name: &str) -> bool {
        self.op == op && self.name.contains(part_of_name)
    }
}

type Rule = Arc<dyn Fn(&Event) -> Do + Send + Sync>;

struct Shared {
    rule: RwLock<Rule>,
    maps: Maps,
    events: Mutex<Option<Vec<Event>>>,
    bytes_read: AtomicU64,
}

/// The file system.
#[derive(Clone)]
pub struct Faults(Arc<Shared>);

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Faults {
    pub fn new(maps: Maps) -> Arc<Faults> {
        Arc::new(Faults(Arc::new(Shared {
            rule: RwLock::new(Arc::new(|_| Do::Pass)),
            maps,
            events: Mutex::new(None),
            bytes_read: AtomicU64::new(0),
        })))
    }

    /// Replaces the rule.
    pub fn rule(&self, rule: impl Fn(&Event) -> Do + Send + Sync + 'static) {
        *self.0.rule.write().unwrap() = Arc::new(rule);
    }

    /// Everything passes from now on.
    pub fn heal(&self) {
        self.rule(|_| Do::Pass);
    }

    /// Syncs cost nothing from now on, as on the fastest of disks.
    pub fn sync_nothing(&self) {
        self.rule(|event| match event.op {
            Op::Sync | Op::SyncDir => Do::Skip,
            _ => Do::Pass,
        });
    }

    /// Nothing that needs room succeeds from now on.
    pub fn fill_disk(&self) {
        self.rule(|event| match event.op {
            Op::Create | Op::Write => Do::Fail(super::ENOSPC),
            _ => Do::Pass,
        });
    }

    /// Begins to note operations.
    pub fn watch(&self) {
        *self.0.events.lock().unwrap() = Some(Vec::new());
    }

    /// What was noted since [`watch`](Faults::watch).
    pub fn events(&self) -> Vec<Event> {
        self.0.events.lock().unwrap().clone().unwrap_or_default()
    }

    pub fn bytes_read(&self) -> u64 {
        self.0.bytes_read.load(Ordering::SeqCst)
    }

    fn judge(&self, op: Op, path: &Path, bytes: usize) -> Do {
        let name = path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let event = Event { op, name, bytes };
        // Not under the lock: a rule may block.
        let rule = self.0.rule.read().unwrap().clone();
        let what = rule(&event);
        if let Some(events) = &mut *self.0.events.lock().unwrap() {
            events.push(event);
        }
        what
    }

    fn run<T>(&self, op: Op, path: &Path, run: impl FnOnce() -> Result<T>) -> Result<T> {
        self.carry_out(self.judge(op, path, 0), run)
    }

    /// For operations that answer nothing.
    fn run_unit(&self, op: Op, path: &Path, run: impl FnOnce() -> Result<()>) -> Result<()> {
        match self.judge(op, path, 0) {
            Do::Skip => Ok(()),
            other => self.carry_out(other, run),
        }
    }

    fn carry_out<T>(&self, what: Do, run: impl FnOnce() -> Result<T>) -> Result<T> {
        match what {
            Do::Fail(code) => Err(Error::from_raw_os_error(code)),
            Do::FailAfter(code) => {
                run()?;
                Err(Error::from_raw_os_error(code))
            }
            Do::Pass | Do::Skip | Do::Short(_) => run(),
        }
    }

    fn wrap(&self, path: &Path, inner: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(FaultyFile {
            vfs: self.clone(),
            path: path.to_path_buf(),
            inner,
        })
    }
}

impl Vfs for Faults {
    fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        Os.kind(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<String>> {
        Os.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> Result<()> {
        Os.create_dir(dir)
    }
    fn create(&self, path: &Path) -> Result<Arc<dyn File>> {
        let file = self.run(Op::Create, path, || Os.create(path))?;
        Ok(self.wrap(path, file))
    }
    fn open(&self, path: &Path) -> Result<Arc<dyn File>> {
        let file = self.run(Op::Open, path, || Os.open(path))?;
        Ok(self.wrap(path, file))
    }
    fn open_write(&self, path: &Path) -> Result<Arc<dyn File>> {
        let file = self.run(Op::Open, path, || Os.open_write(path))?;
        Ok(self.wrap(path, file))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.run_unit(Op::Rename, to, || Os.rename(from, to))
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.run_unit(Op::Remove, path, || Os.remove(path))
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.run_unit(Op::SyncDir, dir, || Os.sync_dir(dir))
    }
    fn lock(&self, path: &Path) -> Result<Option<Box<dyn Lock>>> {
        Os.lock(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    vfs: Faults,
    path: PathBuf,
    inner: Arc<dyn File>,
}

impl File for FaultyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let most = match self.vfs.judge(Op::Read, &self.path, buf.len()) {
            Do::Fail(code) | Do::FailAfter(code) => return Err(Error::from_raw_os_error(code)),
            Do::Short(most) => most.min(buf.len()),
            Do::Pass | Do::Skip => buf.len(),
        };
        let count = self.inner.read_at(&mut buf[..most], offset)?;
        self.vfs
            .0
            .bytes_read
            .fetch_add(count as u64, Ordering::SeqCst);
        Ok(count)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        match self.vfs.judge(Op::Write, &self.path, buf.len()) {
            Do::Fail(code) => Err(Error::from_raw_os_error(code)),
            Do::FailAfter(code) => {
                // A part of it is there all the same.
                self.inner.write_at(&buf[..buf.len().div_ceil(2)], offset)?;
                Err(Error::from_raw_os_error(code))
            }
            Do::Short(most) => self.inner.write_at(&buf[..most.min(buf.len())], offset),
            Do::Pass | Do::Skip => self.inner.write_at(buf, offset),
        }
    }
    fn len(&self) -> Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.vfs
            .run_unit(Op::SetLen, &self.path, || self.inner.set_len(len))
    }
    fn sync(&self) -> Result<()> {
        self.vfs
            .run_unit(Op::Sync, &self.path, || self.inner.sync())
    }
    fn map(&self) -> Result<Option<Box<dyn Map>>> {
        self.inner.map()
    }
    fn map_write(&self, offset: u64, len: usize) -> Result<Option<Box<dyn WriteMap>>> {
        match self.vfs.0.maps {
            Maps::System => self.inner.map_write(offset, len),
            Maps::Never => Ok(None),
        }
    }
}

/// A gate at which a rule can make an operation wait.
#[derive(Debug, Default)]
pub struct Gate {
    /// Whether it is shut, and how many wait at it.
    state: Mutex<(bool, usize)>,
    changed: Condvar,
}

impl Gate {
    pub fn shut(&self) {
        self.state.lock().unwrap().0 = true;
    }

    pub fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    /// Returns once the gate is open.
    pub fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        while state.0 {
            state = self.changed.wait(state).unwrap();
        }
        state.1 -= 1;
    }

    /// Returns once somebody waits at the gate.
    pub fn wait_for_somebody(&self) {
        let mut state = self.state.lock().unwrap();
        while state.1 == 0 {
            state = self.changed.wait(state).unwrap();
        }
    }
}
