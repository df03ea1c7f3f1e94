//! What a store says of itself.

use super::core::{Core, Live, Mode, lock};
use crate::error::Error;
use crate::record::{Counts, StateKind};
use crate::stats::LookupStats;

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
    /// Filter bits for each key in segments; 0 without any.
    pub filter_bits_per_key: f64,
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
    /// [`memory`](crate::Builder::memory).
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
        let (mut bits, mut keys) = (0, 0);
        for segment in view.segments() {
            stats.segments += 1;
            stats.segment_bytes += segment.meta().size;
            stats.memory.filters += segment.filter().memory() as u64;
            stats.memory.indexes += segment.memory_index() as u64;
            bits += segment.filter().bits();
            keys += segment.meta().keys;
        }
        if keys > 0 {
            stats.filter_bits_per_key = bits as f64 / keys as f64;
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

impl Stats {
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
