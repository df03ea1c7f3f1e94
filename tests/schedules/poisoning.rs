//! A sync of a log that fails: writing ends, for everybody and for good; reads go on.

use super::memory::Memory;
use super::{any_schedule, options};
use crate::support::{EIO, is_poisoned};
use seendb::{Durability, Error, Seen};
use shuttle::thread;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// What became of operations.
#[derive(Debug, Default)]
struct Told {
    /// Somebody was told that writing has ended.
    poisoned: AtomicBool,
    recorded: Mutex<Vec<String>>,
    refused: Mutex<Vec<String>>,
}

impl Told {
    /// An error must be that writing has ended; and then nothing more is taken.
    fn note<T>(&self, outcome: Result<T, Error>, was_poisoned: bool) -> bool {
        match outcome {
            Ok(_) => {
                assert!(!was_poisoned, "a write after writing had ended");
                true
            }
            Err(error) => {
                assert!(is_poisoned(&error, EIO), "{error:?}");
                self.poisoned.store(true, SeqCst);
                false
            }
        }
    }

    fn insert(&self, seen: &Seen, key: &str) {
        let was_poisoned = self.poisoned.load(SeqCst);
        let told = match self.note(seen.insert(key), was_poisoned) {
            true => &self.recorded,
            false => &self.refused,
        };
        told.lock().unwrap().push(key.into());
    }

    fn sync(&self, seen: &Seen) {
        let was_poisoned = self.poisoned.load(SeqCst);
        self.note(seen.sync(), was_poisoned);
    }

    fn flush(&self, seen: &Seen) {
        let was_poisoned = self.poisoned.load(SeqCst);
        self.note(seen.flush(), was_poisoned);
    }

    /// The handle goes on answering, and what it answered is true.
    fn check(&self, seen: &Seen) {
        // A copy: others may go on meanwhile, and want the lock.
        let recorded = self.recorded.lock().unwrap().clone();
        for key in recorded {
            assert!(seen.contains(&key).unwrap(), "{key} is gone");
        }
    }
}

#[test]
fn nobody_is_answered_after_a_failed_sync() {
    any_schedule(1000, || {
        let memory = Memory::default();
        let options_here = || options(&memory).durability(Durability::Immediate);
        let seen = options_here().open().unwrap();
        let told = Told::default();
        told.insert(&seen, "first");
        thread::scope(|scope| {
            for keys in [["a", "b"], ["c", "d"], ["e", "f"]] {
                let (seen, told) = (&seen, &told);
                scope.spawn(move || {
                    for key in keys {
                        told.insert(seen, key);
                    }
                });
            }
            scope.spawn(|| memory.fail_log_syncs());
            scope.spawn(|| told.check(&seen));
        });
        told.insert(&seen, "last");
        assert!(memory.has_failed(), "the last insert needed a sync");
        told.sync(&seen);
        told.check(&seen);
        for key in told.refused.lock().unwrap().iter() {
            // What was refused is absent in this handle.
            assert!(!seen.contains(key).unwrap(), "{key} was refused");
        }
        told.note(seen.close(), true);
        memory.check();
        // And what was acknowledged survives the power's going.
        let after = memory.after_a_power_cut();
        told.check(&options(&after).open_read_only().unwrap());
    });
}

/// Syncs that were asked for, and those of freezing a memtable.
#[test]
fn nothing_is_written_after_a_failed_sync() {
    any_schedule(1000, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        let told = Told::default();
        told.insert(&seen, "first");
        thread::scope(|scope| {
            scope.spawn(|| {
                told.insert(&seen, "a");
                told.sync(&seen);
                told.insert(&seen, "b");
            });
            scope.spawn(|| {
                told.insert(&seen, "c");
                told.flush(&seen);
                told.insert(&seen, "d");
            });
            scope.spawn(|| {
                memory.fail_log_syncs();
                told.sync(&seen);
                told.insert(&seen, "e");
            });
            scope.spawn(|| told.check(&seen));
        });
        told.check(&seen);
        let outcome = seen.close();
        assert_eq!(outcome.is_err(), memory.has_failed());
        memory.check();
        // The process died, say: all of it is in the page cache.
        told.check(&options(&memory).open_read_only().unwrap());
    });
}
