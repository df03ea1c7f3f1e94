//! Random operations on a store and on a map give the same answers, whatever is
//! flushed, merged, reopened or killed in between.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod support;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use seendb::{Canon, Driver, Durability, Error, FilterKind, Reads, Record, Seen};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::faults::{Faults, Maps};
use support::{SetClock, assert_clean, at, env_with, long, place};

#[derive(Debug, Clone)]
enum Do {
    Insert(u16),
    InsertMany(Vec<u16>),
    Apply {
        keys: Vec<u16>,
        time: Option<u32>,
        position: Option<i8>,
        immediate: bool,
    },
    Forget(Vec<u16>),
    Get(u16),
    GetMany(Vec<u16>),
    Scan(u16, usize),
    /// Enough to fill a memtable.
    Fill(u16),
    Flush,
    Compact,
    Step(u8),
    Sync,
    Refresh,
    Reopen(Options),
    /// Goes on with a copy of the files as they are, as after a kill.
    Kill(Options),
}

#[derive(Debug, Clone)]
struct Options {
    how: u8,
    memory: u8,
    segment_size: u8,
    pread: bool,
    threads: bool,
    durability: u8,
    /// The kind of filters, and how little they let through.
    filter: (u8, i32),
}

fn options() -> impl Strategy<Value = Options> {
    let how = (0u8..3, 0u8..3, 0u8..3, any::<bool>(), any::<bool>(), 0u8..3);
    (how, (0u8..5, 1i32..6)).prop_map(
        |((how, memory, segment_size, pread, threads, durability), filter)| Options {
            how,
            memory,
            segment_size,
            pread,
            threads,
            durability,
            filter,
        },
    )
}

fn operation() -> impl Strategy<Value = Do> {
    let key = 0u16..600;
    let keys = proptest::collection::vec(0u16..600, 0..60);
    prop_oneof![
        12 => key.clone().prop_map(Do::Insert),
        8 => keys.clone().prop_map(Do::InsertMany),
        8 => (keys.clone(), proptest::option::of(any::<u32>()), proptest::option::of(-2i8..4), any::<bool>())
            .prop_map(|(keys, time, position, immediate)| Do::Apply { keys, time, position, immediate }),
        4 => keys.clone().prop_map(Do::Forget),
        8 => key.clone().prop_map(Do::Get),
        4 => keys.prop_map(Do::GetMany),
        4 => (key.clone(), 0usize..30).prop_map(|(key, len)| Do::Scan(key, len)),
        2 => key.prop_map(Do::Fill),
        10 => Just(Do::Flush),
        1 => Just(Do::Compact),
        8 => any::<u8>().prop_map(|n| Do::Step(n % 8)),
        2 => Just(Do::Sync),
        3 => Just(Do::Refresh),
        3 => options().prop_map(Do::Reopen),
        2 => options().prop_map(Do::Kill),
    ]
}

/// Keys that are prefixes of each other, binary, short and long.
fn key(number: u16) -> Vec<u8> {
    let n = u32::from(number);
    match number % 6 {
        0 => format!(
            "https://example.com/{}",
            "a".repeat(number as usize % 90 + 1)
        )
        .into_bytes(),
        1 => vec![0xff; number as usize % 50 + 1],
        2 => [vec![0; number as usize % 20], n.to_le_bytes().to_vec()].concat(),
        3 => n.to_be_bytes().to_vec(),
        4 => format!("https://host{}.example/{number:0200}", number % 7).into_bytes(),
        _ => format!("{number:0width$}", width = number as usize * 5 + 1).into_bytes(),
    }
}

struct Pair {
    dir: tempfile::TempDir,
    path: PathBuf,
    copies: u32,
    vfs: Arc<Faults>,
    clock: Arc<SetClock>,
    now: u64,
    stamps: bool,
    driver: Driver,
    seen: Option<Seen>,
    reader: Option<Seen>,
    map: BTreeMap<Vec<u8>, Option<u64>>,
    position: Option<u64>,
    durable: Option<u64>,
}

impl Pair {
    fn new(stamps: bool) -> Pair {
        let (dir, path) = place();
        let mut pair = Pair {
            dir,
            path,
            copies: 0,
            vfs: Faults::new(Maps::System),
            clock: Arc::default(),
            now: 1,
            stamps,
            driver: Driver::Manual,
            seen: None,
            reader: None,
            map: BTreeMap::new(),
            position: None,
            durable: None,
        };
        // What a map knows does not depend on syncs.
        pair.vfs.sync_nothing();
        pair.open(&Options {
            how: 0,
            memory: 0,
            segment_size: 0,
            pread: false,
            threads: false,
            durability: 0,
            filter: (4, 1),
        });
        pair
    }

