//! A file system in memory that does to files what a disk may do to them.
//!
//! What is written stays in a volatile cache until it is synced. When the power is cut,
//! what was not synced survives wholly, in part, or not at all:
//!
//! - a file survives by sectors of 512 bytes, each in any state that it had since the
//!   last sync of the file: so a write can be torn, and the order between sectors, and
//!   between files, can be any. A store to a map can be caught half done;
//! - a file's length can be any that it had since the last sync, whatever became of its
//!   bytes; where it grew over bytes that were lost there are zeros, or stale bytes of
//!   other files;
//! - a name that was created, renamed or removed is as before until its directory is
//!   synced. Each change survives or not, in any combination; a rename is one change;
//! - after a sync that failed, the bytes that it should have saved count as clean: they
//!   are read as long as the system runs, and no later sync saves them. Every handle
//!   that was open then is told once, at its next sync; later ones are not.
//!
//! A store to a map where no block is allocated panics, where the real thing would send
//! a signal. Processes can die without the power being cut: what they wrote is there,
//! their locks are gone.
//!
//! Everything is a function of the operations and of seeds.
//!
//! ```
//! use seendb::vfs::sim::{Fault, Sim};
//! use seendb::{Driver, Env, Seen};
//! # fn main() -> seendb::Result<()> {
//! let sim = Sim::new();
//! let open = |sim: &std::sync::Arc<Sim>| {
//!     let env = Env { vfs: sim.clone(), ..Env::default() };
//!     Seen::builder("/store").env(env).driver(Driver::Manual).open()
//! };
//! let seen = open(&sim)?;
//! seen.insert("https://example.com/synced")?;
//! seen.sync()?;
//! seen.insert("https://example.com/not-synced")?;
//!
//! let cut = sim.power_cut();
//! for seed in 0..100 {
//!     let seen = open(&cut.disk(seed))?;
//!     assert!(seen.contains("https://example.com/synced")?);
//! }
//! # Ok(())
//! # }
//! ```

mod cut;
mod disk;
mod file;
mod handles;
mod operation;
#[cfg(test)]
mod tests;

pub use cut::PowerCut;
pub use operation::{Fault, Kind as OperationKind, Operation};

use disk::Disk;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that a disk writes as one.
const SECTOR: usize = 512;

/// One process's view of a simulated disk.
#[derive(Clone)]
pub struct Sim {
    disk: Arc<Mutex<Disk>>,
    process: u64,
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim")
            .field("process", &self.process)
            .finish()
    }
}

impl Sim {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Arc<Sim> {
        Sim::on(Disk::new())
    }

    fn on(disk: Disk) -> Arc<Sim> {
        Arc::new(Sim {
            disk: Arc::new(Mutex::new(disk)),
            process: 0,
        })
    }

    /// Asks `rule` before each operation what happens to it; `None`: nothing unusual.
    pub fn rule(&self, rule: impl Fn(&Operation) -> Option<Fault> + Send + Sync + 'static) {
        self.lock().rule = Some(Arc::new(rule));
    }

    /// Nothing unusual happens from now on.
    pub fn heal(&self) {
        self.lock().rule = None;
    }

    /// Operations so far: each has the number that this was before it.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Begins to note operations, anew.
    pub fn watch(&self) {
        self.lock().trace = Some(Vec::new());
    }

    /// What was noted since [`watch`](Sim::watch).
    #[must_use]
    pub fn trace(&self) -> Vec<Operation> {
        self.lock().trace.clone().unwrap_or_default()
    }

    /// Whether the power was not cut yet.
    #[must_use]
    pub fn has_power(&self) -> bool {
        self.lock().has_power()
    }

    /// This process dies: its operations fail from now on, and its locks end. What it
    /// wrote is in the cache, and the next process reads it there.
    #[must_use]
    pub fn kill(&self) -> Arc<Sim> {
        let process = self.lock().replace_process(self.process);
        Arc::new(Sim {
            disk: self.disk.clone(),
            process,
        })
    }

    /// Another process beside this one.
    #[must_use]
    pub fn beside(&self) -> Arc<Sim> {
        let process = self.lock().next_process();
        Arc::new(Sim {
            disk: self.disk.clone(),
            process,
        })
    }

    /// What could be on the disk if the power were cut now, or when it was.
    #[must_use]
    pub fn power_cut(&self) -> PowerCut {
        PowerCut::new(&self.lock())
    }

    /// Clean pages leave the cache: what a failed sync lost is read no more.
    pub fn evict(&self) {
        self.lock().evict();
    }

    /// A disk in the same state, what is not synced included, as it is after all
    /// processes were killed.
    #[must_use]
    pub fn fork(&self) -> Arc<Sim> {
        Sim::on(self.lock().fork())
    }

    /// A disk with the same files, all of them durable.
    #[must_use]
    pub fn copy(&self) -> Arc<Sim> {
        Sim::on(self.lock().copy())
    }

    /// A file's bytes, as processes read them.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let disk = self.lock();
        let id = disk.find(path.as_ref())?;
        Ok(disk.file(id)?.cache().to_vec())
    }

    /// Puts a file there, or in the place of another, durably.
    ///
    /// # Errors
    ///
    /// If its directory is not there.
    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        self.lock().put(path.as_ref(), bytes)
    }

    /// Removes a file, durably.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub fn delete(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.lock().delete(path.as_ref())
    }

    /// The names in a directory, in order.
    ///
    /// # Errors
    ///
    /// If it is not there.
    pub fn names(&self, dir: impl AsRef<Path>) -> io::Result<Vec<String>> {
        self.lock().names(dir.as_ref())
    }

    /// A number that is the same for disks with the same names and bytes.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.lock().fingerprint()
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Repeatable random numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `bound`, which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}
