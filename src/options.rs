//! What is chosen when a store is created or opened.

use crate::canon::Canon;
use crate::codec::Codec;
use crate::compact::PIECE;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::filter::{FilterChoice, FilterKind};
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
pub(crate) const DEFAULT_MEMTABLE: usize = 64 << 20;
/// The least: a memtable must hold any batch, and a batch the longest key. Tests of
/// schedules, with short keys, fill memtables in every one of thousands.
pub(crate) const MIN_MEMTABLE: usize = if cfg!(shuttle) { 16 << 10 } else { 1 << 20 };
/// The most: places in a memtable are 40-bit, and sizes stay far from that.
pub(crate) const MAX_MEMTABLE: usize = 64 << 30;
/// The least memory for all together, and how many times a memtable's it must be.
pub(crate) const MIN_MEMORY: u64 = 8 << 20;
const MEMORY_OF_MEMTABLES: u64 = 4;

/// The size of a memtable for which none was chosen.
pub(crate) fn memtable_for(memory: Option<u64>) -> usize {
    let part = memory.map(|memory| usize::try_from(memory / 8).unwrap_or(usize::MAX));
    part.unwrap_or(DEFAULT_MEMTABLE)
        .clamp(MIN_MEMTABLE, DEFAULT_MEMTABLE)
}

/// Bytes that memtables of one size may take: three of them, and an eighth more each.
pub(crate) fn reserved_for_memtables(memtable: u64) -> u64 {
    (memtable / 8).saturating_mul(27)
}

/// The default size at which a run goes on in another segment.
pub(crate) const DEFAULT_SEGMENT_SIZE: u64 = 128 << 20;
/// The default rate of false positives, and the bounds of what can be asked for.
pub(crate) const DEFAULT_RATE: f64 = 0.01;
pub(crate) const MIN_RATE: f64 = 0.000_001;
pub(crate) const MAX_RATE: f64 = 0.5;

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
    /// `None`: the store's own, or the default for a new one.
    pub(crate) rate: Option<f64>,
    /// `None`: the store's own, or the default for a new one.
    pub(crate) filter: Option<FilterKind>,
    /// `None`: the store's own, or the default for a new one.
    pub(crate) codec: Option<Codec>,
    pub(crate) durability: Durability,
    /// In bytes, for memtables, filters and indexes together.
    pub(crate) memory: Option<u64>,
    /// The bytes of one memtable; `None`: as the memory allows.
    pub(crate) memtable: Option<usize>,
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
            rate: None,
            filter: None,
            codec: None,
            durability: Durability::default(),
            memory: None,
            memtable: None,
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
        if let Some(rate) = self.rate
            && !(MIN_RATE..=MAX_RATE).contains(&rate)
        {
            return wrong(
                "false_positive_rate",
                format!("a number from {MIN_RATE} to {MAX_RATE}"),
                rate.to_string(),
            );
        }
        if let Some(bytes) = self.memtable
            && !(MIN_MEMTABLE..=MAX_MEMTABLE).contains(&bytes)
        {
            return wrong(
                "memtable_size",
                format!("{MIN_MEMTABLE} to {MAX_MEMTABLE} bytes"),
                bytes.to_string(),
            );
        }
        let least = MIN_MEMORY.max(self.memtable_size() as u64 * MEMORY_OF_MEMTABLES);
        if let Some(memory) = self.memory
            && memory < least
        {
            return wrong(
                "memory",
                format!("at least {least} bytes: four times what a memtable takes, and 8 MiB"),
                memory.to_string(),
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

    /// The bytes of one memtable. Of a memory that was chosen, three and what they may take
    /// beyond their size are less than half.
    pub(crate) fn memtable_size(&self) -> usize {
        self.memtable.unwrap_or_else(|| memtable_for(self.memory))
    }

    /// What is chosen for filters: the kind and rate that were asked for, else the store's; and
    /// the memory of this opening.
    pub(crate) fn filters(&self, store: FilterChoice) -> FilterChoice {
        FilterChoice {
            kind: self.filter.unwrap_or(store.kind),
            rate: self.rate.unwrap_or(store.rate),
            memory: self.memory,
            memtable: self.memtable_size() as u64,
        }
    }

    /// The length in bytes at which a log's memtable is frozen although it has room:
    /// batches that add no entry fill logs too.
    pub(crate) fn log_limit(&self) -> u64 {
        self.memtable_size() as u64 * 2
    }

    /// The largest batch in bytes: a memtable holds several.
    pub(crate) fn batch_limit(&self) -> usize {
        (self.memtable_size() / 4).min(16 << 20)
    }
}