    fn open(&mut self, options: &Options) {
        self.driver = if options.threads {
            Driver::Threads
        } else {
            Driver::Manual
        };
        let mut builder = Seen::builder(&self.path)
            .memtable_size([1 << 20, 3 << 20, 64 << 20][options.memory as usize])
            .segment_size([64 << 10, 300 << 10, 1 << 30][options.segment_size as usize])
            .reads(if options.pread {
                Reads::Pread
            } else {
                Reads::Map
            })
            .durability(match options.durability {
                0 => Durability::Manual,
                1 => Durability::Interval(Duration::from_millis(5)),
                _ => Durability::Immediate,
            })
            .driver(self.driver)
            .env(seendb::Env {
                vfs: self.vfs.clone(),
                ..env_with(&self.clock, self.now)
            });
        let mut kinds = FilterKind::FILTERS.into_iter().chain([FilterKind::None]);
        let (kind, exponent) = options.filter;
        // Else as before.
        if let Some(kind) = kinds.nth(kind.into()) {
            let rate = 10f64.powi(-exponent);
            builder = builder.filter(kind).false_positive_rate(rate);
        }
        if self.now == 1 || options.how == 1 {
            builder = builder.canon(Canon::raw()).stamps(self.stamps);
        }
        let seen = builder.open().unwrap();
        assert!(seen.recovery().cuts.is_empty());
        // What came from a log counts as durable once it is in segments.
        self.durable = seen.durable_position();
        assert!(self.durable <= self.position);
        if seen.recovery().logs == 0 {
            assert_eq!(self.durable, self.position);
        }
        self.seen = Some(seen);
        self.reader = Some(Seen::open_read_only(&self.path).unwrap());
        self.check_all(self.reader.as_ref().unwrap());
    }

    fn seen(&self) -> &Seen {
        self.seen.as_ref().unwrap()
    }

    fn record(&self, key: &[u8]) -> Option<Option<u64>> {
        self.map.get(key).copied()
    }

    fn insert(&mut self, keys: &[Vec<u8>], time: u64) -> Vec<bool> {
        let stamp = self.stamps.then_some(time);
        let mut add = |key: &Vec<u8>| {
            let absent = !self.map.contains_key(key);
            self.map.entry(key.clone()).or_insert(stamp);
            absent
        };
        keys.iter().map(&mut add).collect()
    }

    fn run(&mut self, operation: Do) {
        self.now += 1;
        self.clock.set(self.now);
        let now = self.now;
        match operation {
            Do::Insert(number) => {
                let key = key(number);
                let expected = self.insert(std::slice::from_ref(&key), now)[0];
                assert_eq!(self.seen().insert(&key).unwrap(), expected);
            }
            Do::InsertMany(numbers) => {
                let keys: Vec<_> = numbers.into_iter().map(key).collect();
                let expected = self.insert(&keys, now);
                assert_eq!(self.seen().insert_many(&keys).unwrap(), expected);
            }
            Do::Apply {
                keys,
                time,
                position,
                immediate,
            } => {
                self.apply(&keys, time, position, immediate);
            }
            Do::Forget(numbers) => {
                let keys: Vec<_> = numbers.into_iter().map(key).collect();
                let there = |key| self.map.remove(key).is_some();
                let expected: Vec<_> = keys.iter().map(there).collect();
                assert_eq!(self.seen().forget_many(&keys).unwrap(), expected);
            }
            Do::Get(number) => {
                let key = key(number);
                let found = self.seen().get(&key).unwrap();
                assert_eq!(found.clone().map(seconds), self.record(&key), "{key:?}");
                assert_eq!(self.seen().contains(&key).unwrap(), found.is_some());
            }
            Do::GetMany(numbers) => {
                let keys: Vec<_> = numbers.into_iter().map(key).collect();
                let expected: Vec<_> = keys.iter().map(|key| self.record(key)).collect();
                let found = self.seen().get_many(&keys).unwrap();
                let found: Vec<_> = found.into_iter().map(|r| r.map(seconds)).collect();
                assert_eq!(found, expected);
            }
            Do::Scan(number, len) => {
                let mut prefix = key(number);
                prefix.truncate(len);
                self.check_scan(self.seen(), &prefix);
            }
            Do::Fill(number) => {
                let fill = |i: u32| format!("fill/{number}/{i:01000}").into_bytes();
                for batch in 0..6 {
                    let keys: Vec<_> = (batch * 250..(batch + 1) * 250).map(fill).collect();
                    let expected = self.insert(&keys, now);
                    assert_eq!(self.seen().insert_many(&keys).unwrap(), expected);
                }
            }
            Do::Flush => {
                self.seen().flush().unwrap();
                self.durable = self.position;
            }
            Do::Compact => {
                self.seen().compact().unwrap();
                self.durable = self.position;
                assert!(self.seen().stats().runs <= 1);
            }
            Do::Step(count) => {
                for _ in 0..count {
                    self.seen().step().unwrap();
                }
            }
            Do::Sync => {
                self.seen().sync().unwrap();
                assert_eq!(self.seen().durable_position(), self.position);
            }
            Do::Refresh => {
                let reader = self.reader.as_ref().unwrap();
                reader.refresh().unwrap();
                self.check_all(reader);
            }
            Do::Reopen(options) => {
                let seen = self.seen.take().unwrap();
                if options.how == 0 {
                    seen.close().unwrap();
                } else {
                    drop(seen);
                }
                self.open(&options);
            }
            Do::Kill(options) => {
                // Threads at work would change files while they are copied.
                if self.driver == Driver::Manual {
                    self.copies += 1;
                    let copy = self.dir.path().join(format!("copy{}", self.copies));
                    support::copy_dir(&self.path, &copy);
                    self.path = copy;
                }
                self.seen = None;
                self.open(&options);
            }
        }
        assert_eq!(self.seen().len(), self.map.len() as u64);
        assert_eq!(self.seen().position(), self.position);
        let durable = self.seen().durable_position();
        assert!(self.durable <= durable && durable <= self.position);
    }

