//! Small stores whose files are damaged, and what a damaged store may answer.

use super::bytes::Source;
use super::dictionary::Dictionary;
use super::memory::Memory;
use super::old;
use super::parts::Parts;
use super::record::Stored;
use super::segment::rename;
use seendb::env::{Clock, Entropy};
use seendb::{
    Batch, Builder, Canon, Driver, Durability, Env, FilterKind, Record, Seen, State, Writes,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// The directory of every store.
pub const DIR: &str = "/store";

/// When samples begin: as seconds and as milliseconds, such times are no others.
const START: u64 = 1_700_000_000;

/// Keys with what is known of each.
pub type Entries = BTreeMap<Vec<u8>, Record>;

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
    /// Whole seconds, so that a lease ends as many seconds later as was asked.
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.elapsed().as_secs())
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

/// A moment, from seconds since 1970.
pub fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
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
        .memtable_size(1 << 20)
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
    /// What is stored for each of its keys then.
    pub entries: Vec<(Vec<u8>, Stored)>,
    pub position: Option<u64>,
}

/// What the entries of a sample have beside their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing; but some are tombstones.
    Bare,
    /// Records.
    Records,
    /// Times in milliseconds, in files of version 1.
    Old,
}

/// How the filters of a sample's two runs are built. Only blocked ones are in files of
/// version 1.
const FILTERS: [[FilterKind; 2]; 4] = [
    [FilterKind::Blocked, FilterKind::Blocked],
    [FilterKind::Bloom, FilterKind::Fuse],
    [FilterKind::Fuse, FilterKind::Bloom],
    [FilterKind::None, FilterKind::Fuse],
];

/// A store with two runs and a log, as a killed writer leaves it.
pub struct Sample {
    pub vfs: Arc<Memory>,
    /// What is in each segment, the oldest first.
    pub segments: Vec<BTreeMap<Vec<u8>, Stored>>,
    /// What is in the log, frame by frame.
    pub batches: Vec<Applied>,
    pub kind: Kind,
}

impl Sample {
    /// Of the present version, with times or without.
    pub fn get(stamps: bool) -> &'static Sample {
        Sample::of(if stamps { Kind::Records } else { Kind::Bare })
    }

    /// Of any kind, with filters of any kind.
    pub fn pick(script: &mut Source<'_>) -> &'static Sample {
        let choice = usize::from(script.u8());
        let filters = choice / 4 % FILTERS.len();
        match choice % 4 {
            0 => Sample::with(Kind::Bare, filters),
            1 => Sample::of(Kind::Old),
            _ => Sample::with(Kind::Records, filters),
        }
    }

    pub fn of(kind: Kind) -> &'static Sample {
        Sample::with(kind, 0)
    }

    fn with(kind: Kind, filters: usize) -> &'static Sample {
        static SAMPLES: [[OnceLock<Sample>; FILTERS.len()]; 3] =
            [const { [const { OnceLock::new() }; FILTERS.len()] }; 3];
        SAMPLES[kind as usize][filters].get_or_init(|| Sample::new(kind, FILTERS[filters]))
    }

    fn new(kind: Kind, filters: [FilterKind; 2]) -> Sample {
        let vfs = Arc::new(Memory::default());
        let open = |filter| {
            let builder = builder(&vfs).canon(Canon::raw()).filter(filter);
            builder.stamps(kind != Kind::Bare).open().unwrap()
        };
        let mut seen = open(filters[0]);
        let mut segments = Vec::new();
        for (run, numbers) in [(0u64, 0..60u32), (1, 60..75)] {
            let mut batch = seen.batch();
            batch.at(at(START + run * 5)).position(run + 1);
            let mut keys: Vec<_> = numbers.map(key).collect();
            for key in &keys {
                batch.insert(key).unwrap();
            }
            seen.apply(batch).unwrap();
            for number in 0..24 {
                // In the first run, states of its own keys; in the second, of those below.
                let mut batch = seen.batch();
                batch.at(at(START + 200 + run * 50));
                let number = number + run as u32 * 12;
                if change(&mut batch, kind, number) {
                    let before = seen.get(key(number)).unwrap();
                    seen.apply(batch).unwrap();
                    // One that is claimed or forgotten already stays so.
                    if seen.get(key(number)).unwrap() != before {
                        keys.push(key(number));
                    }
                }
            }
            seen.flush().unwrap();
            segments.push(known(&seen, keys).into_iter().collect());
            if run == 0 && filters[0] != filters[1] {
                seen.close().unwrap();
                seen = open(filters[1]);
            }
        }
        let mut batches = Vec::new();
        for frame in 0..12u32 {
            let mut keys: Vec<_> = (0..frame % 4).map(|i| key(75 + frame * 4 + i)).collect();
            let position = (frame % 3 == 0).then_some(u64::from(frame) + 10);
            let mut batch = seen.batch();
            batch.at(at(START + 1_000 + u64::from(frame)));
            if let Some(position) = position {
                batch.position(position);
            }
            for key in &keys {
                batch.insert(key).unwrap();
            }
            if change(&mut batch, kind, frame + 40) {
                keys.push(key(frame + 40));
            }
            seen.apply(batch).unwrap();
            if frame % 5 == 4 {
                seen.sync().unwrap();
            }
            // A batch that says nothing makes no frame.
            if !keys.is_empty() || position.is_some() {
                batches.push(Applied {
                    entries: known(&seen, keys),
                    position,
                });
            }
        }
        let vfs = vfs.copy();
        drop(seen);
        match kind {
            Kind::Old => old::downgrade(&vfs),
            // So small a store has only plain dictionaries.
            _ if filters[0] != filters[1] => recode(&vfs),
            _ => {}
        }
        Sample {
            vfs,
            segments,
            batches,
            kind,
        }
    }

    /// Whether entries have times.
    pub fn stamps(&self) -> bool {
        self.kind != Kind::Bare
    }

    /// The format's version.
    pub fn version(&self) -> u8 {
        if self.kind == Kind::Old { 1 } else { 4 }
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
        let batches = self.batches[..frames].iter();
        let logged = batches.flat_map(|batch| &batch.entries);
        let stored = self.segments.iter().flatten();
        let mut entries = Entries::new();
        for (key, stored) in stored.chain(logged.map(|(key, stored)| (key, stored))) {
            put(&mut entries, key, stored.clone());
        }
        entries
    }
}

