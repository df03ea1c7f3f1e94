//! What a lookup sees: memtables and runs, from the newest to the oldest.

use crate::codec::Codec;
use crate::error::Result;
use crate::filter::{FilterChoice, FilterKind};
use crate::memtable::Memtable;
use crate::record::{Counts, Expiry, Stored};
use crate::segment::{Found, Segment};
use crate::stats::LookupStats;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A consistent set of memtables and runs. Views are replaced, never changed.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// Counts what makes decisions void that rest on an older view: memtables that were
    /// frozen, and merges that leave out what expired.
    pub(super) rotation: u64,
    pub(super) active: Arc<Memtable>,
    /// Newest first.
    pub(super) frozen: Vec<Arc<Frozen>>,
    /// Newest first.
    pub(super) runs: Vec<Arc<Run>>,
    /// Keys by state, without what memtables change.
    pub(super) counts: Counts,
    pub(super) expiry: Expiry,
    pub(super) filters: FilterChoice,
    pub(super) codec: Codec,
}

/// A memtable that takes no more entries and waits to be flushed.
#[derive(Debug)]
pub(super) struct Frozen {
    pub(super) memtable: Arc<Memtable>,
    /// The log behind it.
    pub(super) log: u64,
    /// The first and last frame in it.
    pub(super) sequences: (u64, u64),
    /// The last position in it.
    pub(super) position: Option<u64>,
}

/// Segments with disjoint key ranges that one flush or merge wrote.
#[derive(Debug)]
pub(super) struct Run {
    /// In the order of keys. Never empty.
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) bytes: u64,
    pub(super) keys: u64,
    /// Bytes of its filters.
    pub(super) filter_bytes: u64,
    /// The share of absent keys for which a block is read, expected of its filters.
    pub(super) rate: f64,
    /// Lookups of this handle that had found nothing when the run came to be.
    pub(super) born: u64,
    /// Lookups since that found nothing, and read a block of this run.
    pub(super) wasted: AtomicU64,
}

impl Run {
    /// `born`: lookups so far that found nothing.
    pub(super) fn new(segments: Vec<Arc<Segment>>, born: u64) -> Arc<Run> {
        let mut run = Run {
            bytes: 0,
            keys: 0,
            filter_bytes: 0,
            rate: 0.0,
            born,
            wasted: AtomicU64::new(0),
            segments,
        };
        // An absent key lies in the range of a segment as often as a present one.
        let mut weighted = 0.0;
        for segment in &run.segments {
            run.bytes += segment.meta().size;
            run.keys += segment.meta().keys;
            run.filter_bytes += segment.filter().memory() as u64;
            weighted += segment.filter().rate() * segment.meta().keys as f64;
        }
        if run.keys > 0 {
            run.rate = weighted / run.keys as f64;
        }
        Arc::new(run)
    }

    /// Whether its keys are coded so.
    pub(super) fn is_of(&self, codec: Codec) -> bool {
        self.segments
            .iter()
            .all(|segment| segment.codec() == Some(codec))
    }

    /// Its size without filters, whose bits for each key differ from run to run.
    pub(super) fn data_bytes(&self) -> u64 {
        let filters: u64 = self
            .segments
            .iter()
            .map(|segment| segment.filter_size())
            .sum();
        self.bytes.saturating_sub(filters)
    }

    /// Bytes of memory for its dictionaries: those of one run are one.
    pub(super) fn dictionary(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.own_dictionary() as u64)
            .sum()
    }

    /// The kind of its filters, as far as they are in memory.
    pub(super) fn filter_kind(&self) -> FilterKind {
        let kinds = self.segments.iter().map(|s| s.filter().kind());
        let mut filters = kinds.filter(|kind| *kind != FilterKind::None);
        filters.next().unwrap_or(FilterKind::None)
    }

    /// The one segment whose key range holds `key`.
    #[inline]
    pub(super) fn segment_for(&self, key: &[u8]) -> Option<&Segment> {
        let segment = match self.segments.as_slice() {
            [only] => only,
            many => many.get(many.partition_point(|s| s.meta().last.as_slice() < key))?,
        };
        segment.covers(key).then_some(segment)
    }
}

impl View {
    /// What is known of `key`, and the work it took to find out.
    #[inline]
    pub(super) fn find(
        &self,
        hash: u64,
        key: &[u8],
        work: &mut LookupStats,
    ) -> Result<Option<Stored>> {
        // The lines that the filters will touch are on their way while the
        // memtables are asked.
        self.prefetch_filters(hash);
        work.lookups += 1;
        if let Some(stored) = self.find_in_memory(hash, key) {
            work.hits += 1;
            work.memtable_hits += 1;
            return Ok(Some(stored));
        }
        self.find_in_runs(0, 0, hash, key, work)
    }

