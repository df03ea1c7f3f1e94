//! What all clones of a handle and the background threads share.

use super::commit::Commit;
use super::plan::Planned;
use super::reader::Reader;
use super::syncer::Syncer;
use super::view::View;
use crate::canon::Canon;
use crate::compact::Merge;
use crate::error::{Error, Result, is_out_of_descriptors};
use crate::header::StoreId;
use crate::manifest::{Manifest, SaveError};
use crate::options::Options;
use crate::stats::Counters;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{ArcSwap, Condvar, Mutex, MutexGuard};
use crate::vfs::Lock;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// An unfinished end of a log that opening left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The log.
    pub path: PathBuf,
    /// Where its last whole frame ends, in bytes.
    pub offset: u64,
    /// What is there instead of another frame.
    pub reason: String,
}

/// What opening read from logs: all that had not got into segments before the
/// store was last closed, or its process killed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Recovery {
    /// Logs read.
    pub logs: u64,
    /// Entries found in them.
    pub entries: u64,
    /// Unfinished ends that were left out. What was reported as recorded is
    /// never among them, unless the machine lost power before it was synced.
    pub cuts: Vec<Cut>,
}

/// One open store.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) dir: PathBuf,
    pub(super) options: Options,
    pub(super) canon: Canon,
    pub(super) store: StoreId,
    pub(super) stamps: bool,
    pub(super) seed: u64,
    pub(super) recovery: Recovery,
    pub(super) counters: Counters,
    /// Replaced under the lock of [`Writer::live`], or of [`Reader`]'s state.
    pub(super) view: ArcSwap<View>,
    pub(super) mode: Mode,
    /// The latest time that the clock has told, in seconds: it never runs backwards.
    pub(super) latest: AtomicU64,
    /// The warnings that were given.
    #[cfg(feature = "tracing")]
    pub(super) warned: std::sync::atomic::AtomicU8,
}

/// What a handle may do.
#[derive(Debug)]
pub(super) enum Mode {
    Write(Box<Writer>),
    Read(Reader),
}

/// What only a writing handle has. Locks are taken in the order `flushing` or `merging`,
/// `commit`, `live`.
#[derive(Debug)]
pub(super) struct Writer {
    /// The store's lock, until the handle is closed.
    pub(super) lock: Mutex<Option<Box<dyn Lock>>>,
    /// The right to append.
    pub(super) commit: Mutex<Commit>,
    pub(super) syncer: Syncer,
    /// The epoch of this opening's tokens is in the manifest.
    pub(super) has_epoch: AtomicBool,
    /// No more writes are taken.
    pub(super) closed: AtomicBool,
    pub(super) live: Mutex<Live>,
    /// With `live`: there is work, or room, or the handle is closing.
    pub(super) changed: Condvar,
    /// When [`step`](Core::step) last synced, on the clock of the environment.
    pub(super) last_sync: Mutex<Duration>,
    /// The right to flush.
    pub(super) flushing: Mutex<()>,
    /// The merges in progress.
    pub(super) merging: Mutex<Vec<RunningMerge>>,
    /// Callers that wait for the merges in progress to end: no other begins.
    pub(super) draining: AtomicUsize,
}

/// A merge and the runs that it replaces.
#[derive(Debug)]
pub(super) struct RunningMerge {
    pub(super) merge: Merge,
    pub(super) inputs: Vec<Arc<super::view::Run>>,
    /// Their size.
    pub(super) bytes: u64,
    /// The number of its filters' plan.
    pub(super) plan: u64,
}

/// The manifest in force, and how the background work is doing.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) manifest: Manifest,
    /// Numbers that no file may get: there are others of that name.
    pub(super) taken: BTreeSet<u64>,
    pub(super) closing: bool,
    /// The store's lock was given back: no file may be touched any more.
    pub(super) released: bool,
    pub(super) flush: Work,
    pub(super) merge: Work,
    /// Somebody waits for a flush to be tried, whatever happened before.
    pub(super) flush_wanted: bool,
    /// The filters of runs that are being written.
    pub(super) planned: Vec<Planned>,
    /// How many were ever planned.
    pub(super) plans: u64,
}

/// Counts of one kind of background work.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Times it was tried, successfully or not.
    pub(super) attempts: u64,
    /// Times it was completed.
    pub(super) completed: u64,
    /// Bytes written by those.
    pub(super) bytes: u64,
    /// Why the last attempt failed; cleared by success.
    pub(super) error: Option<Error>,
}

