//! What the filters of a new run may let through, and what they may take, beside those of
//! the other runs and of runs that are being written.

use super::core::{Core, RunningMerge, Writer};
use super::view::{Run, View};
use crate::error::Result;
use crate::filter::{FilterChoice, FilterKind, FilterPlan, Room, Size, fitting_rate, share};
use crate::options::{MIN_MEMORY, memtable_for, reserved_for_memtables};
use crate::segment::dictionary_memory;
use std::sync::Arc;

/// The filters of a run that is being written.
#[derive(Debug)]
pub(super) struct Planned {
    number: u64,
    /// The runs whose place it takes.
    inputs: Vec<Arc<Run>>,
    keys: u64,
    rate: f64,
    /// Bytes of the filters, and for building them.
    bytes: u64,
}

/// Steps to the memory whose memtables leave enough: each leaves less than half of what the one
/// before left to go.
const GROWTHS: usize = 64;
/// Of the room for filters, the quarters that those on disk are given. The rest is for those
/// of runs to come: a store that got less memory than it had must not go on without any.
pub(super) const QUARTERS: u64 = 3;

/// What filters can be, for the memory that there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Budget {
    /// The lowest rate that fits, not below the one asked for; `None` without a memory.
    pub(super) fits: Option<f64>,
    /// The memory that the rate asked for needs.
    pub(super) needed: u64,
}

impl Core {
    /// Plans the filters of a run of at most `keys` keys that takes the place of `inputs`;
    /// they count until [`end_plan`](Core::end_plan) is told the number.
    pub(super) fn plan_filters(
        &self,
        writer: &Writer,
        keys: u64,
        inputs: &[Arc<Run>],
    ) -> (u64, FilterPlan) {
        let mut live = writer.live();
        let view = self.view.load();
        let (plan, building) = self.size_filters(&view, &live.planned, keys, inputs);
        live.plans += 1;
        let number = live.plans;
        live.planned.push(Planned {
            number,
            inputs: inputs.to_vec(),
            keys,
            rate: plan.size.rate(plan.kind),
            bytes: plan.kind.bytes(keys, plan.size) + building,
        });
        (number, plan)
    }

    /// The filters of a run beside the others, and the bytes that building them takes.
    fn size_filters(
        &self,
        view: &View,
        planned: &[Planned],
        keys: u64,
        inputs: &[Arc<Run>],
    ) -> (FilterPlan, u64) {
        let choice = view.filters;
        let stays = |run: &Arc<Run>| {
            let is_among = |inputs: &[Arc<Run>]| inputs.iter().any(|input| Arc::ptr_eq(input, run));
            !is_among(inputs) && !planned.iter().any(|plan| is_among(&plan.inputs))
        };
        // The rates, bytes and keys of the others, and all keys.
        let (mut rates, mut bytes, mut runs) = (0.0, 0, vec![keys]);
        for run in view.runs.iter().filter(|run| stays(run)) {
            rates += run.rate;
            bytes += run.filter_bytes;
            runs.push(run.keys);
        }
        for plan in planned {
            // Its inputs are in force until it is.
            let before: f64 = plan.inputs.iter().map(|run| run.rate).sum();
            let held: u64 = plan.inputs.iter().map(|run| run.filter_bytes).sum();
            rates += plan.rate.max(before);
            bytes += plan.bytes.max(held);
            runs.push(plan.keys);
        }
        let all: u64 = runs.iter().sum();
        let Some(memory) = self.options.memory else {
            let rate = share(choice.rate, keys, all, rates);
            return (FilterPlan::for_rate(choice.kind, rate), 0);
        };
        let room = self.room(view, memory, keys, inputs);
        let fits = fitting_rate(choice.kind, choice.rate, &runs, room.in_force());
        let rate = if fits > choice.rate {
            // The least in all for the memory there is: no bound can be kept to.
            fits * keys as f64 / all.max(1) as f64
        } else {
            share(choice.rate, keys, all, rates)
        };
        let most_keys = room.most_keys(choice.kind);
        let building = most_keys.min(keys) * choice.kind.build_bytes();
        let free = room.free(bytes.saturating_add(building));
        let size = Size::within(choice.kind, rate, keys, free);
        if size == Size::NOTHING {
            return (FilterPlan::for_size(choice.kind, size), 0);
        }
        let plan = FilterPlan {
            kind: choice.kind,
            size,
            most_keys,
        };
        (plan, building)
    }

    /// The run that was planned is in force, or was given up.
    pub(super) fn end_plan(&self, writer: &Writer, number: u64) {
        writer.live().planned.retain(|plan| plan.number != number);
    }

