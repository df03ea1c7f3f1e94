//! The table of a load.

use super::load::Load;
use super::probe::Probes;
use super::watch::{Sample, Watch};
use crate::goals::{Goal, digits};
use crate::median;
use crate::memory::{self, Memory};
use crate::opening::Openings;
use seendb::Stats;

/// Rows: what, how much, and what is wanted.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<(String, f64, Goal)>,
}

impl Report {
    fn row(&mut self, name: impl Into<String>, figure: f64, goal: Goal) {
        self.rows.push((name.into(), figure, goal));
    }

    /// `others`: processor time of the threads that looked on, in ns.
    pub(super) fn load(&mut self, load: &Load, stats: &Stats, others: u64) {
        let count = load.count as f64;
        let inserting = load.inserting();
        self.row(
            "insert, batches of 1,000, ns",
            inserting / count,
            Goal::None,
        );
        let synced = (inserting + load.sync) / count;
        self.row("... to `sync()`, ns", synced, Goal::None);
        let settled = (inserting + load.settle) / count;
        self.row(
            "... to all flushes and merges finished, ns",
            settled,
            Goal::None,
        );
        let cpu = (load.cpu - others as f64) / count;
        self.row("... processor time of all threads, ns", cpu, Goal::None);
        let reading = load.reading / count;
        self.row(
            "making and reading a URL, not counted above, ns",
            reading,
            Goal::None,
        );
        self.row(
            "a batch of 1,000: the longest, ms",
            load.pause(1.0),
            Goal::None,
        );
        self.row("... 99.9 % at most, ms", load.pause(0.999), Goal::None);
        self.row("... half at most, ms", load.pause(0.5), Goal::None);
        self.row("flushes", stats.flushes as f64, Goal::None);
        self.row("merges", stats.merges as f64, Goal::None);
        self.row("runs at rest", stats.runs as f64, Goal::AtMost(8.0));
        let flushed = stats.flushed_bytes as f64;
        // What the merge policy's simulation has, with room.
        let most = match stats.flushes {
            0..=100 => 3.6,
            101..=1_000 => 6.0,
            _ => 9.0,
        };
        self.row(
            "bytes written by flushes and merges for each byte flushed",
            (flushed + stats.merged_bytes as f64) / flushed,
            Goal::AtMost(most),
        );
    }

    /// `each`: bytes that a URL takes at rest. What is live at a moment is what was inserted
    /// by then, as it will lie at rest.
    pub(super) fn watched(&mut self, watch: &Watch, each: f64) {
        let last = watch.samples.last().map_or(0, |sample| sample.inserted);
        let large = || watch.samples.iter().filter(|s| s.inserted * 2 >= last);
        let most = |part: fn(&Sample) -> u64| {
            let shares = large().map(|s| part(s) as f64 / (s.inserted as f64 * each));
            shares.fold(f64::NAN, f64::max)
        };
        let segments = most(|sample| sample.segments);
        self.row(
            "most room of segments while loading, to live data, second half",
            segments,
            Goal::AtMost(2.0),
        );
        let disk = most(|sample| sample.disk);
        self.row("... with logs", disk, Goal::None);
        let peak = watch.samples.iter().map(|sample| sample.disk).max();
        self.row(
            "most room while loading, MB",
            peak.unwrap_or(0) as f64 / 1e6,
            Goal::None,
        );
        let memory = watch.samples.iter().map(|sample| sample.anonymous).max();
        self.row(
            "most anonymous memory while loading, of the whole process, MB",
            memory.unwrap_or(0) as f64 / 1e6,
            Goal::None,
        );
    }

    pub(super) fn probed(&mut self, beside: &Probes, at_rest: &[f64]) {
        let rest = median(at_rest.iter().copied());
        self.row("hit of a sample, at rest, ns", rest, Goal::None);
        for (name, times) in [
            ("a load and merges", &beside.merging),
            ("a load alone", &beside.otherwise),
        ] {
            if times.is_empty() {
                continue;
            }
            let median = median(times.iter().copied());
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let groups = times.len();
            self.row(
                format!("... during {name}, ns ({groups} groups)"),
                median,
                Goal::None,
            );
            self.row("... to that at rest, median", median / rest, Goal::None);
            let mean_at_rest = at_rest.iter().sum::<f64>() / at_rest.len() as f64;
            self.row("... to that at rest, mean", mean / mean_at_rest, Goal::None);
        }
    }

    pub(super) fn lookups(&mut self, name: &str, nanos: f64) {
        self.row(name, nanos, Goal::None);
    }

    pub(super) fn disk(&mut self, each: f64) {
        self.row(
            "disk, with stamps, as it was left, bytes a URL",
            each,
            Goal::None,
        );
    }

    pub(super) fn memory(&mut self, memory: &Memory, count: u64) {
        self.row(
            "anonymous memory beside memtables after lookups, bytes a URL",
            memory.anonymous / count as f64,
            Goal::AtMost(memory::MOST),
        );
        self.row(
            "pages of mapped files, bytes a URL",
            memory.mapped / count as f64,
            Goal::None,
        );
    }

    pub(super) fn opening(&mut self, how: &str, openings: &Openings) {
        self.row(
            format!("opening for writing after a close, {how}, ms"),
            openings.millis,
            Goal::None,
        );
        self.row("... blocks read", openings.blocks, Goal::AtMost(0.0));
    }

    pub(super) fn print(&self) {
        println!("\n| | measured | goal | |\n|---|--:|--:|---|");
        for (name, figure, goal) in &self.rows {
            let [goal, mark] = goal.told(*figure);
            println!("| {name} | {} | {goal} | {mark} |", digits(*figure));
        }
    }
}
