//! Small stores with every kind of file, to be damaged.

use crate::support::{ENOSPC, Seeded, SetClock, at, small};
use seendb::vfs::Vfs;
use seendb::vfs::sim::{Fault, OperationKind, Sim};
use seendb::{Canon, Driver, Env, Record, Seen, Writes};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The store's directory on every simulated disk.
pub const DIR: &str = "/store";

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A key and its record.
pub type Entry = (Vec<u8>, Record);

/// What one frame of the live log holds, and what it says.
#[derive(Debug, Clone)]
pub struct Frame {
    pub offset: usize,
    pub end: usize,
    /// Everything below was synced when it was written.
    pub synced: usize,
    pub entries: Vec<Entry>,
    pub position: Option<u64>,
}

/// A store's files, and all that is in them.
#[derive(Debug)]
pub struct Specimen {
    pub name: String,
    pub files: Files,
    /// The files after each operation.
    pub history: Vec<Files>,
    /// Entries that are in segments, or in logs whose length is recorded.
    pub settled: Vec<Entry>,
    pub settled_position: Option<u64>,
    /// The recorded lengths of logs.
    pub recorded: BTreeMap<String, usize>,
    /// The log without one.
    pub live: Option<String>,
    pub frames: Vec<Frame>,
}

/// How a specimen is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub end: End,
    /// One run has two segments, the first of which has 66,000 bytes.
    pub long_run: bool,
    pub standard: bool,
    pub stamps: bool,
    pub writes: Writes,
    pub seed: u64,
}

/// How the store was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Closed,
    Killed,
    /// Killed, opened, written to, and killed again: three logs.
    KilledTwice,
}

impl Kind {
    pub const CLOSED: Kind = Kind {
        end: End::Closed,
        long_run: false,
        standard: false,
        stamps: true,
        writes: Writes::Pwrite,
        seed: 1,
    };
    pub const KILLED: Kind = Kind {
        end: End::Killed,
        ..Kind::CLOSED
    };

    /// Every kind; the first two are [`CLOSED`](Kind::CLOSED) and
    /// [`KILLED`](Kind::KILLED).
    pub fn all() -> Vec<Kind> {
        let plain = |kind: Kind| Kind {
            standard: true,
            stamps: false,
            ..kind
        };
        let long_run = |kind: Kind| Kind {
            long_run: true,
            ..kind
        };
        vec![
            Kind::CLOSED,
            Kind::KILLED,
            plain(Kind::CLOSED),
            plain(Kind::KILLED),
            long_run(Kind::CLOSED),
            long_run(plain(Kind::KILLED)),
            Kind {
                writes: Writes::Map,
                ..Kind::KILLED
            },
            Kind {
                end: End::KilledTwice,
                ..Kind::KILLED
            },
        ]
    }
}

/// A disk with these files in the store's directory.
pub fn disk(files: &Files) -> Arc<Sim> {
    let sim = Sim::new();
    sim.create_dir(Path::new(DIR)).unwrap();
    for (name, bytes) in files {
        sim.write(Path::new(DIR).join(name), bytes).unwrap();
    }
    sim
}