    fn apply(&mut self, numbers: &[u16], time: Option<u32>, position: Option<i8>, immediate: bool) {
        let keys: Vec<_> = numbers.iter().map(|&number| key(number)).collect();
        let mut batch = self.seen().batch();
        for key in &keys {
            batch.insert(key).unwrap();
        }
        if let Some(time) = time {
            // Below a second nothing is kept.
            batch.at(at(u64::from(time)) + Duration::from_millis(900));
        }
        if immediate {
            batch.durability(Durability::Immediate);
        }
        let given = position.map(|step| {
            self.position
                .map_or(7, |last| last.saturating_add_signed(step.into()))
        });
        if let Some(given) = given {
            batch.position(given);
        }
        let outcome = self.seen().apply(batch);
        match (given, self.position) {
            (Some(given), Some(last)) if given <= last => {
                let stale = outcome.unwrap_err();
                assert!(
                    matches!(stale, Error::StalePosition { given: g, last: l } if g == given && l == last)
                );
            }
            _ => {
                let expected = self.insert(&keys, time.map_or(self.now, u64::from));
                assert_eq!(outcome.unwrap().new, expected);
                self.position = given.or(self.position);
                if immediate && given.is_some() {
                    self.durable = self.position;
                }
            }
        }
    }

    fn check_scan(&self, seen: &Seen, prefix: &[u8]) {
        let expected: Vec<_> = self
            .map
            .range(prefix.to_vec()..)
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, stamp)| (key.clone(), *stamp))
            .collect();
        let found: Vec<_> = seen
            .scan(prefix)
            .unwrap()
            .map(|entry| entry.map(|(key, record)| (key, seconds(record))).unwrap())
            .collect();
        assert!(
            found == expected,
            "{prefix:?}: {} of {}",
            found.len(),
            expected.len()
        );
    }

    fn check_all(&self, seen: &Seen) {
        self.check_scan(seen, b"");
        assert_eq!(seen.len(), self.map.len() as u64);
        assert_eq!(seen.position(), self.position);
    }
}

fn seconds(record: Record) -> Option<u64> {
    record
        .first_seen
        .map(|time| time.duration_since(at(0)).unwrap().as_secs())
}

#[test]
fn whatever_happens_in_between() {
    let limit = Duration::from_secs(20 * long());
    let cases = 60 * long() as u32;
    let began = Instant::now();
    let mut tried = 0;
    let mut done = [0; 3];
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let sequences = proptest::collection::vec(operation(), 1..150);
    let counts = std::cell::RefCell::new((&mut tried, &mut done));
    runner
        .run(&(any::<bool>(), sequences), |(stamps, operations)| {
            if began.elapsed() > limit {
                return Ok(());
            }
            let mut pair = Pair::new(stamps);
            let count = operations.len();
            for operation in operations {
                pair.run(operation);
            }
            pair.check_all(pair.seen());
            let stats = pair.seen().stats();
            pair.seen.take().unwrap().close().unwrap();
            assert_clean(&pair.path);
            let (tried, done) = &mut *counts.borrow_mut();
            **tried += 1;
            done[0] += count as u64;
            done[1] += stats.flushes;
            done[2] += stats.merges;
            Ok(())
        })
        .unwrap();
    println!(
        "{tried} sequences of {} operations; in their last stretches {} flushes, {} merges",
        done[0], done[1], done[2]
    );
    assert!(tried >= 5, "only {tried} sequences in {limit:?}");
}
