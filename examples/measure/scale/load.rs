//! The thread that inserts.

use super::Shared;
use super::source::Source;
use crate::corpus::Corpus;
use crate::{BATCH, Outcome, kernel, progress, stores};
use seendb::Seen;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Batches that are read ahead: a fraction of a memtable. Reading them is not counted, and
/// background work goes on meanwhile.
const AHEAD: usize = 50;
/// URLs between two lines of progress.
const TOLD: u64 = 1_000_000;

/// What a load took.
pub(super) struct Load {
    pub(super) count: u64,
    /// Nanoseconds of each batch.
    pub(super) batches: Vec<u64>,
    /// From the last insert until it was safe from a power loss, and until all flushes and
    /// merges were finished, in ns.
    pub(super) sync: f64,
    pub(super) settle: f64,
    /// Of making and reading the URLs.
    pub(super) reading: f64,
    /// Of all threads but for making and reading URLs, in ns.
    pub(super) cpu: f64,
}

impl Load {
    pub(super) fn run(
        seen: &Seen,
        mut source: Source,
        count: u64,
        shared: &Shared,
    ) -> Outcome<Load> {
        let cpu = kernel::cpu()?;
        let (mut batches, mut reading, mut reading_cpu) = (Vec::new(), 0.0, 0);
        let mut next = 0;
        let mut urls = Corpus::default();
        loop {
            let start = Instant::now();
            let mine = kernel::cpu_of_this_thread()?;
            source.next((AHEAD * BATCH) as u64, &mut urls)?;
            let all: Vec<&[u8]> = urls.iter().collect();
            reading_cpu += kernel::cpu_of_this_thread()? - mine;
            reading += start.elapsed().as_nanos() as f64;
            if all.is_empty() {
                break;
            }
            for batch in all.chunks(BATCH) {
                let start = Instant::now();
                let new = seen.insert_many(batch)?;
                batches.push(start.elapsed().as_nanos() as u64);
                assert!(new.iter().all(|&new| new), "a URL was taken for known");
                next += batch.len() as u64;
                shared.inserted.store(next, Ordering::Release);
                if next % TOLD < batch.len() as u64 {
                    progress(&format!("{next} of {count} inserted"));
                }
            }
        }
        let start = Instant::now();
        seen.sync()?;
        let sync = start.elapsed().as_nanos() as f64;
        progress("flushes and merges");
        stores::settle(seen)?;
        let settle = start.elapsed().as_nanos() as f64;
        let cpu = kernel::cpu()? - cpu;
        assert_eq!((next, seen.len()), (count, count));
        Ok(Load {
            count,
            batches,
            sync,
            settle,
            reading,
            cpu: cpu.saturating_sub(reading_cpu) as f64,
        })
    }

    /// Nanoseconds that all calls of `insert_many` took.
    pub(super) fn inserting(&self) -> f64 {
        self.batches.iter().sum::<u64>() as f64
    }

    /// The time of a batch that so large a share of them took at most, in ms.
    pub(super) fn pause(&self, share: f64) -> f64 {
        let mut batches = self.batches.clone();
        batches.sort_unstable();
        let last = batches.len().saturating_sub(1);
        let place = (batches.len() as f64 * share) as usize;
        let batch = batches.get(place.min(last));
        batch.map_or(f64::NAN, |&nanos| nanos as f64 / 1e6)
    }
}
