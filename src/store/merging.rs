//! Fewer runs: merges in the background, and `compact`.
//!
//! Several merges can be in progress, each in pieces. The next piece is always one
//! of the smallest: so a merge that takes hours does not keep new runs, which are
//! small, from being merged, and writers from going on.

use super::commit::Commit;
use super::core::{Core, RunningMerge, Writer, lock};
use super::flush::segment_refs;
use super::view::{Run, View};
use crate::compact::{Candidate, Merge, Purge, next_merge, next_piece};
use crate::error::Result;
use crate::segment::Meta;
use crate::sync::MutexGuard;
use crate::sync::atomic::Ordering;
use std::ops::Range;
use std::sync::Arc;

impl Core {
    /// Begins a merge if the policy wants one, and does a piece of the smallest in
    /// progress; false if there is nothing to do.
    pub(super) fn merge_step(&self, writer: &Writer) -> Result<bool> {
        let mut running = lock(&writer.merging);
        self.check_released(writer)?;
        self.check_lock(writer)?;
        let runs = self.view.load().runs.clone();
        let candidates: Vec<Candidate> = runs
            .iter()
            .map(|run| Candidate {
                bytes: run.data_bytes(),
                merge: running.iter().position(|merge| merge.has(run)),
            })
            .collect();
        if !writer.is_draining()
            && let Some(window) = next_merge(&candidates)
        {
            running.push(self.begin_merge(writer, &runs, window));
        }
        if running.is_empty() {
            // A failure to merge what needs no merging any more is no news.
            writer.live().merge.error = None;
            return Ok(false);
        }
        self.advance_smallest(writer, &mut running)?;
        Ok(true)
    }

    /// Merges all runs that there are into one.
    pub(super) fn merge_all(&self, writer: &Writer) -> Result<()> {
        // Those in progress end first, and meanwhile no other begins.
        writer.draining.fetch_add(1, Ordering::AcqRel);
        let begun = self.begin_to_merge_all(writer);
        writer.draining.fetch_sub(1, Ordering::AcqRel);
        // Under the lock, so that who looked before and is about to wait hears of it.
        drop(writer.live());
        writer.changed.notify_all();
        let inputs = begun?;
        let is_input = |run: &Arc<Run>| inputs.iter().any(|input| Arc::ptr_eq(input, run));
        loop {
            let mut running = lock(&writer.merging);
            self.check_released(writer)?;
            if !self.view.load().runs.iter().any(is_input) {
                return Ok(());
            }
            // This thread goes on with this merge; the background, with the smallest.
            match running
                .iter()
                .position(|merge| inputs.iter().all(|run| merge.has(run)))
            {
                Some(place) => self.advance(writer, &mut running, place)?,
                // The background took the step that failed.
                None => {
                    let error = writer.live().merge.error.clone();
                    drop(running);
                    return error.map_or_else(|| self.merge_all(writer), Err);
                }
            }
        }
    }

    /// The runs whose merge was begun: all; none if there is nothing to merge.
    fn begin_to_merge_all(&self, writer: &Writer) -> Result<Vec<Arc<Run>>> {
        loop {
            let mut running = lock(&writer.merging);
            self.check_released(writer)?;
            if !running.is_empty() {
                self.advance_smallest(writer, &mut running)?;
                continue;
            }
            self.check_lock(writer)?;
            let runs = self.view.load().runs.clone();
            // One alone is rewritten only for what may have expired in it, or for its filters
            // or its codec: none of an older format has one.
            let is_done = |run: &Arc<Run>| {
                let view = self.view.load();
                view.expiry.is_never() && run.is_of(self.codec()) && self.has_its_filters(run)
            };
            if runs.is_empty() || matches!(runs.as_slice(), [only] if is_done(only)) {
                return Ok(Vec::new());
            }
            running.push(self.begin_merge(writer, &runs, 0..runs.len()));
            return Ok(runs);
        }
    }

    fn begin_merge(
        &self,
        writer: &Writer,
        runs: &[Arc<Run>],
        window: Range<usize>,
    ) -> RunningMerge {
        let purge = Purge {
            older: self.older(runs.get(window.end..).unwrap_or_default()),
            expiry: self.view.load().expiry,
            now: self.now(),
        };
        if !purge.expiry.is_never() {
            let mut commit = lock(&writer.commit);
            let _live = writer.live();
            self.turn(&mut commit);
        }
        let inputs = runs.get(window).unwrap_or_default().to_vec();
        let metas = || {
            inputs
                .iter()
                .flat_map(|run| &run.segments)
                .map(|s| s.meta())
        };
        let first = metas().map(|meta| meta.sequences.0).min().unwrap_or(0);
        let last = metas().map(|meta| meta.sequences.1).max().unwrap_or(0);
        let position = metas().filter_map(|meta| meta.position).max();
        let numbers = metas().map(|meta| meta.number).collect();
        let keys = metas().map(|meta| meta.keys).sum();
        let (plan, filter) = self.plan_filters(writer, keys, &inputs);
        let codec = self.codec();
        let mut segments = inputs.iter().flat_map(|run| &run.segments);
        let records = segments.any(|segment| segment.has_records());
        RunningMerge {
            merge: Merge::new(
                inputs.iter().map(|run| run.segments.clone()).collect(),
                self.target((first, last), position, numbers, records, filter, codec),
                purge,
                self.options.piece,
            ),
            bytes: inputs.iter().map(|run| run.bytes).sum(),
            plan,
            inputs,
        }
    }

    fn advance_smallest(&self, writer: &Writer, running: &mut Vec<RunningMerge>) -> Result<()> {
        match next_piece(running.iter().map(|merge| merge.bytes)) {
            Some(place) => self.advance(writer, running, place),
            None => Ok(()),
        }
    }