    /// Whether the filters of the only run are such as a merge would make, or better.
    pub(super) fn has_its_filters(&self, run: &Arc<Run>) -> bool {
        let view = self.view.load();
        let (plan, _) = self.size_filters(&view, &[], run.keys, std::slice::from_ref(run));
        // Some segments of a run have a little more, others less.
        let kind = match plan.size {
            Size::NOTHING => FilterKind::None,
            _ => plan.kind,
        };
        run.filter_kind() == kind && run.rate <= plan.size.rate(plan.kind) * 1.1
    }

    /// Bytes that the filters of the run with this plan may take now: what filters in force, and
    /// the plans of other runs, leave.
    pub(super) fn room_for_filters(&self, writer: &Writer, number: u64) -> u64 {
        let Some(memory) = self.options.memory else {
            return u64::MAX;
        };
        let live = writer.live();
        let view = self.view.load();
        let others = live.planned.iter().filter(|plan| plan.number != number);
        let planned: u64 = others.map(|plan| plan.bytes).sum();
        let taken: u64 = view.runs.iter().map(|run| run.filter_bytes).sum();
        let room = self.room(&view, memory, 0, &[]).filters;
        room.saturating_sub(taken).saturating_sub(planned)
    }

    /// What those that were left on disk may take now.
    fn room_for_old_filters(&self, writer: &Writer) -> u64 {
        let Some(memory) = self.options.memory else {
            return u64::MAX;
        };
        let kept = self.room(&self.view.load(), memory, 0, &[]).filters / 4 * (4 - QUARTERS);
        self.room_for_filters(writer, 0).saturating_sub(kept)
    }

    /// Loads filters that were left on disk for want of room, where there is room now; those
    /// of runs in `busy` merges are left alone.
    pub(super) fn load_filters(&self, writer: &Writer, busy: &[RunningMerge]) -> Result<()> {
        if self.options.memory.is_none() {
            return Ok(());
        }
        let view = self.view.load_full();
        for run in view.runs.iter() {
            if busy.iter().any(|merge| merge.has(run)) {
                continue;
            }
            let mut room = self.room_for_old_filters(writer);
            let mut has_loaded = false;
            let mut segments = Vec::with_capacity(run.segments.len());
            for segment in &run.segments {
                let bytes = segment.filter_size();
                let is_left = segment.filter().memory() == 0 && bytes > 0;
                if is_left && bytes <= room {
                    let options = &self.options;
                    let loaded = segment.with_filter(&options.env.vfs, options.reads)?;
                    segments.push(Arc::new(loaded));
                    room -= bytes;
                    has_loaded = true;
                } else {
                    segments.push(segment.clone());
                }
            }
            if has_loaded {
                let loaded = Run::new(segments, self.counters.sum().misses());
                let _live = writer.live();
                self.change_view(|view| {
                    let mut view = view.clone();
                    let same = view.runs.iter_mut().find(|one| Arc::ptr_eq(one, run));
                    if let Some(one) = same {
                        *one = loaded;
                    }
                    view
                });
            }
        }
        Ok(())
    }

    /// What is left for filters of a memory, once `inputs` have become one run of so many
    /// keys: that has one dictionary, and an index as large as theirs.
    fn room(&self, view: &View, memory: u64, keys: u64, inputs: &[Arc<Run>]) -> Room {
        let indexes = view.segments().map(|segment| segment.memory_index() as u64);
        let gone: u64 = inputs.iter().map(|run| run.dictionary()).sum();
        let largest = dictionary_memory(view.codec, keys);
        let indexes = indexes.sum::<u64>().saturating_sub(gone) + largest;
        let memtable = self.options.memtable_size() as u64;
        Room::new(memory, reserved_for_memtables(memtable), indexes)
    }

    /// What filters can be for the memory that was chosen, as the store is.
    pub(super) fn budget(&self, view: &View) -> Budget {
        let FilterChoice {
            kind,
            rate,
            memory,
            memtable,
        } = view.filters;
        let indexes: u64 = view
            .segments()
            .map(|segment| segment.memory_index() as u64)
            .sum();
        let memtables = reserved_for_memtables(memtable);
        let runs: Vec<u64> = view.runs.iter().map(|run| run.keys).collect();
        let rest = Room::needed(kind, rate, &runs).saturating_add(indexes);
        // Indexes are a little larger or smaller each time that runs are merged.
        let rest = rest.saturating_add(rest / 32);
        let mut needed = rest.saturating_add(memtables);
        // Memtables for which no size was chosen grow with the memory, by less than it does.
        if memtable == memtable_for(memory) as u64 {
            needed = MIN_MEMORY;
            for _ in 0..GROWTHS {
                let memtables = reserved_for_memtables(memtable_for(Some(needed)) as u64);
                needed = needed.max(rest.saturating_add(memtables));
            }
        }
        let fits = memory.map(|memory| {
            let room = Room::new(memory, memtables, indexes);
            fitting_rate(kind, rate, &runs, room.in_force())
        });
        Budget { fits, needed }
    }
}
