//! Small stores whose files are damaged, and what a damaged store may answer.

use super::memory::Memory;
use seendb::env::{Clock, Entropy};
use seendb::{Builder, Canon, Driver, Durability, Env, Error, Reads, Record, Seen, Writes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// The directory of every store.
pub const DIR: &str = "/store";

/// Keys with the time that each was first seen at.
pub type Entries = BTreeMap<Vec<u8>, Option<u64>>;

/// Time that stands still, and random bytes that are the same each time.
#[derive(Debug, Default)]
pub struct Fixed {
    millis: AtomicU64,
    byte: AtomicU64,
}

impl Fixed {
    /// Sets the time of day, in milliseconds since 1970.
    pub fn set(&self, millis: u64) {
        self.millis.store(millis, Ordering::Relaxed);
    }
}

impl Clock for Fixed {
    fn now(&self) -> SystemTime {
        at(self.millis.load(Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

impl Entropy for Fixed {
    fn fill(&self, buf: &mut [u8]) -> std::io::Result<()> {
        buf.fill(self.byte.fetch_add(1, Ordering::Relaxed) as u8);
        Ok(())
    }
}

/// A moment, from milliseconds since 1970.
pub fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

/// A record's time in milliseconds.
pub fn millis(record: Record) -> Option<u64> {
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    record.first_seen.map(|time| since(time).as_millis() as u64)
}

pub fn env(vfs: &Arc<Memory>, clock: &Arc<Fixed>) -> Env {
    Env {
        vfs: vfs.clone(),
        clock: clock.clone(),
        entropy: clock.clone(),
    }
}

/// Options for the store on `vfs`.
pub fn builder(vfs: &Arc<Memory>) -> Builder {
    builder_at(vfs, DIR)
}

/// Options for a store in another directory.
pub fn builder_at(vfs: &Arc<Memory>, dir: &str) -> Builder {
    let clock = Arc::new(Fixed::default());
    clock.set(1_000);
    Seen::builder(dir)
        .memory(1 << 20)
        .segment_size(64 << 10)
        .durability(Durability::Manual)
        .driver(Driver::Manual)
        // Logs without room allocated ahead: zeros that every opening would look through.
        .writes(Writes::Pwrite)
        .env(env(vfs, &clock))
}

pub fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

/// One batch of a sample's log.
pub struct Applied {
    pub keys: Vec<Vec<u8>>,
    pub millis: u64,
    pub position: Option<u64>,
}

/// A store with two runs and a log, as a killed writer leaves it.
pub struct Sample {
    pub vfs: Arc<Memory>,
    /// What is in segments.
    pub flushed: Entries,
    /// What is in each of them.
    pub segments: Vec<Entries>,
    /// What is in the log, frame by frame.
    pub batches: Vec<Applied>,
    pub stamps: bool,
}

impl Sample {
    /// With times or without.
    pub fn get(stamps: bool) -> &'static Sample {
        static SAMPLES: [OnceLock<Sample>; 2] = [const { OnceLock::new() }; 2];
        SAMPLES[usize::from(stamps)].get_or_init(|| Sample::new(stamps))
    }

    fn new(stamps: bool) -> Sample {
        let vfs = Arc::new(Memory::default());
        let seen = builder(&vfs).canon(Canon::raw()).stamps(stamps);
        let seen = seen.open().unwrap();
        let mut segments = Vec::new();
        for (run, numbers) in [(0u64, 0..60u32), (1, 60..75)] {
            let millis = 1_000_000 + run * 5_000;
            let mut batch = seen.batch();
            batch.at(at(millis)).position(run + 1);
            let mut entries = Entries::new();
            for number in numbers {
                let key = key(number);
                batch.insert(&key).unwrap();
                entries.insert(key, stamps.then_some(millis));
            }
            seen.apply(batch).unwrap();
            seen.flush().unwrap();
            segments.push(entries);
        }
        let mut batches = Vec::new();
        for frame in 0..12u32 {
            let keys: Vec<_> = (0..frame % 4).map(|i| key(75 + frame * 4 + i)).collect();
            let millis = 2_000_000 + u64::from(frame);
            let position = (frame % 3 == 0).then_some(u64::from(frame) + 10);
            let mut batch = seen.batch();
            batch.at(at(millis));
            if let Some(position) = position {
                batch.position(position);
            }
            for key in &keys {
                batch.insert(key).unwrap();
            }
            seen.apply(batch).unwrap();
            if frame % 5 == 4 {
                seen.sync().unwrap();
            }
            // A batch that says nothing makes no frame.
            if !keys.is_empty() || position.is_some() {
                batches.push(Applied {
                    keys,
                    millis,
                    position,
                });
            }
        }
        let vfs = vfs.copy();
        Sample {
            vfs,
            flushed: segments
                .iter()
                .flatten()
                .map(|(k, t)| (k.clone(), *t))
                .collect(),
            segments,
            batches,
            stamps,
        }
    }

    /// The name of the file that ends with `end`: the `which`th.
    pub fn name(&self, end: &str, which: usize) -> String {
        let all = self.vfs.all(Path::new(DIR));
        let mut names = all.into_keys().filter(|name| name.ends_with(end));
        names.nth(which).unwrap()
    }

    /// The bytes of a file.
    pub fn file(&self, name: &str) -> Vec<u8> {
        self.vfs.all(Path::new(DIR))[name].to_vec()
    }

    /// What the store knows when the first `frames` frames of the log are read.
    pub fn entries(&self, frames: usize) -> Entries {
        let mut entries = self.flushed.clone();
        for batch in &self.batches[..frames] {
            for key in &batch.keys {
                let stamp = self.stamps.then_some(batch.millis);
                entries.entry(key.clone()).or_insert(stamp);
            }
        }
        entries
    }
}

/// Keys of several kinds: sharing much and little, long ones, binary ones.
fn key(number: u32) -> Vec<u8> {
    match number % 20 {
        18 => format!("https://example.com/{number}/{}", "long/".repeat(300)).into_bytes(),
        19 => vec![0xff; number as usize / 20 + 30],
        n => format!("https://host{}.example/{:03}/page", n % 5, number).into_bytes(),
    }
}

/// The error must say where, and be one of those that damage may give.
pub fn expect_typed(error: &Error) {
    match error {
        Error::Corrupt(corrupt) => {
            assert!(corrupt.path.starts_with(DIR), "{error}");
            assert!(!corrupt.expected.is_empty() && !corrupt.remedy.is_empty());
        }
        Error::UnsupportedFormat { path, .. } | Error::Io { path, .. } => {
            assert!(path.starts_with(DIR), "{error}");
        }
        other => panic!("damage is told as: {other}"),
    }
}

/// Both ways of reading.
pub const READS: [Reads; 2] = [Reads::Map, Reads::Pread];

/// Asks a damaged store for everything: answers or typed errors, in bounded time. True
/// if there was no error.
pub fn consult(seen: &Seen, keys: &[Vec<u8>]) -> bool {
    let mut whole = true;
    let mut failed = |error: Error| {
        expect_typed(&error);
        whole = false;
    };
    match seen.scan("") {
        Err(error) => failed(error),
        Ok(scan) => {
            // A few bytes can stand for a long key each.
            let mut room = 4 << 20;
            for entry in scan {
                match entry {
                    Ok((key, _)) => room -= key.len() as i64,
                    Err(error) => failed(error),
                }
                if room < 0 {
                    break;
                }
            }
        }
    }
    for key in keys {
        if let Err(error) = seen.get(key) {
            failed(error);
        }
    }
    if let Err(error) = seen.get_many(keys) {
        failed(error);
    }
    whole
}

/// Checks that a store knows exactly `entries`, whatever it is asked.
pub fn expect_exactly(seen: &Seen, entries: &Entries) {
    let found: Vec<_> = seen
        .scan("")
        .unwrap()
        .map(|entry| entry.map(|(key, record)| (key, millis(record))).unwrap())
        .collect();
    assert!(
        found.iter().map(|(k, m)| (k, m)).eq(entries),
        "a scan gives {} entries, and {} were recorded",
        found.len(),
        entries.len()
    );
    assert_eq!(seen.len(), entries.len() as u64);
    let keys: Vec<_> = entries.keys().take(300).collect();
    let many = seen.get_many(&keys).unwrap();
    let stamps = entries.values();
    assert!(
        many.iter()
            .zip(stamps)
            .all(|(r, m)| r.map(millis) == Some(*m))
    );
    for (key, stamp) in entries.iter().take(300).step_by(9) {
        assert_eq!(seen.get(key).unwrap().map(millis), Some(*stamp));
        for near in neighbours(key) {
            let expected = entries.get(&near).copied();
            assert_eq!(seen.get(&near).unwrap().map(millis), expected);
        }
    }
}

/// Keys close to a key.
pub fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let mut longer = key.to_vec();
    longer.push(0);
    let mut above = key.to_vec();
    let mut near = Vec::new();
    if let Some(last) = above.last_mut()
        && *last < 255
    {
        *last += 1;
        near.push(above);
    }
    if key.len() > 1 {
        near.push(key[..key.len() - 1].to_vec());
    }
    if longer.len() <= 65_535 {
        near.push(longer);
    }
    near
}