    /// A piece of a merge; one that fails is given up, and its inputs stay as they are.
    fn advance(
        &self,
        writer: &Writer,
        running: &mut Vec<RunningMerge>,
        place: usize,
    ) -> Result<()> {
        let Some(RunningMerge {
            merge,
            inputs,
            plan,
            ..
        }) = running.get_mut(place)
        else {
            return Ok(());
        };
        let stepped = writer
            .syncer
            .check()
            .and_then(|()| merge.step(&mut || writer.live().take_number()))
            .and_then(|metas| {
                let expired = merge.take_expired();
                self.settle_piece(writer, inputs, merge.purge(), expired)?;
                Ok(metas)
            })
            .and_then(|metas| match metas {
                Some(metas) => self.finish_merge(writer, inputs, *plan, &metas).map(Some),
                None => Ok(None),
            });
        let mut not_loaded = None;
        let bytes = match stepped {
            Ok(None) => return Ok(()),
            Ok(Some(bytes)) => {
                let done = running.swap_remove(place);
                self.end_plan(writer, done.plan);
                // The filters of its inputs go, which may make room for its own.
                drop(done);
                not_loaded = self.load_filters(writer, running).err();
                self.watch();
                Ok(bytes)
            }
            Err(error) => {
                self.abandon_merge(writer, running.swap_remove(place));
                Err(error)
            }
        };
        let mut live = writer.live();
        live.merge.attempts += 1;
        // A filter that could not be loaded undoes no merge.
        live.merge.error = bytes.as_ref().err().cloned().or(not_loaded);
        if let Ok(bytes) = bytes {
            live.merge.completed += 1;
            live.merge.bytes += bytes;
        }
        writer.changed.notify_all();
        bytes.map(drop)
    }

    /// Gives up a merge that is on its way. The inputs stay as they are.
    pub(super) fn abandon_merge(&self, writer: &Writer, running: RunningMerge) {
        lock(&writer.commit).take_expiring(&running.inputs);
        self.end_plan(writer, running.plan);
        // Poisoned: which manifest is in force, and so which files are live, is not
        // known. They stay.
        if writer.syncer.check().is_ok() {
            running.merge.abandon();
        }
    }

    /// Puts the merged run in its inputs' place, then removes their files.
    fn finish_merge(
        &self,
        writer: &Writer,
        inputs: &[Arc<Run>],
        plan: u64,
        metas: &[Meta],
    ) -> Result<u64> {
        let merged = self.open_run(writer, plan, metas)?;
        self.sync_names(writer)?;
        let bytes = merged.as_ref().map_or(0, |run| run.bytes);
        // Only what expired has to do with commits.
        let mut expiring = self.sync_before_expiry(writer, inputs)?;
        let gone = expiring
            .as_mut()
            .and_then(|commit| commit.take_expiring(inputs));
        let mut live = writer.live();
        let view = self.view.load_full();
        let runs = replaced(&view.runs, inputs, merged.as_ref());
        let counts = view.counts.minus(&gone.unwrap_or_default());
        self.edit(writer, &mut live, |manifest| {
            manifest.runs = runs.iter().map(|run| segment_refs(run)).collect();
            manifest.counts = Some(counts);
        })?;
        self.change_view(|view| View {
            runs,
            counts,
            ..view.clone()
        });
        if let Some(commit) = &mut expiring {
            self.turn(commit);
        }
        drop(live);
        drop(expiring);
        // Lookups and readers that hold the old segments keep them open; a name
        // that cannot be removed now is removed at the next opening. The oldest go first:
        // what is left of them buries what was forgotten still, should a repair read it.
        for segment in inputs.iter().rev().flat_map(|run| &run.segments) {
            let path = self
                .dir
                .join(crate::segment::file_name(segment.meta().number));
            let _ = self.options.env.vfs.remove(&path);
        }
        Ok(bytes)
    }
}

impl Core {
    /// Makes durable what took the place of records that a merge of `inputs` has left out: it
    /// must not be lost when they are gone. The commit lock, held; `None` if there are none.
    fn sync_before_expiry<'a>(
        &self,
        writer: &'a Writer,
        inputs: &[Arc<Run>],
    ) -> Result<Option<MutexGuard<'a, Commit>>> {
        let commit = lock(&writer.commit);
        if !commit.has_expiring(inputs) {
            return Ok(None);
        }
        let point = commit.point();
        drop(commit);
        // Once without the lock, so that little is left for the time under it.
        if let Some(point) = point {
            writer.syncer.sync_to(&point)?;
        }
        let commit = lock(&writer.commit);
        if let Some(point) = commit.point() {
            writer.syncer.sync_to(&point)?;
        }
        Ok(Some(commit))
    }
}

impl RunningMerge {
    pub(super) fn has(&self, run: &Arc<Run>) -> bool {
        self.inputs.iter().any(|input| Arc::ptr_eq(input, run))
    }
}

/// `runs` with `merged` in the place of `inputs`, which are neighbours.
fn replaced(runs: &[Arc<Run>], inputs: &[Arc<Run>], merged: Option<&Arc<Run>>) -> Vec<Arc<Run>> {
    let is_input = |run: &Arc<Run>| inputs.iter().any(|input| Arc::ptr_eq(input, run));
    let first = runs.iter().position(is_input);
    let mut result = Vec::with_capacity(runs.len());
    for (place, run) in runs.iter().enumerate() {
        if Some(place) == first {
            result.extend(merged.cloned());
        }
        if !is_input(run) {
            result.push(run.clone());
        }
    }
    result
}
