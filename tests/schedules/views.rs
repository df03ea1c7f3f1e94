//! Lookups beside flushes and merges, in the same handle and in readers.

use super::memory::Memory;
use super::{any_schedule, options};
use crate::support::keys;
use seendb::Seen;
use shuttle::thread;
use std::sync::Mutex;

/// Keys that were acknowledged.
#[derive(Debug, Default)]
struct Known(Mutex<Vec<String>>);

impl Known {
    fn insert(&self, seen: &Seen, key: &str) {
        assert!(seen.insert(key).unwrap());
        self.0.lock().unwrap().push(key.into());
    }

    fn so_far(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Each known key is found by each kind of lookup.
fn assert_finds(seen: &Seen, known: &[String]) {
    for key in known {
        assert!(seen.contains(key).unwrap(), "{key} is missed");
    }
    let found = seen.get_many(known).unwrap();
    assert!(found.iter().all(Option::is_some), "of {known:?}: {found:?}");
}

fn assert_scans(seen: &Seen, known: &[String]) {
    let scanned = keys(seen);
    assert!(scanned.windows(2).all(|pair| pair[0] < pair[1]), "twice");
    for key in known {
        assert!(scanned.contains(&key.clone().into_bytes()), "{key}");
    }
}

/// A store with two runs, of `a` and of `b`.
fn two_runs(memory: &Memory) -> (Seen, Known) {
    let seen = options(memory).open().unwrap();
    let known = Known::default();
    for key in ["a", "b"] {
        known.insert(&seen, key);
        seen.flush().unwrap();
    }
    (seen, known)
}

/// Inserts, flushes and merges, while `beside` runs.
fn writing(seen: &Seen, known: &Known, beside: impl Fn() + Send + Sync) {
    thread::scope(|scope| {
        scope.spawn(|| {
            known.insert(seen, "c");
            seen.flush().unwrap();
            known.insert(seen, "d");
        });
        scope.spawn(|| seen.compact().unwrap());
        scope.spawn(&beside);
    });
}

#[test]
fn a_lookup_misses_no_key_while_views_change() {
    any_schedule(800, || {
        let memory = Memory::default();
        let (seen, known) = two_runs(&memory);
        writing(&seen, &known, || {
            for _ in 0..3 {
                assert_finds(&seen, &known.so_far());
            }
        });
        seen.close().unwrap();
        memory.check();
    });
}

#[test]
fn a_scan_misses_no_key_while_views_change() {
    any_schedule(600, || {
        let memory = Memory::default();
        let (seen, known) = two_runs(&memory);
        writing(&seen, &known, || {
            for _ in 0..2 {
                assert_scans(&seen, &known.so_far());
            }
        });
        seen.close().unwrap();
        memory.check();
    });
}

/// A reader opens and refreshes while files come and go. It never takes an unfinished
/// frame for damage, and knows of everything that was acknowledged before.
#[test]
fn a_refresh_misses_no_key_while_files_come_and_go() {
    any_schedule(800, || {
        let memory = Memory::default();
        let (seen, known) = two_runs(&memory);
        writing(&seen, &known, || {
            let before = known.so_far();
            let reader = options(&memory).open_read_only().unwrap();
            assert_finds(&reader, &before);
            for _ in 0..2 {
                let before = known.so_far();
                reader.refresh().unwrap();
                assert_finds(&reader, &before);
            }
            assert_scans(&reader, &before);
        });
        seen.close().unwrap();
        memory.check();
    });
}

/// Lookups and scans of a reader beside its own refreshes.
#[test]
fn a_readers_lookups_miss_no_key_while_it_refreshes() {
    any_schedule(600, || {
        let memory = Memory::default();
        let (seen, known) = two_runs(&memory);
        known.insert(&seen, "c");
        let reader = options(&memory).open_read_only().unwrap();
        let known_first = known.so_far();
        thread::scope(|scope| {
            scope.spawn(|| {
                known.insert(&seen, "d");
                seen.flush().unwrap();
                seen.compact().unwrap();
            });
            scope.spawn(|| {
                for _ in 0..2 {
                    let before = known.so_far();
                    reader.refresh().unwrap();
                    assert_finds(&reader, &before);
                }
            });
            scope.spawn(|| {
                assert_finds(&reader, &known_first);
                assert_scans(&reader, &known_first);
            });
        });
        seen.close().unwrap();
        memory.check();
    });
}

/// More runs than the policy leaves alone: the store's own threads merge them.
#[test]
fn merges_in_the_background_take_no_key_away() {
    any_schedule(100, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let known = Known::default();
        for i in 0..8 {
            known.insert(&seen, &format!("{i}"));
            seen.flush().unwrap();
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                for key in ["x", "y"] {
                    known.insert(&seen, key);
                    seen.flush().unwrap();
                }
            });
            scope.spawn(|| assert_finds(&seen, &known.so_far()));
            scope.spawn(|| seen.compact().unwrap());
        });
        assert_finds(&seen, &known.so_far());
        assert_scans(&seen, &known.so_far());
        assert!(seen.stats().merges >= 1);
        seen.close().unwrap();
        memory.check();
    });
}
