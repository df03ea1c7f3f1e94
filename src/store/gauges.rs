//! What a store says of itself.

use super::core::{Core, Live, Mode, lock};
use super::view::View;
use crate::error::Error;
use crate::filter::FilterKind;
use crate::record::{Counts, StateKind};
use crate::stats::LookupStats;
use std::sync::atomic::Ordering;

/// A store's counters and sizes at one moment.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Work done by lookups since this handle was opened.
    pub lookup: LookupStats,
    /// URLs recorded.
    pub entries: u64,
    /// Of them, those that came with entries in memtables.
    pub memtable_entries: u64,
    /// URLs recorded, by state. Counting them walks over the entries of memtables.
    pub states: StateStats,
    /// Memtables: the active one and those that wait to be flushed.
    pub memtables: u64,
    /// Runs that a lookup may have to ask.
    pub runs: u64,
    /// Segments of all runs.
    pub segments: u64,
    /// Bytes of segments and logs, as far as they are used: a log may have more
    /// allocated.
    pub disk_bytes: u64,
    /// Of them, bytes of logs.
    pub log_bytes: u64,
    /// Of them, bytes of segments.
    pub segment_bytes: u64,
    /// The filters of all runs together.
    pub filter: FilterStats,
    /// Each run, the newest first.
    pub by_run: Vec<RunStats>,
    /// Bytes of memory.
    pub memory: MemoryStats,
    /// Memtables flushed by this handle.
    pub flushes: u64,
    /// Merges completed by this handle.
    pub merges: u64,
    /// Bytes written by flushes.
    pub flushed_bytes: u64,
    /// Bytes written by merges.
    pub merged_bytes: u64,
    /// Why the last flush or merge failed, if it did. It is tried again.
    pub last_error: Option<Error>,
}

/// The filters of a store.
///
/// Rates are needless block reads for each lookup of an absent key, over all runs together:
/// 0.01 is one in a hundred lookups.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct FilterStats {
    /// How filters of new segments are built.
    pub kind: FilterKind,
    /// The rate that was asked for.
    pub asked: f64,
    /// The rate to be expected of the filters that there are, by the theory of their kinds.
    pub expected: f64,
    /// The rate of this handle's lookups; `None` before it looked up an absent key.
    pub measured: Option<f64>,
    /// Bits for each key in segments; 0 without any.
    pub bits_per_key: f64,
    /// The memory that the store's writer was given, in bytes.
    pub memory: Option<u64>,
    /// The lowest rate that fits this memory, not below the one asked for; `None` without one.
    pub fits: Option<f64>,
    /// The memory that the rate asked for needs, in bytes: for memtables, indexes, filters,
    /// and those that merges make beside them.
    pub needed: u64,
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct RunStats {
    /// Entries, tombstones among them.
    pub entries: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The kind of its filters.
    pub filter: FilterKind,
    /// Bits of its filters for each entry.
    pub filter_bits_per_key: f64,
    /// Its part of the expected rate.
    pub expected: f64,
    /// Its part of the measured rate, since it was made or opened; `None` before this handle
    /// looked up an absent key.
    pub measured: Option<f64>,
}

/// URLs recorded, by state. What has expired counts until a merge has removed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StateStats {
    /// Inserted, and nothing else.
    pub seen: u64,
    /// Claimed; the claim may have run out.
    pub claimed: u64,
    /// Fetched.
    pub fetched: u64,
    /// Failed, to be tried again or not.
    pub failed: u64,
}

impl StateStats {
    fn new(counts: &Counts) -> StateStats {
        StateStats {
            seen: counts.get(StateKind::Seen),
            claimed: counts.get(StateKind::Claimed),
            fetched: counts.get(StateKind::Fetched),
            failed: counts.get(StateKind::Failed),
        }
    }
}

/// Bytes of memory that a store takes, by what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Entries in memtables. A memtable grows up to the size that was chosen with
    /// [`memtable_size`](crate::Builder::memtable_size).
    pub memtables: u64,
    /// Filters of segments.
    pub filters: u64,
    /// Indexes of segments.
    pub indexes: u64,
}

impl Core {
    pub(super) fn stats(&self) -> Stats {
        let view = self.view.load_full();
        let mut stats = Stats {
            lookup: self.counters.sum(),
            entries: view.len(),
            memtable_entries: view.memtables().map(|m| m.changes().0).sum(),
            states: StateStats::new(&view.count_states()),
            memtables: view.memtables().count() as u64,
            runs: view.runs.len() as u64,
            ..Stats::default()
        };
        stats.memory.memtables = view.memtables().map(|m| m.bytes() as u64).sum();
        stats.take_filters(&view);
        let budget = self.budget(&view);
        stats.filter.memory = view.filters.memory;
        stats.filter.fits = budget.fits;
        stats.filter.needed = budget.needed;
        for segment in view.segments() {
            stats.segments += 1;
            stats.segment_bytes += segment.meta().size;
            stats.memory.filters += segment.filter().memory() as u64;
            stats.memory.indexes += segment.memory_index() as u64;
        }
        match &self.mode {
            Mode::Write(writer) => {
                let active = lock(&writer.commit).log.as_ref().map_or(0, |log| log.end());
                let live = writer.live();
                let finished: u64 = live.manifest.logs.iter().filter_map(|l| l.length).sum();
                stats.log_bytes = active + finished;
                stats.take_work(&live);
            }
            Mode::Read(reader) => stats.log_bytes = reader.log_bytes(),
        }
        stats.disk_bytes = stats.segment_bytes + stats.log_bytes;
        stats
    }
}

fn per_key(bytes: u64, keys: u64) -> f64 {
    if keys == 0 {
        return 0.0;
    }
    bytes as f64 * 8.0 / keys as f64
}

impl Stats {
    fn take_filters(&mut self, view: &View) {
        let choice = view.filters;
        let misses = self.lookup.misses();
        let rate = |wasted: u64, misses: u64| (misses > 0).then(|| wasted as f64 / misses as f64);
        self.filter = FilterStats {
            kind: choice.kind,
            asked: choice.rate,
            measured: rate(self.lookup.wasted_reads, misses),
            ..FilterStats::default()
        };
        let (mut bytes, mut keys) = (0, 0);
        for run in &view.runs {
            self.filter.expected += run.rate;
            bytes += run.filter_bytes;
            keys += run.keys;
            self.by_run.push(RunStats {
                entries: run.keys,
                segments: run.segments.len() as u64,
                bytes: run.bytes,
                filter: run.filter_kind(),
                filter_bits_per_key: per_key(run.filter_bytes, run.keys),
                expected: run.rate,
                measured: rate(
                    run.wasted.load(Ordering::Relaxed),
                    misses.saturating_sub(run.born),
                ),
            });
        }
        self.filter.bits_per_key = per_key(bytes, keys);
    }

    fn take_work(&mut self, live: &Live) {
        self.flushes = live.flush.completed;
        self.merges = live.merge.completed;
        self.flushed_bytes = live.flush.bytes;
        self.merged_bytes = live.merge.bytes;
        self.last_error = live
            .flush
            .error
            .clone()
            .or_else(|| live.merge.error.clone());
    }
}
