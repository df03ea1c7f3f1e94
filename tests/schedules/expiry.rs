//! Keys that expired come back while merges leave them out, two entries a piece.

use super::memory::Memory;
use super::{any_schedule, options_at};
use crate::support::{SetClock, at, keys};
use seendb::{Builder, Claim, Durability, Seen, State};
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const AGE: Duration = Duration::from_secs(10);
const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn aged(memory: &Memory, clock: &Arc<SetClock>) -> Builder {
    options_at(memory, clock).expire_after(AGE)
}

/// A store with two runs, in which all keys have just expired.
fn expired(memory: &Memory, clock: &Arc<SetClock>) -> Seen {
    let seen = aged(memory, clock).open().unwrap();
    for half in KEYS.chunks(3) {
        seen.insert_many(half).unwrap();
        seen.flush().unwrap();
    }
    clock.set(10);
    seen
}

/// The store counts what it finds, once everything is merged and before.
fn check(seen: &Seen, expected: &[&str]) {
    let expected: Vec<_> = expected.iter().map(|key| key.as_bytes()).collect();
    assert_eq!(keys(seen), expected);
    assert!(seen.len() >= expected.len() as u64);
    seen.compact().unwrap();
    assert_eq!(seen.len(), expected.len() as u64);
    assert_eq!(keys(seen), expected);
}

/// Inserted, claimed, set and forgotten, below and above the merge's frontier.
#[test]
fn a_count_is_exact_when_keys_come_back_during_a_merge() {
    any_schedule(800, || {
        let memory = Memory::default();
        let clock = Arc::new(SetClock::default());
        let seen = expired(&memory, &clock);
        let new = AtomicU64::new(0);
        let insert = |key| new.fetch_add(u64::from(seen.insert(key).unwrap()), SeqCst);
        thread::scope(|scope| {
            scope.spawn(|| seen.compact().unwrap());
            scope.spawn(|| {
                insert("a");
                let claim = seen.claim("d", "me", AGE).unwrap();
                assert!(matches!(claim, Claim::Granted(lease) if lease.attempts() == 1));
                insert("f");
            });
            scope.spawn(|| {
                insert("f");
                assert!(!seen.forget("c").unwrap(), "it has expired");
                let state = State::Fetched {
                    at: at(10),
                    status: 200,
                    content: None,
                };
                assert!(seen.put("b", state).unwrap());
                insert("a");
                assert!(seen.forget("b").unwrap());
            });
        });
        assert_eq!(new.load(SeqCst), 2);
        check(&seen, &["a", "d", "f"]);
        seen.close().unwrap();
        check(&aged(&memory, &clock).open().unwrap(), &["a", "d", "f"]);
        memory.check();
    });
}

/// What came back is flushed, and merged, beside the merge that left it out.
#[test]
fn a_count_is_exact_when_memtables_change_during_a_merge() {
    any_schedule(600, || {
        let memory = Memory::default();
        let clock = Arc::new(SetClock::default());
        let seen = expired(&memory, &clock);
        thread::scope(|scope| {
            scope.spawn(|| seen.compact().unwrap());
            scope.spawn(|| {
                assert_eq!(seen.insert_many(&["a", "e"]).unwrap(), [true, true]);
                seen.flush().unwrap();
                assert!(seen.forget("a").unwrap());
                seen.compact().unwrap();
            });
            scope.spawn(|| {
                assert!(seen.insert("c").unwrap());
                seen.flush().unwrap();
                assert!(!seen.insert("c").unwrap());
            });
        });
        check(&seen, &["c", "e"]);
        seen.close().unwrap();
        check(&aged(&memory, &clock).open().unwrap(), &["c", "e"]);
        memory.check();
    });
}

/// They expire in a memtable, which is flushed and merged while an insert is under way that
/// found them there.
#[test]
fn a_count_is_exact_when_what_expired_is_flushed_and_merged() {
    any_schedule(2000, || {
        let memory = Memory::default();
        let clock = Arc::new(SetClock::default());
        let seen = aged(&memory, &clock).open().unwrap();
        seen.insert_many(&KEYS).unwrap();
        clock.set(10);
        thread::scope(|scope| {
            scope.spawn(|| seen.compact().unwrap());
            for half in KEYS.chunks(3) {
                let seen = &seen;
                scope.spawn(move || {
                    for key in half {
                        assert!(seen.insert(key).unwrap());
                    }
                });
            }
        });
        check(&seen, &KEYS);
        seen.close().unwrap();
        memory.check();
    });
}

/// The count and the runs come into force together, and with them what took the place of
/// what had expired: a power cut leaves no key that counts and is nowhere.
#[test]
fn a_count_is_exact_after_a_power_cut_at_a_merge() {
    any_schedule(600, || {
        let memory = Memory::default();
        let clock = Arc::new(SetClock::default());
        let seen = expired(&memory, &clock);
        let cut = || {
            let left = memory.after_a_power_cut();
            let left = aged(&left, &clock).open().unwrap();
            left.compact().unwrap();
            assert_eq!(left.len(), keys(&left).len() as u64);
            left
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                seen.compact().unwrap();
                cut();
            });
            scope.spawn(|| {
                assert!(seen.insert("a").unwrap());
                cut();
                let mut batch = seen.batch();
                batch.insert("d").unwrap();
                batch.durability(Durability::Immediate);
                assert_eq!(seen.apply(batch).unwrap().new, [true]);
                let left = cut();
                assert!(left.contains("a").unwrap() && left.contains("d").unwrap());
            });
        });
        check(&seen, &["a", "d"]);
        seen.close().unwrap();
        memory.check();
    });
}
