//! What is chosen when a store is created or opened.

use crate::canon::Canon;
use crate::compact::PIECE;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::record::Expiry;
use std::time::Duration;

/// When the store makes its log survive a power loss by itself.
///
/// At every setting, what was reported as recorded survives the process being
/// killed; the setting decides about the machine losing power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Before each call returns. Concurrent callers share one sync.
    Immediate,
    /// At most this long after a write, in the background.
    Interval(Duration),
    /// Only at [`sync`](crate::Seen::sync), at flushes and at closing.
    Manual,
}

impl Default for Durability {
    /// Every second.
    fn default() -> Self {
        Durability::Interval(Duration::from_secs(1))
    }
}

/// How blocks of segments are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reads {
    /// Through a memory map. A block's first use after opening reads it in one
    /// request and verifies its checksum; later uses cost no system call.
    #[default]
    Map,
    /// With a read call each time, verified each time. Slower, and a failing
    /// disk can never raise a signal.
    Pread,
}

/// How frames are written to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Writes {
    /// Through a memory map of blocks that were allocated before, where the file
    /// system overwrites in place; no system call for each frame.
    #[default]
    Map,
    /// With a write call each. A batch costs hardly more, a single insert about
    /// twice as much; a failing disk can never raise a signal.
    Pwrite,
}

/// Who does the background work: flushes, merges, syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Driver {
    /// Threads of the store's own.
    #[default]
    Threads,
    /// The caller, one bounded step at a time, with [`step`](crate::Seen::step).
    /// A write that finds no room takes steps itself.
    Manual,
}

/// The default memory for one memtable.
pub(crate) const DEFAULT_MEMORY: usize = 64 << 20;
/// The least: a memtable must hold any batch, and a batch the longest key. Tests of
/// schedules, with short keys, fill memtables in every one of thousands.
pub(crate) const MIN_MEMORY: usize = if cfg!(shuttle) { 16 << 10 } else { 1 << 20 };
/// The most: places in a memtable are 40-bit, and sizes stay far from that.
pub(crate) const MAX_MEMORY: usize = 64 << 30;
/// The default size at which a run goes on in another segment.
pub(crate) const DEFAULT_SEGMENT_SIZE: u64 = 256 << 20;
/// The default rate of false positives.
pub(crate) const DEFAULT_RATE: f64 = 0.01;

/// The age at which records expire, by state: what was asked for, if anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExpiryOption {
    pub(crate) seen: Option<Option<u64>>,
    pub(crate) fetched: Option<Option<u64>>,
    pub(crate) failed: Option<Option<u64>>,
    /// An age for claims was asked for, which do not expire.
    pub(crate) claimed: bool,
}

impl ExpiryOption {
    /// The store's, as far as nothing else was asked for.
    pub(crate) fn applied_to(self, store: Expiry) -> Expiry {
        Expiry {
            seen: self.seen.unwrap_or(store.seen),
            fetched: self.fetched.unwrap_or(store.fetched),
            failed: self.failed.unwrap_or(store.failed),
        }
    }
}

/// Options as the builder collected them.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// `None`: the store's own, or standard for a new one.
    pub(crate) canon: Option<Canon>,
    /// `None`: the store's own, or true for a new one.
    pub(crate) stamps: Option<bool>,
    pub(crate) expiry: ExpiryOption,
    pub(crate) rate: f64,
    pub(crate) durability: Durability,
    pub(crate) memory: usize,
    pub(crate) segment_size: u64,
    pub(crate) reads: Reads,
    pub(crate) writes: Writes,
    pub(crate) driver: Driver,
    pub(crate) env: Env,
    /// Entries that one piece of a merge takes.
    pub(crate) piece: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            canon: None,
            stamps: None,
            expiry: ExpiryOption::default(),
            rate: DEFAULT_RATE,
            durability: Durability::default(),
            memory: DEFAULT_MEMORY,
            segment_size: DEFAULT_SEGMENT_SIZE,
            reads: Reads::default(),
            writes: Writes::default(),
            driver: Driver::default(),
            env: Env::default(),
            piece: PIECE,
        }
    }
}

impl Options {
    /// Refuses values that cannot work.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |option, expected: String, found: String| {
            Err(Error::InvalidOption {
                option,
                expected,
                found,
            })
        };
        // Written so that a rate that is not a number fails too.
        if !(self.rate >= 1e-6 && self.rate <= 0.5) {
            return wrong(
                "false_positive_rate",
                "a number from 0.000001 to 0.5".into(),
                self.rate.to_string(),
            );
        }
        if !(MIN_MEMORY..=MAX_MEMORY).contains(&self.memory) {
            return wrong(
                "memory",
                format!("{MIN_MEMORY} to {MAX_MEMORY} bytes"),
                self.memory.to_string(),
            );
        }
        if self.segment_size < 64 << 10 {
            return wrong(
                "segment_size",
                "at least 65536 bytes".into(),
                self.segment_size.to_string(),
            );
        }
        if self.durability == Durability::Interval(Duration::ZERO) {
            return wrong(
                "durability",
                "an interval above zero (or Durability::Immediate)".into(),
                "0 s".into(),
            );
        }
        if self.expiry.claimed {
            return wrong(
                "expire_state_after",
                "an age of what is seen, fetched or failed: claims run out by themselves".into(),
                "one of what is claimed".into(),
            );
        }
        let ages = [self.expiry.seen, self.expiry.fetched, self.expiry.failed];
        if ages.into_iter().flatten().flatten().any(|age| age == 0) {
            return wrong(
                "expire_after",
                "more than zero (or none, for never)".into(),
                "0 s".into(),
            );
        }
        Ok(())
    }

    /// The length in bytes at which a log's memtable is frozen although it has room:
    /// batches that add no entry fill logs too.
    pub(crate) fn log_limit(&self) -> u64 {
        self.memory as u64 * 2
    }

    /// The largest batch in bytes: a memtable holds several.
    pub(crate) fn batch_limit(&self) -> usize {
        (self.memory / 4).min(16 << 20)
    }
}
