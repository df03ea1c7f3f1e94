//! What the tests of behaviour share.
#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests, of which each test uses some"
)]

pub mod child;
pub mod damaged;
pub mod faults;
pub mod trial;
pub mod workload;

use seendb::env::{Clock, Entropy};
use seendb::vfs::Vfs;
use seendb::{Builder, Canon, Driver, Durability, Env, Error, Record, Seen};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The factor for the number of rounds: 1, or 20 when `SEENDB_TEST_LONG` is set, or what it is
/// set to above 1.
pub fn long() -> u64 {
    let Ok(factor) = std::env::var("SEENDB_TEST_LONG") else {
        return 1;
    };
    factor.parse().ok().filter(|&n| n > 1).unwrap_or(20)
}

/// Tells what a test tried, also if it passes: what is printed in the usual way the
/// harness shows only if it fails.
pub fn tell(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// A directory that is removed at the end, and a path in it where no store is yet. In
/// memory where there is such a place: thousands of syncs take their time on a disk.
pub fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let path = dir.path().join("store");
    (dir, path)
}

/// Options for small stores: raw keys, little memory, small segments.
pub fn small(path: &Path) -> Builder {
    Seen::builder(path)
        .memtable_size(1 << 20)
        .segment_size(64 << 10)
        .durability(Durability::Manual)
}

/// As [`small`], with all background work left to the test.
pub fn manual(path: &Path) -> Builder {
    small(path).canon(Canon::raw()).driver(Driver::Manual)
}

/// A clock that stands still until it is told to go on.
#[derive(Debug, Default)]
pub struct SetClock(AtomicU64);

impl SetClock {
    /// Sets the time of day, in seconds since 1970. Of the time that intervals are measured
    /// by, as many milliseconds have passed.
    pub fn set(&self, seconds: u64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> SystemTime {
        at(self.0.load(Ordering::SeqCst))
    }
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A moment, from seconds since 1970.
pub fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// The record of a key that was inserted then.
pub fn inserted(at: Option<SystemTime>) -> Record {
    let mut record = Record::default();
    record.first_seen = at;
    record.changed = at;
    record
}

/// Repeatable random numbers.
#[derive(Debug)]
pub struct Seeded(AtomicU64);

impl Seeded {
    pub fn new(seed: u64) -> Seeded {
        Seeded(AtomicU64::new(seed))
    }

    pub fn next(&self) -> u64 {
        let mut x = self
            .0
            .fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
            .wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.next() % bound
    }
}

impl Entropy for Seeded {
    fn fill(&self, buf: &mut [u8]) -> std::io::Result<()> {
        for chunk in buf.chunks_mut(8) {
            let bytes = self.next().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
        Ok(())
    }
}

/// The system's files with a clock and randomness of the test's own.
pub fn env_with(clock: &Arc<SetClock>, seed: u64) -> Env {
    Env {
        clock: clock.clone(),
        entropy: Arc::new(Seeded::new(seed)),
        ..Env::default()
    }
}

/// Another file system, everything else the system's.
pub fn env_on(vfs: &Arc<impl Vfs + 'static>) -> Env {
    Env {
        vfs: vfs.clone(),
        ..Env::default()
    }
}

/// Runs `work`, and fails if it takes longer than `limit`.
pub fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (send, receive) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = send.send(work());
    });
    match receive.recv_timeout(limit) {
        Ok(value) => {
            thread.join().unwrap();
            value
        }
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
            panic!("{what} did not end within {limit:?}")
        }
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(cause) => std::panic::resume_unwind(cause),
            Ok(()) => panic!("{what} ended without an answer"),
        },
    }
}

/// Names, sizes, times of change and bytes of all files in a directory.
pub fn listing(dir: &Path) -> BTreeMap<String, (SystemTime, Vec<u8>)> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let bytes = if metadata.is_file() {
                std::fs::read(entry.path()).unwrap()
            } else {
                Vec::new()
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, (metadata.modified().unwrap(), bytes))
        })
        .collect()
}

/// The names in a directory that end with `end`, sorted.
pub fn names(dir: &Path, end: &str) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(end))
        .collect();
    names.sort();
    names
}

/// Copies all files of a directory, as a kill of the process would leave them.
pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// All keys of a store, in order.
pub fn keys(seen: &Seen) -> Vec<Vec<u8>> {
    seen.scan("")
        .unwrap()
        .map(|entry| entry.unwrap().0)
        .collect()
}

/// All keys with their records.
pub fn entries(seen: &Seen) -> Vec<(Vec<u8>, Record)> {
    seen.scan("").unwrap().map(Result::unwrap).collect()
}

/// Checks a store, which must be without damage.
pub fn assert_clean(path: &Path) {
    let report = seendb::verify(path, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}

/// Whether an error is the system's `code`, by itself or as a cause.
pub fn is_os(error: &Error, code: i32) -> bool {
    match error {
        Error::Io { source, .. } => source.raw_os_error() == Some(code),
        _ => false,
    }
}

/// Whether an error is that the handle is poisoned, with the system's `code` as
/// its first cause.
pub fn is_poisoned(error: &Error, code: i32) -> bool {
    matches!(error, Error::Poisoned { cause } if is_os(cause, code))
}

pub const EIO: i32 = 5;
pub const ENOSPC: i32 = 28;
pub const EINTR: i32 = 4;

/// Tells other threads to end when it goes, also by a panic.
pub struct Done<'a>(pub &'a std::sync::atomic::AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
