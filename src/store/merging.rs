//! Fewer runs: merges in the background, and `compact`.

use super::core::{Core, RunningMerge, Writer, lock};
use super::flush::segment_refs;
use super::view::{Run, View};
use crate::compact::{Merge, RunCursor, next_merge};
use crate::error::Result;
use crate::segment::Meta;
use std::ops::Range;
use std::sync::Arc;

impl Core {
    /// Does a piece of the merge in progress, or begins one if the policy wants
    /// it; false if there is nothing to do.
    pub(super) fn merge_step(&self, writer: &Writer) -> Result<bool> {
        let mut running = lock(&writer.merging);
        self.check_released(writer)?;
        if running.is_none() {
            writer.syncer.check()?;
            let runs = self.view.load().runs.clone();
            let sizes: Vec<u64> = runs.iter().map(|run| run.bytes).collect();
            let Some(window) = next_merge(&sizes) else {
                // A failure to merge what needs no merging any more is no news.
                writer.live().merge.error = None;
                return Ok(false);
            };
            *running = Some(self.begin_merge(&runs, window));
        }
        self.advance_merge(writer, &mut running)?;
        Ok(true)
    }

    /// Merges all runs that there are into one.
    pub(super) fn merge_all(&self, writer: &Writer) -> Result<()> {
        // A merge of some of them may be on its way.
        loop {
            let mut running = lock(&writer.merging);
            if running.is_none() {
                break;
            }
            self.advance_merge(writer, &mut running)?;
        }
        let mut inputs = Vec::new();
        loop {
            let mut running = lock(&writer.merging);
            self.check_released(writer)?;
            if inputs.is_empty() {
                if running.is_none() {
                    writer.syncer.check()?;
                    let runs = self.view.load().runs.clone();
                    if runs.len() < 2 {
                        return Ok(());
                    }
                    inputs = runs.clone();
                    let window = 0..runs.len();
                    *running = Some(self.begin_merge(&runs, window));
                }
            } else {
                // The background may have taken the last steps, or given up.
                let view = self.view.load();
                let left = |run: &Arc<Run>| view.runs.iter().any(|r| Arc::ptr_eq(r, run));
                if running.is_none() {
                    if !inputs.iter().any(left) {
                        return Ok(());
                    }
                    inputs.clear();
                    continue;
                }
            }
            self.advance_merge(writer, &mut running)?;
        }
    }

    fn begin_merge(&self, runs: &[Arc<Run>], window: Range<usize>) -> RunningMerge {
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
        let cursors = inputs
            .iter()
            .map(|run| RunCursor::new(&run.segments))
            .collect();
        RunningMerge {
            merge: Merge::new(cursors, self.target((first, last), position, numbers)),
            inputs,
        }
    }

    /// One step; a merge that fails is given up, and its inputs stay as they are.
    fn advance_merge(&self, writer: &Writer, running: &mut Option<RunningMerge>) -> Result<()> {
        let Some(RunningMerge { merge, inputs }) = running else {
            return Ok(());
        };
        let stepped = writer
            .syncer
            .check()
            .and_then(|()| merge.step(&mut || writer.live().take_number()))
            .and_then(|metas| match metas {
                Some(metas) => self.finish_merge(writer, inputs, &metas).map(Some),
                None => Ok(None),
            });
        match stepped {
            Ok(None) => Ok(()),
            Ok(Some(bytes)) => {
                *running = None;
                let mut live = writer.live();
                live.merge.attempts += 1;
                live.merge.completed += 1;
                live.merge.bytes += bytes;
                live.merge.error = None;
                writer.changed.notify_all();
                Ok(())
            }
            Err(error) => {
                self.abandon_merge(writer, running);
                let mut live = writer.live();
                live.merge.attempts += 1;
                live.merge.error = Some(error.clone());
                writer.changed.notify_all();
                Err(error)
            }
        }
    }

    /// Gives up a merge that is on its way. The inputs stay as they are.
    pub(super) fn abandon_merge(&self, writer: &Writer, running: &mut Option<RunningMerge>) {
        if let Some(running) = running.take()
            && writer.syncer.check().is_ok()
        {
            running.merge.abandon();
        }
    }

    /// Puts the merged run in its inputs' place, then removes their files.
    fn finish_merge(&self, writer: &Writer, inputs: &[Arc<Run>], metas: &[Meta]) -> Result<u64> {
        let merged = self.open_run(metas)?;
        self.sync_names(writer)?;
        let bytes = merged.as_ref().map_or(0, |run| run.bytes);
        let mut live = writer.live();
        let runs = replaced(&self.view.load().runs, inputs, merged.as_ref());
        self.edit(writer, &mut live, |manifest| {
            manifest.runs = runs.iter().map(|run| segment_refs(run)).collect();
        })?;
        self.change_view(|view| View {
            rotation: view.rotation,
            active: view.active.clone(),
            frozen: view.frozen.clone(),
            runs,
        });
        drop(live);
        // Lookups and readers that hold the old segments keep them open; a name
        // that cannot be removed now is removed at the next opening.
        for segment in inputs.iter().flat_map(|run| &run.segments) {
            let path = self
                .dir
                .join(crate::segment::file_name(segment.meta().number));
            let _ = self.options.env.vfs.remove(&path);
        }
        Ok(bytes)
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