impl Core {
    pub(super) fn writer(&self) -> Result<&Writer> {
        match &self.mode {
            Mode::Write(writer) => Ok(writer),
            Mode::Read(_) => Err(Error::ReadOnly {
                path: self.dir.clone(),
            }),
        }
    }

    pub(super) fn closed(&self) -> Error {
        Error::Closed {
            path: self.dir.clone(),
        }
    }

    /// Refuses writes after closing, and after a failure that ended writing.
    #[inline]
    pub(super) fn check_writable(&self, writer: &Writer) -> Result<()> {
        if writer.closed.load(Ordering::Acquire) {
            return Err(self.closed());
        }
        writer.syncer.check()
    }

    /// Refuses background work after closing: the store may be another's. Who asks
    /// holds the right to flush or to merge, which closing waits for.
    pub(super) fn check_released(&self, writer: &Writer) -> Result<()> {
        if writer.live().released {
            return Err(self.closed());
        }
        Ok(())
    }

    /// The time in seconds.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        let now = self.options.env.now_seconds();
        let latest = self.latest.load(Ordering::Relaxed);
        if now > latest {
            return self.latest.fetch_max(now, Ordering::Relaxed).max(now);
        }
        latest
    }

    /// The time in seconds, and that by which a part of a second has passed as a whole one:
    /// what lasts from then on lasts as long as was asked.
    pub(super) fn now_and_ceiling(&self) -> (u64, u64) {
        let now = self.now();
        (now, now.max(self.options.env.ceiling_seconds()))
    }

    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        crate::filter::hash(self.seed, key)
    }

    /// Ends writing if the store's directory is not the one that was opened.
    pub(super) fn check_lock(&self, writer: &Writer) -> Result<()> {
        writer.syncer.check()?;
        let current = match &*lock(&writer.lock) {
            Some(lock) => lock.is_current(),
            None => return Err(self.closed()),
        };
        match current {
            Ok(true) => Ok(()),
            Ok(false) => {
                let gone = std::io::Error::other("its directory was removed or replaced");
                Err(writer.syncer.poison(Error::io("write to", &self.dir, gone)))
            }
            Err(error) => Err(Error::io("look at the lock of", &self.dir, error)),
        }
    }

    /// Makes the names of new files durable. A failure is not tried again: the next
    /// sync of the directory may say that all is well without having written them.
    pub(super) fn sync_names(&self, writer: &Writer) -> Result<()> {
        writer.syncer.check()?;
        self.options.env.vfs.sync_dir(&self.dir).map_err(|e| {
            let opened = !is_out_of_descriptors(&e);
            let error = Error::io("sync", &self.dir, e);
            if opened {
                writer.syncer.poison(error)
            } else {
                error
            }
        })
    }

    /// Puts a changed manifest in force. If that fails before the new one could
    /// have come into force, nothing changed; otherwise the handle writes no more,
    /// as it cannot know which files are live.
    pub(super) fn edit(
        &self,
        writer: &Writer,
        live: &mut Live,
        change: impl FnOnce(&mut Manifest),
    ) -> Result<()> {
        self.check_lock(writer)?;
        let mut manifest = live.manifest.clone();
        change(&mut manifest);
        match manifest.save(&*self.options.env.vfs, &self.dir) {
            Ok(()) => {
                live.manifest = manifest;
                Ok(())
            }
            Err(SaveError::Unchanged(error)) => Err(error),
            Err(SaveError::Unknown(error)) => Err(writer.syncer.poison(error)),
        }
    }

    /// Replaces the view. The caller holds the lock that guards it.
    pub(super) fn change_view(&self, change: impl FnOnce(&View) -> View) {
        let next = change(&self.view.load());
        self.view.store(Arc::new(next));
    }
}

impl Writer {
    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        lock(&self.live)
    }
}

impl Live {
    /// The number of the next file. Not in the manifest until it is next saved;
    /// a file that no manifest names is removed at the next opening.
    pub(super) fn take_number(&mut self) -> u64 {
        loop {
            let number = self.manifest.next_number;
            self.manifest.next_number += 1;
            if !self.taken.contains(&number) {
                return number;
            }
        }
    }
}

/// Locks, also after a thread panicked: what the locks of this crate guard is
/// valid at every point where a panic could happen.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
