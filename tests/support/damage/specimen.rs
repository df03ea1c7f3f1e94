//! Small stores with every kind of file, and every kind of record in them, to be damaged.

use super::maker::{Batch, Maker};
use crate::support::{ENOSPC, at, inserted};
use seendb::vfs::Vfs;
use seendb::vfs::sim::{Fault, OperationKind, Sim};
use seendb::{FilterKind, Record, Seen, Writes};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The store's directory on every simulated disk.
pub const DIR: &str = "/store";

/// Files by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A key and its record.
pub type Entry = (Vec<u8>, Record);

/// Where one frame of the live log is, and what it says.
#[derive(Debug, Clone)]
pub struct Frame {
    pub offset: usize,
    pub end: usize,
    /// Everything below was synced when it was written.
    pub synced: usize,
}

/// What a store knows at some moment.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// In the order of keys, without those that have expired.
    pub entries: Vec<Entry>,
    /// Keys, with those that have expired: no merge has left them out. Another number after
    /// each frame of the live log.
    pub keys: u64,
    pub position: Option<u64>,
    /// Entries in files, also older ones of a key, and tombstones.
    pub written: u64,
}

/// A store's files, and all that is in them.
#[derive(Debug)]
pub struct Specimen {
    pub name: String,
    pub files: Files,
    /// The files after each operation.
    pub history: Vec<Files>,
    /// What is known if so many frames of the live log are there.
    known: Vec<Known>,
    /// Keys that are known, or were.
    pub keys: BTreeSet<Vec<u8>>,
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
    pub filter: FilterKind,
    pub seed: u64,
    /// Of the format; what there is of older versions is in tests/fixtures.
    pub version: u32,
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
        filter: FilterKind::Blocked,
        seed: 1,
        version: 3,
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
            filter: FilterKind::Bloom,
            ..kind
        };
        let long_run = |kind: Kind| Kind {
            long_run: true,
            filter: FilterKind::Fuse,
            ..kind
        };
        let older = |version: u32, kind: Kind| Kind { version, ..kind };
        vec![
            Kind::CLOSED,
            Kind::KILLED,
            plain(Kind::CLOSED),
            plain(Kind::KILLED),
            long_run(Kind::CLOSED),
            long_run(plain(Kind::KILLED)),
            Kind {
                writes: Writes::Map,
                filter: FilterKind::None,
                ..Kind::KILLED
            },
            Kind {
                end: End::KilledTwice,
                ..Kind::KILLED
            },
            older(1, Kind::CLOSED),
            older(1, Kind::KILLED),
            older(2, Kind::CLOSED),
            older(2, Kind::KILLED),
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
        if kind.version < Kind::CLOSED.version {
            return Specimen::of_older_version(kind);
        }
        let mut maker = Maker::new(kind);
        let seen = maker.open();
        let mut first = urls("a", 20);
        if kind.long_run {
            first.extend(long_urls());
        }
        let (a, b) = (urls("a", 20), urls("b", 6));
        // The first claim changes the manifest. It is made before the first flush: nothing
        // else would tell the one before from the one behind.
        maker.apply(&seen, Batch::of(&first[1..]).claim(&a[..1]).at(5));
        maker.flush(&seen);
        maker.apply(&seen, Batch::default().claim(&a[1..5]));
        for url in &b {
            maker.apply(&seen, Batch::of(&[url]));
        }
        let settled = Batch::default().fetched(&a[1]).failed(&a[2], Some(900));
        maker.apply(&seen, settled.failed(&a[3], None).forget(&a[6..9]));
        maker.apply(&seen, Batch::expired(&urls("x", 2)));
        maker.flush(&seen);
        maker.apply(&seen, Batch::default().claim(&b[..1]).forget(&b[1..2]));
        maker.apply(&seen, Batch::of(&urls("c", 8)).at(9));

        if kind.end == End::Closed {
            maker.close(seen);
            return maker.finish(None);
        }
        // The flush fails, so that the log stays, with its length recorded.
        maker.sim.rule(|operation| {
            let is_segment = operation.path.extension().is_some_and(|e| e == "seg");
            let creates = operation.kind == OperationKind::Create && is_segment;
            creates.then_some(Fault::Error(ENOSPC))
        });
        seen.flush().unwrap_err();
        maker.sim.heal();
        maker.note();
        let mut settled = maker.batches();
        live(&mut maker, &seen);
        maker.kill(seen);
        if kind.end == End::KilledTwice {
            let seen = maker.open();
            settled = maker.batches();
            // No sync: it would flush what was recovered.
            for url in urls("g", 7) {
                maker.apply(&seen, Batch::of(&[url]));
            }
            maker.kill(seen);
        }
        maker.finish(Some(settled))
    }

    /// Stores of an older version, with inserts alone.
    fn of_older_version(kind: Kind) -> Specimen {
        let entries = |from: usize, to: usize, seconds: u64| {
            let record = inserted(Some(at(1_767_225_600 + seconds)));
            let key = |i| format!("https://example.com/{i:02}").into_bytes();
            (from..to).map(move |i| (key(i), record.clone()))
        };
        let (name, settled): (_, Vec<Entry>) = match kind.end {
            End::Closed => {
                let parts = (0..4).flat_map(|part| entries(5 * part, 5 * part + 5, part as u64));
                ("several-runs", parts.collect())
            }
            _ => (
                "unflushed-log",
                entries(0, 4, 0).chain(entries(4, 6, 1)).collect(),
            ),
        };
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let dir = fixtures.join(format!("v{}", kind.version));
        let read = |entry: std::fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).unwrap())
        };
        let listed = std::fs::read_dir(dir.join(name)).unwrap();
        let files: Files = listed.map(|entry| read(entry.unwrap())).collect();
        let in_log = if kind.end == End::Closed { 0 } else { 4 };
        let known = (0..=in_log).map(|frames| {
            let live = entries(6, 6 + frames, 2);
            let entries: Vec<Entry> = settled.iter().cloned().chain(live).collect();
            Known {
                keys: entries.len() as u64,
                written: entries.len() as u64,
                position: (kind.end != End::Closed).then_some(7),
                entries,
            }
        });
        let known = known.collect();
        Specimen::with(kind, files.clone(), vec![files], known)
    }

    /// A store with these files, what is known with so many frames of its live log.
    pub(super) fn with(
        kind: Kind,
        files: Files,
        history: Vec<Files>,
        known: Vec<Known>,
    ) -> Specimen {
        let (recorded, live) = logs(&files, kind.end != End::Closed);
        let logs = match kind.end {
            End::Closed => 0,
            End::Killed => 1,
            End::KilledTwice => 2,
        };
        assert_eq!(recorded.len(), logs);
        let frames = live
            .as_ref()
            .map(|name| parse(&files[name], known.len() - 1));
        let counts: BTreeSet<u64> = known.iter().map(|known| known.keys).collect();
        assert_eq!(counts.len(), known.len(), "two states of one size");
        let keys = known.iter().flat_map(|known| &known.entries);
        Specimen {
            name: format!("{kind:?}"),
            keys: keys.map(|(key, _)| key.clone()).collect(),
            files,
            history,
            known,
            recorded,
            live,
            frames: frames.unwrap_or_default(),
        }
    }

    /// What is known if so many frames of the live log are there.
    pub fn known(&self, frames: usize) -> &Known {
        &self.known[frames]
    }
}

