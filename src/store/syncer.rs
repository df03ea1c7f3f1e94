//! Makes what was appended durable, one sync for all who wait.
//!
//! The syncer also decides when entries become visible that must be durable
//! first: under [`Durability::Immediate`](crate::Durability::Immediate) a reader
//! must not be told of an entry that a power loss could still take away.

use crate::error::{Error, Result};
use crate::memtable::{Mark, Memtable};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::vfs::File;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError};

/// A point in the sequence of frames, and what becomes true once it is synced.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// The last frame before the point.
    pub(super) sequence: u64,
    pub(super) file: Arc<dyn File>,
    pub(super) path: PathBuf,
    /// The log's length at the point.
    pub(super) end: u64,
    /// The log's synced offset, to be raised.
    pub(super) log_synced: Arc<AtomicU64>,
    pub(super) memtable: Arc<Memtable>,
    pub(super) mark: Mark,
    pub(super) position: Option<u64>,
}

/// The positions that consumers of an outside log care for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Positions {
    pub(super) applied: Option<u64>,
    pub(super) durable: Option<u64>,
}

/// Syncs the log and remembers the first failure.
#[derive(Debug)]
pub(super) struct Syncer {
    /// Frames up to this number are durable.
    synced: AtomicU64,
    poison: OnceLock<Arc<Error>>,
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug)]
struct State {
    /// Somebody is syncing.
    syncing: bool,
    /// The furthest point that anybody waits for.
    wanted: Option<Point>,
    positions: Positions,
}

impl Syncer {
    /// Everything up to a frame, and its position, is durable.
    pub(super) fn new(synced: u64, position: Option<u64>) -> Syncer {
        Syncer {
            synced: AtomicU64::new(synced),
            poison: OnceLock::new(),
            state: Mutex::new(State {
                syncing: false,
                wanted: None,
                positions: Positions {
                    applied: position,
                    durable: position,
                },
            }),
            done: Condvar::new(),
        }
    }

    /// The number of the last durable frame.
    pub(super) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// The error for writes after the first failure, if there was one.
    pub(super) fn check(&self) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(cause) => Err(Error::Poisoned {
                cause: cause.clone(),
            }),
        }
    }

    /// Ends writing for good. The first cause is kept. Returns the error for the
    /// operation that met it.
    pub(super) fn poison(&self, cause: Error) -> Error {
        // Under the lock, so that nobody who is about to wait misses it.
        let _state = self.state();
        self.poison_locked(cause)
    }

    fn poison_locked(&self, cause: Error) -> Error {
        let cause = match cause {
            Error::Poisoned { cause } => cause,
            other => Arc::new(other),
        };
        let cause = self.poison.get_or_init(|| cause).clone();
        self.done.notify_all();
        Error::Poisoned { cause }
    }

    /// Notes a position that became visible without waiting for a sync.
    pub(super) fn applied(&self, position: u64) {
        let applied = &mut self.state().positions.applied;
        *applied = (*applied).max(Some(position));
    }

    /// Notes a position that is in segments now.
    pub(super) fn flushed(&self, position: Option<u64>) {
        let durable = &mut self.state().positions.durable;
        *durable = (*durable).max(position);
    }

    pub(super) fn positions(&self) -> Positions {
        self.state().positions
    }

    /// Returns once `point` is durable and visible.
    ///
    /// One caller syncs for all that wait; who comes meanwhile waits for the next
    /// sync, as the present one may have begun before their bytes were there. A
    /// sync that failed is never tried again: the kernel may have dropped the
    /// bytes and call the file clean.
    pub(super) fn sync_to(&self, point: &Point) -> Result<()> {
        let mut state = self.state();
        loop {
            // Before anything else that may have gone wrong: what is durable is
            // visible too, so that an error would be wrong about it.
            if self.synced() >= point.sequence {
                return Ok(());
            }
            self.check()?;
            if state
                .wanted
                .as_ref()
                .is_none_or(|wanted| wanted.sequence < point.sequence)
            {
                state.wanted = Some(point.clone());
            }
            if state.syncing {
                state = self
                    .done
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.syncing = true;
            let target = state.wanted.take().unwrap_or_else(|| point.clone());
            drop(state);
            let outcome = target.file.sync();
            state = self.state();
            state.syncing = false;
            match outcome {
                Ok(()) => {
                    target.log_synced.fetch_max(target.end, Ordering::AcqRel);
                    target.memtable.publish(target.mark);
                    if target.position.is_some() {
                        // Others may have been applied while this sync was on.
                        let applied = &mut state.positions.applied;
                        *applied = (*applied).max(target.position);
                        let durable = &mut state.positions.durable;
                        *durable = (*durable).max(target.position);
                    }
                    self.synced.fetch_max(target.sequence, Ordering::AcqRel);
                    self.done.notify_all();
                }
                // Before the lock is released: nobody may sync again.
                Err(error) => {
                    return Err(self.poison_locked(Error::io("sync", &target.path, error)));
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