/// The files of the store on a disk.
pub fn files(sim: &Sim) -> Files {
    let names = sim.names(DIR).unwrap();
    let read = |name: String| {
        let bytes = sim.read(Path::new(DIR).join(&name)).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// The store while it is made.
struct Maker {
    kind: Kind,
    sim: Arc<Sim>,
    clock: Arc<SetClock>,
    entropy: Arc<Seeded>,
    history: Vec<Files>,
    position: Option<u64>,
}

impl Maker {
    fn open(&self) -> Seen {
        let env = Env {
            vfs: self.sim.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        };
        let canon = if self.kind.standard {
            Canon::standard()
        } else {
            Canon::raw()
        };
        small(DIR.as_ref())
            .canon(canon)
            .stamps(self.kind.stamps)
            .writes(self.kind.writes)
            .driver(Driver::Manual)
            .env(env)
            .open()
            .unwrap()
    }

    /// Inserts URLs as one batch, one second after the one before.
    fn batch(&mut self, seen: &Seen, urls: &[String], position: Option<u64>) -> Vec<Entry> {
        let now = 1_767_225_600_000 + 1000 * self.history.len() as u64;
        self.clock.set(now);
        let mut batch = seen.batch();
        for url in urls {
            batch.insert(url).unwrap();
        }
        if let Some(position) = position {
            batch.position(position);
        }
        assert!(seen.apply(batch).unwrap().new.iter().all(|&new| new));
        self.position = position.or(self.position);
        self.note();
        let mut record = Record::default();
        record.first_seen = self.kind.stamps.then(|| at(now));
        urls.iter()
            .map(|url| (url.clone().into_bytes(), record))
            .collect()
    }

    fn note(&mut self) {
        self.history.push(files(&self.sim));
    }

    /// The process dies.
    fn kill(&mut self, seen: Seen) {
        self.sim = self.sim.kill();
        drop(seen);
    }
}

/// `count` short URLs, in no order.
fn urls(of: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|i| format!("https://{of}{}.example.com/{:03}", i * 7 % 5, i * 37 % 101))
        .collect()
}

/// URLs that fill one segment between them.
fn long_urls() -> Vec<String> {
    (0..3)
        .map(|i| format!("https://{i}.example.org/{}", "abcdefghij".repeat(2_200)))
        .collect()
}

impl Specimen {
    pub fn new(kind: Kind) -> Specimen {
        let mut maker = Maker {
            kind,
            sim: Sim::new(),
            clock: Arc::default(),
            entropy: Arc::new(Seeded::new(kind.seed)),
            history: Vec::new(),
            position: None,
        };
        let seen = maker.open();
        maker.note();
        let mut first = urls("a", 20);
        if kind.long_run {
            first.extend(long_urls());
        }
        let mut settled = maker.batch(&seen, &first, Some(5));
        seen.flush().unwrap();
        maker.note();
        for url in urls("b", 6) {
            settled.extend(maker.batch(&seen, &[url], None));
        }
        seen.flush().unwrap();
        maker.note();
        settled.extend(maker.batch(&seen, &urls("c", 8), Some(9)));

        let mut frames = Vec::new();
        let mut settled_position = maker.position;
        if kind.end == End::Closed {
            seen.close().unwrap();
        } else {
            // The flush fails, so that the log stays, with its length recorded.
            maker.sim.rule(|operation| {
                let is_segment = operation.path.extension().is_some_and(|e| e == "seg");
                let creates = operation.kind == OperationKind::Create && is_segment;
                creates.then_some(Fault::Error(ENOSPC))
            });
            seen.flush().unwrap_err();
            maker.sim.heal();
            maker.note();
            frames = maker.live(&seen);
            maker.kill(seen);
        }
        if kind.end == End::KilledTwice {
            let seen = maker.open();
            settled.extend(frames.drain(..).flat_map(|batch| batch.0));
            settled_position = maker.position;
            // No sync: it would flush what was recovered.
            for url in urls("g", 7) {
                frames.push((maker.batch(&seen, &[url], None), None));
            }
            maker.kill(seen);
        }
        let files = files(&maker.sim);
        let (recorded, live) = logs(&files, kind.end != End::Closed);
        let logs = match kind.end {
            End::Closed => 0,
            End::Killed => 1,
            End::KilledTwice => 2,
        };
        assert_eq!(recorded.len(), logs);
        let frames = live
            .as_ref()
            .map(|name| parse(&files[name], frames))
            .unwrap_or_default();
        Specimen {
            name: format!("{kind:?}"),
            files,
            history: maker.history,
            settled,
            settled_position,
            recorded,
            live,
            frames,
        }
    }

    /// All entries, if so many frames of the live log are there.
    pub fn entries(&self, frames: usize) -> impl Iterator<Item = &Entry> {
        let frames = self.frames.iter().take(frames);
        self.settled
            .iter()
            .chain(frames.flat_map(|frame| &frame.entries))
    }

    /// The position, if so many frames of the live log are there.
    pub fn position(&self, frames: usize) -> Option<u64> {
        let frames = self.frames.iter().take(frames);
        frames
            .filter_map(|frame| frame.position)
            .next_back()
            .or(self.settled_position)
    }
}

/// Entries and position of a batch.
type Batch = (Vec<Entry>, Option<u64>);

impl Maker {
    /// The frames of a live log: some synced, as later ones say, then some that no
    /// later one calls synced.
    fn live(&mut self, seen: &Seen) -> Vec<Batch> {
        let mut batches = Vec::new();
        for url in urls("d", 3) {
            batches.push((self.batch(seen, &[url], None), None));
        }
        batches.push((self.batch(seen, &urls("e", 4), Some(12)), Some(12)));
        seen.sync().unwrap();
        for url in urls("f", 2) {
            batches.push((self.batch(seen, &[url], None), None));
        }
        seen.sync().unwrap();
        batches.push((self.batch(seen, &urls("i", 3), Some(13)), Some(13)));
        for url in urls("j", 3) {
            batches.push((self.batch(seen, &[url], None), None));
        }
        batches
    }
}

/// The logs: those with a recorded length, which have no room behind their frames, and
/// the last, without.
fn logs(files: &Files, killed: bool) -> (BTreeMap<String, usize>, Option<String>) {
    let mut logs: Vec<&String> = files.keys().filter(|n| n.ends_with(".log")).collect();
    assert_eq!(logs.is_empty(), !killed);
    let live = logs.pop().cloned();
    let recorded = logs.into_iter().map(|n| (n.clone(), files[n].len()));
    (recorded.collect(), live)
}

/// The bytes of a log before its first frame.
pub const LOG_HEADER: usize = 88;

/// Where the batches of a log are, read as docs/format.md says.
fn parse(log: &[u8], batches: Vec<Batch>) -> Vec<Frame> {
    let number = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap()) as usize;
    let mut offset = LOG_HEADER;
    let mut frames = Vec::new();
    for (entries, position) in batches {
        let body = number(offset) >> 32;
        let end = offset + (24 + body).next_multiple_of(8);
        frames.push(Frame {
            offset,
            end,
            synced: number(offset + 16),
            entries,
            position,
        });
        offset = end;
    }
    assert!(log[offset..].iter().all(|&byte| byte == 0));
    frames
}
