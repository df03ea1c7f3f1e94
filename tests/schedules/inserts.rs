//! Inserts beside memtables and logs that change.

use super::memory::Memory;
use super::{News, any_schedule, options};
use seendb::{Driver, Writes};
use shuttle::thread;

/// The key may be in the active memtable at the first look, in a frozen one at the
/// commit, in a segment later.
#[test]
fn a_url_is_new_once_while_memtables_are_frozen_and_flushed() {
    any_schedule(1000, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let news = News::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                news.insert(&seen, "a");
                news.insert(&seen, "b");
            });
            scope.spawn(|| {
                news.insert_many(&seen, &["b", "c", "a"]);
                seen.flush().unwrap();
            });
            scope.spawn(|| {
                news.insert(&seen, "a");
                seen.flush().unwrap();
                news.insert(&seen, "c");
            });
        });
        news.check_closed(seen, &memory);
    });
}

/// Writers fill memtables faster than they are flushed, and wait for room.
#[test]
fn a_url_is_new_once_while_writers_wait_for_room() {
    for writes in [any_room_by_maps, any_room_by_calls, any_room_by_hand] {
        any_schedule(400, writes);
    }
}

fn any_room_by_maps() {
    fill(Writes::Map, Driver::Threads);
}

fn any_room_by_calls() {
    fill(Writes::Pwrite, Driver::Threads);
}

fn any_room_by_hand() {
    fill(Writes::Pwrite, Driver::Manual);
}

fn fill(writes: Writes, driver: Driver) {
    let memory = Memory::default();
    let options = options(&memory).writes(writes).driver(driver);
    let seen = options.open().unwrap();
    let news = News::default();
    // Three of them fill a memtable.
    let key = |i: usize| format!("{i:04000}");
    thread::scope(|scope| {
        for first in [0, 4, 8] {
            let (seen, news) = (&seen, &news);
            scope.spawn(move || {
                for i in 0..8 {
                    news.insert(seen, &key((first + i) % 12));
                }
            });
        }
    });
    seen.flush().unwrap();
    // Four memtables were needed. The last flush may not have been counted yet.
    assert!(seen.stats().flushes >= 3);
    news.check_closed(seen, &memory);
}

/// Inserts and flushes of one thread, a merge of another.
#[test]
fn a_url_is_new_once_while_runs_are_merged() {
    any_schedule(600, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let news = News::default();
        for key in ["a", "b"] {
            news.insert(&seen, key);
            seen.flush().unwrap();
        }
        thread::scope(|scope| {
            scope.spawn(|| seen.compact().unwrap());
            for new in ["c", "d"] {
                let (seen, news) = (&seen, &news);
                scope.spawn(move || {
                    for key in ["a", "b", "c", "d"] {
                        news.note(key, seen.insert(key).unwrap());
                    }
                    seen.flush().unwrap();
                    news.insert(seen, new);
                });
            }
        });
        news.check_closed(seen, &memory);
    });
}

/// A batch is seen whole, and positions never go back, whoever applies them.
#[test]
fn a_position_is_applied_once() {
    any_schedule(600, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let applied = std::sync::Mutex::new(Vec::new());
        thread::scope(|scope| {
            for position in [1, 2, 3] {
                let (seen, applied) = (&seen, &applied);
                scope.spawn(move || {
                    let mut batch = seen.batch();
                    batch.insert(format!("a{position}")).unwrap();
                    batch.insert(format!("b{position}")).unwrap();
                    batch.position(position);
                    match seen.apply(batch) {
                        Ok(outcome) => {
                            assert_eq!(outcome.new, [true, true]);
                            assert!(seen.position() >= Some(position));
                            applied.lock().unwrap().push(position);
                        }
                        Err(error) => {
                            assert!(matches!(error, seendb::Error::StalePosition { .. }));
                            assert!(!seen.contains(format!("a{position}")).unwrap());
                        }
                    }
                });
            }
            scope.spawn(|| {
                let count = seen.scan("").unwrap().count();
                assert_eq!(count % 2, 0, "half a batch");
                seen.flush().unwrap();
            });
        });
        let applied = applied.lock().unwrap();
        assert_eq!(seen.position(), applied.iter().max().copied());
        assert_eq!(seen.len(), applied.len() as u64 * 2);
        seen.close().unwrap();
        memory.check();
    });
}
