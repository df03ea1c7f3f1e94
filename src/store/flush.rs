//! From frozen memtables to segments.
//!
//! In this order, each step durable before the next: the segments and their
//! names; the manifest that names them and no longer the log; then the log's file
//! is removed. A crash between any two leaves either the log or the segments in
//! force, never both and never none.

use super::core::{Core, Writer, lock};
use super::view::{Frozen, Run, View};
use crate::codec::Codec;
use crate::compact::{Fate, Older, RunWriter, STOP_RUNS, Target, coder_for, delay};
use crate::error::{Error, Result};
use crate::filter::FilterPlan;
use crate::options::Driver;
use crate::segment::{Meta, Segment, SegmentRef, allowed};
use crate::sync::thread;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Frozen memtables that may wait for their flush before writers do.
pub(super) const MAX_FROZEN: usize = 2;

impl Core {
    /// Flushes the oldest frozen memtable; false if there is none.
    pub(super) fn flush_step(&self, writer: &Writer) -> Result<bool> {
        let _turn = lock(&writer.flushing);
        self.check_released(writer)?;
        let Some(frozen) = self.view.load().frozen.last().cloned() else {
            return Ok(false);
        };
        let flushed = self
            .check_lock(writer)
            .and_then(|()| self.flush_frozen(writer, &frozen));
        let mut live = writer.live();
        live.flush.attempts += 1;
        live.flush_wanted = false;
        live.flush.error = flushed.as_ref().err().cloned();
        if let Ok(bytes) = flushed {
            live.flush.completed += 1;
            live.flush.bytes += bytes;
        }
        writer.changed.notify_all();
        flushed.map(|_| true)
    }

    /// Writes the memtable's run and puts it in force; the bytes written.
    fn flush_frozen(&self, writer: &Writer, frozen: &Arc<Frozen>) -> Result<u64> {
        let records = self.stamps || frozen.memtable.has_tombstones();
        let places = frozen.memtable.sorted(b"");
        let (plan, filter) = self.plan_filters(writer, places.len() as u64, &[]);
        let codec = self.codec().of_flush();
        let mut run_writer = RunWriter::new(self.target(
            frozen.sequences,
            frozen.position,
            Vec::new(),
            records,
            filter,
            codec,
        ));
        let written = self
            .write_run(writer, frozen, places, &mut run_writer)
            .and_then(|metas| self.open_run(writer, plan, &metas))
            .and_then(|run| {
                self.sync_names(writer)?;
                self.swap_in(writer, frozen, run.as_ref())?;
                Ok(run.map_or(0, |run| run.bytes))
            });
        self.end_plan(writer, plan);
        match written {
            Ok(bytes) => {
                self.watch();
                // If this fails, the next opening removes it: nothing names it.
                let path = self.dir.join(crate::log::file_name(frozen.log));
                let _ = self.options.env.vfs.remove(&path);
                Ok(bytes)
            }
            Err(error) => {
                // Poisoned: which manifest is in force, and so which files are
                // live, is not known. They stay.
                if writer.syncer.check().is_ok() {
                    run_writer.abandon();
                }
                Err(error)
            }
        }
    }

    fn write_run(
        &self,
        writer: &Writer,
        frozen: &Frozen,
        places: Vec<u64>,
        run_writer: &mut RunWriter,
    ) -> Result<Vec<Meta>> {
        let mut number = || writer.live().take_number();
        // All that is older is in these runs, or comes from them.
        let older = self.older(&self.view.load().runs);
        run_writer.code_with(coder_for(run_writer, places.len() as u64, |from| {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let places = places.get(from..).unwrap_or_default();
            let entries = places.iter().map(|&place| frozen.memtable.entry(place));
            entries.map_while(|entry| entry.map(|entry| entry.key))
        }));
        for place in places {
            let Some(entry) = frozen.memtable.entry(place) else {
                continue;
            };
            let stored = entry.stored();
            if older.fate(entry.key, &stored) == Fate::Kept {
                run_writer.add(entry.key, stored, &mut number)?;
            }
        }
        run_writer.finish()
    }

    /// Opens the segments that were written; `None` if there are none. Filters are left on disk
    /// for which there is no room yet, beside those of runs that are about to go.
    pub(super) fn open_run(
        &self,
        writer: &Writer,
        plan: u64,
        metas: &[Meta],
    ) -> Result<Option<Arc<Run>>> {
        let mut room = self.room_for_filters(writer, plan);
        let mut segments: Vec<Arc<Segment>> = Vec::with_capacity(metas.len());
        for meta in metas {
            let mut segment = self.open_without_filter(&meta.named())?;
            if segment.filter_size() <= room {
                segment.load_filter()?;
                room -= segment.filter_size();
            }
            if let Some(first) = segments.first() {
                segment.share_dictionary(first);
            }
            segments.push(Arc::new(segment));
        }
        Ok((!segments.is_empty()).then(|| Run::new(segments, self.counters.sum().misses())))
    }

