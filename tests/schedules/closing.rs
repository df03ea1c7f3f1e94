//! Closing beside everything else. It is always a scope's thread that closes: the
//! scheduler wakes the scope's own when the others end, whatever that waits for.

use super::memory::Memory;
use super::{any_schedule, options};
use seendb::{Error, Result, Seen};
use shuttle::thread;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// What clones of the closed handle did.
#[derive(Debug, Default)]
struct Others {
    closed: AtomicBool,
    recorded: Mutex<Vec<String>>,
}

impl Others {
    /// It worked, or the handle was closed.
    fn note<T>(&self, was_closed: bool, outcome: Result<T>) -> bool {
        match outcome {
            Ok(_) => {
                assert!(!was_closed, "a write after closing");
                true
            }
            Err(Error::Closed { .. }) => false,
            Err(error) => panic!("{error:?}"),
        }
    }

    /// A copy: others may go on while it is used, and want the lock.
    fn so_far(&self) -> Vec<String> {
        self.recorded.lock().unwrap().clone()
    }

    fn insert(&self, seen: &Seen, key: &str) {
        let was_closed = self.closed.load(SeqCst);
        if self.note(was_closed, seen.insert(key)) {
            self.recorded.lock().unwrap().push(key.into());
        }
    }
}

/// When closing returns, what was acknowledged is there, no file is touched any more,
/// and the store is another's.
#[test]
fn nothing_happens_after_closing() {
    any_schedule(1000, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let others = Others::default();
        for key in ["a", "b"] {
            others.insert(&seen, key);
            seen.flush().unwrap();
        }
        let clones = [seen.clone(), seen.clone(), seen.clone()];
        thread::scope(|scope| {
            let [inserts, flushes, merges] = clones;
            let others = &others;
            scope.spawn(move || {
                for key in ["c", "d", "e"] {
                    others.insert(&inserts, key);
                }
            });
            scope.spawn(move || {
                others.insert(&flushes, "f");
                let was_closed = others.closed.load(SeqCst);
                others.note(was_closed, flushes.flush());
            });
            scope.spawn(move || {
                let was_closed = others.closed.load(SeqCst);
                others.note(was_closed, merges.compact());
                // Reads go on.
                for key in ["a", "b"] {
                    assert!(merges.contains(key).unwrap());
                }
            });
            scope.spawn(|| {
                seen.close().unwrap();
                memory.seal();
                others.closed.store(true, SeqCst);
                let reader = options(&memory).open_read_only().unwrap();
                assert_eq!(reader.recovery().logs, 0, "a log is left");
                for key in others.so_far() {
                    assert!(reader.contains(&key).unwrap(), "{key} is gone");
                }
            });
        });
        memory.check();
    });
}

/// Whoever closes, and however many at once: it is closed when any of them returns.
#[test]
fn closing_twice_is_closing() {
    any_schedule(600, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        seen.insert("a").unwrap();
        let clone = seen.clone();
        thread::scope(|scope| {
            for handle in [seen, clone] {
                let memory = &memory;
                scope.spawn(move || {
                    handle.close().unwrap();
                    memory.seal();
                });
            }
        });
        memory.check();
    });
}

/// The next writer opens as soon as the lock is free, and finds everything.
#[test]
fn the_next_writer_takes_over() {
    any_schedule(600, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let others = Others::default();
        for key in ["a", "b"] {
            others.insert(&seen, key);
            seen.flush().unwrap();
        }
        thread::scope(|scope| {
            let [writes, merges] = [seen.clone(), seen.clone()];
            let others = &others;
            scope.spawn(move || {
                for key in ["c", "d"] {
                    others.insert(&writes, key);
                    others.note(false, writes.flush());
                }
            });
            scope.spawn(move || others.note(false, merges.compact()));
            scope.spawn(|| {
                let next = loop {
                    match options(&memory).open() {
                        Ok(next) => break next,
                        Err(Error::Locked { .. }) => thread::yield_now(),
                        Err(error) => panic!("{error:?}"),
                    }
                };
                for key in others.so_far() {
                    assert!(next.contains(&key).unwrap(), "{key} is gone");
                }
                assert!(next.insert("next").unwrap());
                next.close().unwrap();
            });
            scope.spawn(|| seen.close().unwrap());
        });
        let reader = options(&memory).open_read_only().unwrap();
        assert!(reader.contains("next").unwrap());
        let report = reader.verify(&mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
        memory.check();
    });
}
