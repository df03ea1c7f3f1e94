//! What a benchmark found.

use super::machine::Machine;
use super::variant::Variant;
use crate::{LookupStats, Stats};
use hdrhistogram::Histogram;
use std::time::Duration;

/// Everything that is reported, in whatever form.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) run: Run,
    pub(super) machine: Machine,
    /// The one without filters first, if there is one.
    pub(super) stores: Vec<Store>,
}

/// What was asked for.
#[derive(Debug)]
pub(super) struct Run {
    /// `generate`, `urls` or `store`.
    pub(super) source: &'static str,
    /// The list or store, as it was given.
    pub(super) path: Option<String>,
    /// Lines that the policy rejected, of all lists.
    pub(super) rejected: u64,
    /// Different URLs.
    pub(super) urls: u64,
    /// `made`, `generate` or `file`.
    pub(super) absent: &'static str,
    /// Absent URLs that were asked for, each different.
    pub(super) absent_urls: u64,
    /// Of those given as absent, how many were not.
    pub(super) absent_dropped: u64,
    pub(super) policy: String,
    pub(super) lookups: u64,
    pub(super) hit_ratios: Vec<f64>,
    pub(super) threads: u64,
    pub(super) cold: bool,
    pub(super) seed: u64,
    /// `None`: the default.
    pub(super) memtable: Option<u64>,
}

/// One store.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) variant: Variant,
    /// `None` for a store that was there.
    pub(super) build: Option<Duration>,
    /// Its sizes, and the rates of its filters.
    pub(super) stats: Stats,
    pub(super) phases: Vec<Phase>,
}

/// Lookups of one hit ratio.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) hit_ratio: f64,
    pub(super) counters: LookupStats,
    /// `None` where the kernel does not tell.
    pub(super) disk_bytes_read: Option<u64>,
    pub(super) seconds: f64,
    /// In ns.
    pub(super) latency: Histogram<u64>,
    /// What came of evicting the files' pages; `None` if nobody asked.
    pub(super) cold: Option<Cold>,
}

/// What came of evicting the pages of a store's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cold {
    /// Opening read filters and indexes from the disk.
    Evicted,
    /// Opening read little from the disk: the pages are still in memory.
    Stayed,
    /// The kernel does not tell what was read.
    Unknown,
    /// The kernel refused.
    Refused(String),
}

impl Cold {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Cold::Evicted => "evicted",
            Cold::Stayed => "stayed",
            Cold::Unknown => "unknown",
            Cold::Refused(_) => "refused",
        }
    }
}

impl Phase {
    /// Blocks read for each lookup.
    pub(super) fn reads(&self) -> f64 {
        per(self.counters.blocks_read, self.counters.lookups)
    }

    /// Needless reads for each lookup of an absent URL; `None` without any.
    pub(super) fn rate(&self) -> Option<f64> {
        let absent = self.counters.misses();
        (absent > 0).then(|| per(self.counters.wasted_reads, absent))
    }

    pub(super) fn lookups_per_second(&self) -> f64 {
        self.counters.lookups as f64 / self.seconds.max(1e-9)
    }
}

impl Store {
    /// The phase with this hit ratio.
    pub(super) fn phase(&self, hit_ratio: f64) -> Option<&Phase> {
        let same = |phase: &&Phase| (phase.hit_ratio - hit_ratio).abs() < f64::EPSILON;
        self.phases.iter().find(same)
    }

    /// The phase with the fewest hits: there filters have the most to do.
    pub(super) fn fewest_hits(&self) -> Option<&Phase> {
        self.phases
            .iter()
            .min_by(|a, b| a.hit_ratio.total_cmp(&b.hit_ratio))
    }

    /// The measured rate, of the phase with the most lookups of absent URLs.
    pub(super) fn rate(&self) -> Option<f64> {
        self.fewest_hits()?.rate()
    }

    pub(super) fn has_filters(&self) -> bool {
        self.variant.rate.is_some()
    }
}

/// What filters saved in one phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Saved {
    /// Blocks that were read without filters.
    pub(super) without: u64,
    /// Blocks that were read with them.
    pub(super) with: u64,
    /// Against a store without filters; else what the filters counted.
    pub(super) measured: bool,
}

impl Saved {
    pub(super) fn reads(self) -> u64 {
        self.without.saturating_sub(self.with)
    }

    /// The share of reads; `None` of nothing.
    pub(super) fn share(self) -> Option<f64> {
        (self.without > 0).then(|| self.reads() as f64 / self.without as f64)
    }
}

impl Outcome {
    /// The store without filters.
    pub(super) fn control(&self) -> Option<&Store> {
        self.stores.iter().find(|store| !store.has_filters())
    }

    /// What a store's filters saved in one phase; `None` without filters.
    pub(super) fn saved(&self, store: &Store, phase: &Phase) -> Option<Saved> {
        if !store.has_filters() {
            return None;
        }
        let with = phase.counters.blocks_read;
        let control = self.control().and_then(|c| c.phase(phase.hit_ratio));
        Some(Saved {
            without: control.map_or(phase.counters.filter_skips + with, |control| {
                control.counters.blocks_read
            }),
            with,
            measured: control.is_some(),
        })
    }

    /// The store whose filters saved the most, where they have the most to do.
    pub(super) fn best(&self) -> Option<(&Store, &Phase, Saved)> {
        let all = self.stores.iter().filter_map(|store| {
            let phase = store.fewest_hits()?;
            Some((store, phase, self.saved(store, phase)?))
        });
        all.min_by_key(|(_, _, saved)| saved.with)
    }

    /// A word on pages that could not be evicted.
    pub(super) fn not_cold(&self) -> Option<String> {
        let phases = self.stores.iter().flat_map(|store| &store.phases);
        let all: Vec<&Cold> = phases.filter_map(|phase| phase.cold.as_ref()).collect();
        let why = all.iter().find(|cold| ***cold != Cold::Evicted)?;
        let times = all.iter().filter(|cold| **cold != &Cold::Evicted).count();
        let what = match why {
            Cold::Refused(error) => format!("the pages of the files could not be evicted ({error})"),
            Cold::Unknown => "whether the pages of the files were evicted is not known: the kernel does not tell what is read".to_owned(),
            _ => "the pages of the files stayed in memory: the file system keeps them there, or another process has them mapped".to_owned(),
        };
        Some(format!("not cold in {times} of {}: {what}", all.len()))
    }
}

fn per(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}