    fn open_without_filter(&self, named: &SegmentRef) -> Result<Segment> {
        let path = self.dir.join(crate::segment::file_name(named.number));
        let options = &self.options;
        Segment::open_without_filter(&options.env.vfs, &path, self.store, named, options.reads)
    }

    /// Puts the run in the memtable's place, in the manifest and in the view.
    fn swap_in(&self, writer: &Writer, frozen: &Arc<Frozen>, run: Option<&Arc<Run>>) -> Result<()> {
        let moves = frozen.memtable.count_moves();
        let mut live = writer.live();
        let counts = self.view.load().counts.plus(&moves);
        self.edit(writer, &mut live, |manifest| {
            manifest.counts = Some(counts);
            manifest.logs.retain(|log| log.number != frozen.log);
            manifest.sequence = frozen.sequences.1 + 1;
            manifest.position = frozen.position.or(manifest.position);
            if let Some(run) = run {
                manifest.runs.insert(0, segment_refs(run));
            }
        })?;
        writer.syncer.flushed(frozen.position);
        self.change_view(|view| View {
            frozen: without(&view.frozen, frozen),
            runs: run
                .cloned()
                .into_iter()
                .chain(view.runs.iter().cloned())
                .collect(),
            counts,
            ..view.clone()
        });
        Ok(())
    }

    /// What runs may hold that are older than one to be written.
    pub(super) fn older(&self, runs: &[Arc<Run>]) -> Older {
        let segments = runs.iter().map(|run| run.segments.clone());
        Older::new(segments.collect(), self.seed)
    }

    /// How keys are coded now.
    pub(super) fn codec(&self) -> Codec {
        allowed(self.view.load().codec, self.options.memory)
    }

    /// Where a new run goes.
    pub(super) fn target(
        &self,
        sequences: (u64, u64),
        position: Option<u64>,
        inputs: Vec<u64>,
        records: bool,
        filter: FilterPlan,
        codec: Codec,
    ) -> Target {
        Target {
            vfs: self.options.env.vfs.clone(),
            dir: self.dir.clone(),
            store: self.store,
            seed: self.seed,
            policy: self.canon.text().to_string(),
            stamps: self.stamps,
            records,
            filter,
            codec,
            is_sampled: true,
            segment_size: self.options.segment_size,
            sequences,
            position,
            inputs,
        }
    }

    /// Returns when another memtable may be frozen: at once, or after a flush or
    /// merge made room. If the flush fails, that error is the answer.
    pub(super) fn wait_for_room(&self, writer: &Writer) -> Result<()> {
        self.slow_down(writer);
        let tried = writer.live().flush.attempts;
        loop {
            writer.syncer.check()?;
            // Under the lock: who makes room must not do so between the look and the wait.
            let mut live = writer.live();
            let view = self.view.load();
            let flush_first = view.frozen.len() >= MAX_FROZEN;
            if !flush_first && view.runs.len() < STOP_RUNS {
                return Ok(());
            }
            if self.options.driver == Driver::Manual {
                drop(live);
                if flush_first {
                    self.flush_step(writer)?;
                } else if !matches!(self.merge_step(writer), Ok(true)) {
                    // As below: a merge that fails does not stop writers.
                    return Ok(());
                }
                continue;
            }
            if live.closing {
                return Err(Error::Closed {
                    path: self.dir.clone(),
                });
            }
            if flush_first
                && live.flush.attempts > tried
                && let Some(error) = &live.flush.error
            {
                return Err(error.clone());
            }
            // While merges fail, for want of room say, more runs than usual make
            // lookups slower, not wrong: writers go on.
            if !flush_first && live.merge.error.is_some() {
                return Ok(());
            }
            // Once: writers that wait must not keep waking one another.
            if flush_first && !live.flush_wanted {
                live.flush_wanted = true;
                writer.changed.notify_all();
            }
            // The time bound guards against a wake-up that was missed only.
            drop(
                writer
                    .changed
                    .wait_timeout(live, Duration::from_millis(100))
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
    }

    /// When merges fall behind, a writer that fills a memtable is slowed.
    fn slow_down(&self, writer: &Writer) {
        let delay = delay(self.view.load().runs.len());
        // Waiting is of no use while merges fail.
        let failing = writer.live().merge.error.is_some();
        if !delay.is_zero() && !failing && self.options.driver == Driver::Threads {
            thread::sleep(delay);
        }
    }
}

/// A run as the manifest names it.
pub(super) fn segment_refs(run: &Run) -> Vec<SegmentRef> {
    run.segments
        .iter()
        .map(|segment| segment.meta().named())
        .collect()
}

fn without(frozen: &[Arc<Frozen>], gone: &Arc<Frozen>) -> Vec<Arc<Frozen>> {
    frozen
        .iter()
        .filter(|one| !Arc::ptr_eq(one, gone))
        .cloned()
        .collect()
}