/// The frames of a live log: some synced, as later ones say, then some that no later one
/// calls synced. Each makes the store larger.
fn live(maker: &mut Maker, seen: &Seen) {
    let a = urls("a", 20);
    for (place, url) in urls("d", 3).into_iter().enumerate() {
        maker.apply(seen, Batch::of(&[url]).claim(&a[10 + place..11 + place]));
    }
    let settled = Batch::of(&urls("e", 4)).fetched(&a[10]).forget(&a[13..14]);
    maker.apply(seen, settled.at(12));
    seen.sync().unwrap();
    for url in urls("f", 2) {
        maker.apply(seen, Batch::of(&[url]));
    }
    seen.sync().unwrap();
    let settled = Batch::of(&urls("i", 3)).failed(&a[11], Some(60));
    maker.apply(seen, settled.forget(&a[14..15]).at(13));
    maker.apply(seen, Batch::expired(&urls("y", 1)));
    for url in urls("j", 2) {
        maker.apply(seen, Batch::of(&[url]));
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

/// Where the frames of a log are, read as docs/format.md says.
fn parse(log: &[u8], count: usize) -> Vec<Frame> {
    let number = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap()) as usize;
    let mut offset = LOG_HEADER;
    let mut frames = Vec::new();
    for _ in 0..count {
        let body = number(offset) >> 32;
        let end = offset + (24 + body).next_multiple_of(8);
        frames.push(Frame {
            offset,
            end,
            synced: number(offset + 16),
        });
        offset = end;
    }
    assert!(log[offset..].iter().all(|&byte| byte == 0));
    frames
}