/// Gives segments a dictionary with strings.
fn recode(vfs: &Memory) {
    for (name, bytes) in vfs.all(Path::new(DIR)) {
        if name.ends_with(".seg") {
            let mut parts = Parts::read(&bytes);
            parts.recode(&Dictionary::of_samples());
            let coded = parts.write();
            rename(vfs, &name, &bytes, &coded);
            vfs.put(&path(&name), coded);
        }
    }
}

/// Gives a key what is stored for it.
pub fn put(entries: &mut Entries, key: &[u8], stored: Stored) {
    match stored {
        Some(record) => drop(entries.insert(key.to_vec(), record)),
        None => drop(entries.remove(key)),
    }
}

/// What is stored for keys that were recorded.
fn known(seen: &Seen, keys: Vec<Vec<u8>>) -> Vec<(Vec<u8>, Stored)> {
    let stored = seen.get_many(&keys).unwrap();
    keys.into_iter().zip(stored).collect()
}

/// Adds something to a batch that changes what is known of a key; false if there is
/// nothing that a sample of this kind could hold.
fn change(batch: &mut Batch, kind: Kind, number: u32) -> bool {
    let key = key(number);
    match (kind, number % 6) {
        (Kind::Bare | Kind::Records, 0) => batch.forget(&key).unwrap(),
        (Kind::Bare | Kind::Records, 1) => batch.put(&key, State::Seen).unwrap(),
        (Kind::Records, 2) => {
            let lease = Duration::from_secs(u64::from(number) * 100);
            batch.claim(&key, "a worker", lease).unwrap();
        }
        (Kind::Records, 3) => {
            let fetched = State::Fetched {
                at: at(START + 300),
                status: 404,
                content: number.is_multiple_of(2).then_some([number as u8; 16]),
            };
            batch.put(&key, fetched).unwrap();
        }
        (Kind::Records, 4) => {
            let failed = State::Failed {
                at: at(START + 250),
                reason: "no answer".into(),
                attempts: number,
                retry_at: number.is_multiple_of(2).then_some(at(START + 400)),
            };
            batch.put(&key, failed).unwrap();
        }
        _ => return false,
    }
    true
}

/// Keys of several kinds: sharing much and little, long ones, binary ones.
fn key(number: u32) -> Vec<u8> {
    match number % 20 {
        18 => format!("https://example.com/{number}/{}", "long/".repeat(300)).into_bytes(),
        19 => vec![0xff; number as usize / 20 + 30],
        n => format!("https://host{}.example/{:03}/page", n % 5, number).into_bytes(),
    }
}