    /// Starts loading what the filters of all runs will look at. In a run of many
    /// segments the key decides which filter that is, later.
    #[inline]
    pub(super) fn prefetch_filters(&self, hash: u64) {
        for run in &self.runs {
            if let [only] = run.segments.as_slice() {
                only.filter().prefetch(hash);
            }
        }
    }

    #[inline]
    pub(super) fn find_in_memory(&self, hash: u64, key: &[u8]) -> Option<Stored> {
        if let Some(stored) = self.active.get(hash, key) {
            return Some(stored);
        }
        for frozen in &self.frozen {
            if let Some(stored) = frozen.memtable.get(hash, key) {
                return Some(stored);
            }
        }
        None
    }

    /// Asks the runs from number `from` on. `wasted` are those of which a block was read
    /// before, one bit each.
    #[inline]
    pub(super) fn find_in_runs(
        &self,
        mut from: usize,
        mut wasted: u64,
        hash: u64,
        key: &[u8],
        work: &mut LookupStats,
    ) -> Result<Option<Stored>> {
        while let Some((place, segment)) = self.next_maybe(from, hash, key, work) {
            if let Some(record) = count(segment.find(key)?, work) {
                return Ok(Some(record));
            }
            wasted |= bit_of(place);
            from = place + 1;
        }
        if wasted != 0 {
            self.count_wasted(wasted, work);
        }
        Ok(None)
    }

    /// Counts the blocks that a lookup read which found nothing.
    #[cold]
    #[inline(never)]
    fn count_wasted(&self, wasted: u64, work: &mut LookupStats) {
        // Those from the 64th on have one bit, which counts once.
        for (place, run) in self.runs.iter().enumerate().take(64) {
            if wasted & bit_of(place) != 0 {
                work.wasted_reads += 1;
                run.wasted.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The first run from number `from` on whose filter does not say no, and its
    /// segment for the key.
    #[inline]
    pub(super) fn next_maybe(
        &self,
        from: usize,
        hash: u64,
        key: &[u8],
        work: &mut LookupStats,
    ) -> Option<(usize, &Segment)> {
        for (place, run) in self.runs.iter().enumerate().skip(from) {
            work.runs_considered += 1;
            match run.segment_for(key) {
                None => work.key_range_skips += 1,
                Some(segment) if !segment.filter().may_contain(hash) => work.filter_skips += 1,
                Some(segment) => return Some((place, segment)),
            }
        }
        None
    }

    /// The run that has the newest version of `key`; `None` if a memtable has it, or
    /// nobody.
    pub(super) fn run_of(&self, hash: u64, key: &[u8]) -> Result<Option<Arc<Run>>> {
        if self.find_in_memory(hash, key).is_some() {
            return Ok(None);
        }
        let mut work = LookupStats::default();
        let mut from = 0;
        while let Some((place, segment)) = self.next_maybe(from, hash, key, &mut work) {
            if segment.find(key)?.record.is_some() {
                return Ok(self.runs.get(place).cloned());
            }
            from = place + 1;
        }
        Ok(None)
    }

    /// Keys in all: those whose newest version is no tombstone.
    pub(super) fn len(&self) -> u64 {
        self.memtables().fold(self.counts.sum(), |len, memtable| {
            let (added, removed) = memtable.changes();
            len.wrapping_add(added).wrapping_sub(removed)
        })
    }

    /// Keys by state.
    pub(super) fn count_states(&self) -> Counts {
        let mut counts = self.counts;
        for memtable in self.memtables() {
            counts = counts.plus(&memtable.count_moves());
        }
        counts
    }

    /// Newest first.
    pub(super) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().map(|frozen| &frozen.memtable))
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.runs.iter().flat_map(|run| &run.segments)
    }
}

/// The bit of a run. There are far fewer than 64, beside merges that fail.
pub(super) fn bit_of(place: usize) -> u64 {
    1 << place.min(63)
}

/// Counts a block read; what it found.
#[inline]
pub(super) fn count(found: Found, work: &mut LookupStats) -> Option<Stored> {
    work.blocks_read += 1;
    work.bytes_read += found.bytes;
    match found.record {
        Some(_) => work.hits += 1,
        None => work.false_positives += 1,
    }
    found.record
}
