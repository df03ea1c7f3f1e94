//! Opening the runs that a manifest names.

use super::checks::{check_run, check_segment};
use super::plan::QUARTERS;
use super::view::Run;
use crate::error::{Error, Result};
use crate::filter::Room;
use crate::manifest::Manifest;
use crate::options::{Options, reserved_for_memtables};
use crate::segment::{Segment, SegmentRef};
use std::path::Path;
use std::sync::Arc;

/// What there is before runs are opened.
pub(super) struct Opening<'a> {
    pub(super) dir: &'a Path,
    pub(super) options: &'a Options,
    pub(super) manifest: &'a Manifest,
    /// Runs that are open already.
    pub(super) known: &'a [Arc<Run>],
    /// Lookups so far that found nothing.
    pub(super) misses: u64,
    /// Bytes of memory for memtables.
    pub(super) memtables: u64,
}

enum Opened {
    Known(Arc<Segment>),
    New(Box<Segment>),
}

impl Opened {
    fn segment(&self) -> &Segment {
        match self {
            Opened::Known(segment) => segment,
            Opened::New(segment) => segment,
        }
    }
}

impl Opening<'_> {
    /// Opens what is not open yet, without reading a block. All filters are read if there is
    /// room; if not, those of the newest runs, which are small: a run without is asked by
    /// reading its blocks.
    pub(super) fn open(&self) -> Result<Vec<Arc<Run>>> {
        let named = &self.manifest.runs;
        let mut runs: Vec<Vec<Opened>> = named
            .iter()
            .map(|run| self.open_run(run))
            .collect::<Result<_>>()?;
        for run in &runs {
            for opened in run {
                check_segment(self.dir, opened.segment(), self.manifest)?;
            }
            check_run(self.dir, run.iter().map(|opened| opened.segment().meta()))?;
        }
        self.load_filters(&mut runs)?;
        let runs = runs.into_iter().map(|run| self.run(run));
        Ok(runs.collect())
    }

    /// The segments of a run, which have one dictionary.
    fn open_run(&self, named: &[SegmentRef]) -> Result<Vec<Opened>> {
        let mut run: Vec<Opened> = Vec::with_capacity(named.len());
        for named in named {
            let mut opened = self.open_one(named)?;
            if let (Opened::New(segment), Some(first)) = (&mut opened, run.first()) {
                segment.share_dictionary(first.segment());
            }
            run.push(opened);
        }
        Ok(run)
    }

    fn open_one(&self, named: &SegmentRef) -> Result<Opened> {
        let mut known = self.known.iter().flat_map(|run| &run.segments);
        if let Some(segment) = known.find(|segment| segment.meta().named() == *named) {
            return Ok(Opened::Known(segment.clone()));
        }
        let path = self.dir.join(crate::segment::file_name(named.number));
        let Options { env, reads, .. } = self.options;
        Segment::open_without_filter(&env.vfs, &path, self.manifest.store, named, *reads)
            .map(|segment| Opened::New(Box::new(segment)))
    }

    fn load_filters(&self, runs: &mut [Vec<Opened>]) -> Result<()> {
        let indexes = runs.iter().flatten();
        let indexes = indexes.map(|opened| opened.segment().memory_index() as u64);
        let indexes: u64 = indexes.sum();
        let mut room = match self.options.memory {
            None => u64::MAX,
            Some(memory) => {
                // A reader that is open goes on, whatever its store grows to.
                if memory < self.memtables + indexes && self.known.is_empty() {
                    return Err(Error::InvalidOption {
                        option: "memory",
                        expected: format!(
                            "at least {} bytes: {} for this store's indexes, the rest for memtables, \
                             which may be given less with memtable_size",
                            self.memtables + indexes,
                            indexes
                        ),
                        found: memory.to_string(),
                    });
                }
                Room::new(memory, self.memtables, indexes).filters / 4 * QUARTERS
            }
        };
        for opened in runs.iter_mut().flatten() {
            let bytes = match opened {
                Opened::Known(segment) => segment.filter().memory() as u64,
                Opened::New(segment) if segment.filter_size() <= room => {
                    segment.load_filter()?;
                    segment.filter_size()
                }
                Opened::New(_) => 0,
            };
            room = room.saturating_sub(bytes);
        }
        Ok(())
    }

    /// The run as it is known, if it is, so that it goes on counting.
    fn run(&self, opened: Vec<Opened>) -> Arc<Run> {
        let segments: Vec<Arc<Segment>> = opened
            .into_iter()
            .map(|opened| match opened {
                Opened::Known(segment) => segment,
                Opened::New(segment) => Arc::new(*segment),
            })
            .collect();
        let is_same = |run: &&Arc<Run>| {
            let pairs = run.segments.iter().zip(&segments);
            run.segments.len() == segments.len()
                && pairs.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
        };
        match self.known.iter().find(is_same) {
            Some(run) => run.clone(),
            None => Run::new(segments, self.misses),
        }
    }
}

/// Bytes for the memtables of a handle that writes.
pub(super) fn memtables_of(options: &Options) -> u64 {
    reserved_for_memtables(options.memtable_size() as u64)
}
