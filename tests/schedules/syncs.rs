//! `Durability::Immediate`: answers rest on what is durable, and callers share syncs.

use super::memory::Memory;
use super::{any_schedule, options};
use seendb::{Driver, Durability, Seen};
use shuttle::thread;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The key is there after a power cut at this moment.
fn assert_durable(memory: &Memory, key: &str) {
    let after = memory.after_a_power_cut();
    let seen = options(&after).open_read_only().unwrap();
    assert!(seen.contains(key).unwrap(), "{key} was not durable");
}

/// Inserts, whatever the answer; then it holds.
fn insert(seen: &Seen, memory: &Memory, key: &str) -> bool {
    let new = seen.insert(key).unwrap();
    assert_durable(memory, key);
    new
}

#[test]
fn an_answer_rests_on_durable_entries() {
    any_schedule(600, || {
        let memory = Memory::default();
        let immediate = options(&memory).durability(Durability::Immediate);
        let seen = immediate.open().unwrap();
        let new = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| new.fetch_add(u64::from(insert(&seen, &memory, "a")), SeqCst));
            scope.spawn(|| {
                new.fetch_add(u64::from(insert(&seen, &memory, "a")), SeqCst);
                insert(&seen, &memory, "b");
            });
            scope.spawn(|| {
                for key in ["a", "b"] {
                    if seen.contains(key).unwrap() {
                        assert_durable(&memory, key);
                    }
                }
                seen.flush().unwrap();
            });
            scope.spawn(|| {
                // As by another process.
                let reader = options(&memory).open_read_only().unwrap();
                if reader.contains("a").unwrap() {
                    assert_durable(&memory, "a");
                }
            });
            scope.spawn(|| {
                let found: Vec<_> = seen.scan("").unwrap().collect();
                for entry in found {
                    assert_durable(&memory, std::str::from_utf8(&entry.unwrap().0).unwrap());
                }
            });
        });
        assert_eq!(new.load(SeqCst), 1);
        assert_eq!(seen.len(), 2);
        seen.close().unwrap();
        memory.check();
    });
}

/// A batch raised above its store rests on all before it, too, and hides none of them.
#[test]
fn a_raised_batch_is_durable_with_all_before_it() {
    any_schedule(600, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        thread::scope(|scope| {
            for key in ["a", "b"] {
                let seen = &seen;
                scope.spawn(move || {
                    assert!(seen.insert(key).unwrap());
                    assert!(!seen.insert(key).unwrap());
                    assert!(seen.contains(key).unwrap());
                });
            }
            scope.spawn(|| {
                let before: Vec<_> = seen.scan("").unwrap().collect();
                let mut batch = seen.batch();
                batch.insert("raised").unwrap();
                batch.position(7).durability(Durability::Immediate);
                seen.apply(batch).unwrap();
                assert_eq!(seen.durable_position(), Some(7));
                assert_durable(&memory, "raised");
                for entry in before {
                    assert_durable(&memory, std::str::from_utf8(&entry.unwrap().0).unwrap());
                }
            });
        });
        seen.close().unwrap();
        memory.check();
    });
}

/// [`Memory`] checks that no two syncs of a log are on at once. So who comes while one
/// is on shares the next: a schedule is found in which six inserts need two.
#[test]
fn callers_share_syncs() {
    static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);
    static MOST: AtomicU64 = AtomicU64::new(0);
    any_schedule(400, || {
        let memory = Memory::default();
        let options = options(&memory)
            .durability(Durability::Immediate)
            .driver(Driver::Manual);
        let seen = options.open().unwrap();
        seen.insert("first").unwrap();
        let before = memory.log_syncs();
        thread::scope(|scope| {
            for i in 0..6 {
                let seen = &seen;
                scope.spawn(move || assert!(seen.insert(format!("{i}")).unwrap()));
            }
        });
        let syncs = memory.log_syncs() - before;
        LEAST.fetch_min(syncs, SeqCst);
        MOST.fetch_max(syncs, SeqCst);
        memory.check();
        seen.close().unwrap();
    });
    let (least, most) = (LEAST.load(SeqCst), MOST.load(SeqCst));
    println!("six inserts need {least} to {most} syncs");
    assert!(least <= 2 && most <= 6, "{least} to {most}");
}

/// What `sync` was called after is durable when it returns, beside others that sync.
#[test]
fn a_sync_covers_all_before_it() {
    any_schedule(600, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        thread::scope(|scope| {
            for keys in [["a", "b"], ["c", "d"]] {
                let (seen, memory) = (&seen, &memory);
                scope.spawn(move || {
                    for key in keys {
                        seen.insert(key).unwrap();
                        seen.sync().unwrap();
                        assert_durable(memory, key);
                    }
                });
            }
            scope.spawn(|| seen.flush().unwrap());
        });
        seen.close().unwrap();
        memory.check();
    });
}
