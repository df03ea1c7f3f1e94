//! Simulated: what merging costs a store that grows, in bytes, room and waiting.
//!
//! A memtable is one step, whatever it holds, so that 10 billion URLs take milliseconds.
//! What is decided is not simulated: [`next_merge`], [`next_piece`], [`delay`] and
//! [`STOP_RUNS`] are what the store goes by.
#![cfg(any(test, feature = "cli"))]

use super::{Candidate, STOP_RUNS, delay, next_merge, next_piece};
use std::ops::Range;

/// A load, and what gets merged beside it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Bytes that are flushed in all.
    pub(crate) bytes: u64,
    /// Bytes of the run that a memtable becomes, but for the last.
    pub(crate) flush: u64,
    /// Seconds in which a memtable fills, if nothing holds writers up.
    pub(crate) fill: f64,
    /// Bytes a second that one thread merges.
    pub(crate) speed: f64,
    /// Merges that go on at once. A store has one thread for them.
    pub(crate) threads: usize,
}

/// What a load came to, once all was flushed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) flushes: u64,
    /// Bytes that flushes wrote.
    pub(crate) flushed: u64,
    /// Merges that ended.
    pub(crate) merges: u64,
    /// Bytes that merges wrote, also those that had not ended.
    pub(crate) merged: u64,
    /// Runs over time, on average: those that a lookup asks.
    pub(crate) mean_runs: f64,
    /// Runs at the worst moment.
    pub(crate) most_runs: usize,
    /// Bytes of runs and of outputs of merges, at the worst moment.
    pub(crate) most_bytes: u64,
    /// The most bytes for each byte of runs, while the store grew by the last half.
    pub(crate) most_share: f64,
    /// Memtables that writers filled more slowly for merges that were behind, and seconds.
    pub(crate) slowed: u64,
    pub(crate) waited: f64,
    /// The longest wait.
    pub(crate) longest_wait: f64,
    /// Seconds from the first URL to the last flush.
    pub(crate) seconds: f64,
}

impl Outcome {
    /// Bytes written to segments for each byte flushed.
    pub(crate) fn amplification(&self) -> f64 {
        (self.flushed + self.merged) as f64 / self.flushed.max(1) as f64
    }
}

/// What becomes of a store under a load.
pub(crate) fn simulate(load: &Load) -> Outcome {
    let mut store = Simulation::new(load.speed, load.threads);
    let mut rest = load.bytes;
    while rest > 0 {
        let flush = load.flush.clamp(1, rest);
        rest -= flush;
        store.fill(load.fill * flush as f64 / load.flush.max(1) as f64);
        store.flush(flush, rest <= load.bytes / 2);
    }
    store.outcome()
}

/// A store that grows.
#[derive(Debug)]
pub(crate) struct Simulation {
    /// Newest first.
    runs: Vec<Candidate>,
    merges: Vec<Running>,
    speed: f64,
    threads: usize,
    /// Merges that were begun.
    begun: usize,
    /// Whether the largest share counts by now.
    is_late: bool,
    /// Bytes of merges that ended.
    ended: u64,
    /// Runs, times the seconds that there were so many.
    run_seconds: f64,
    seen: Outcome,
}

/// A merge in progress.
#[derive(Debug, Clone, Copy)]
struct Running {
    number: usize,
    bytes: u64,
    left: f64,
}

impl Simulation {
    pub(crate) fn new(speed: f64, threads: usize) -> Simulation {
        Simulation {
            runs: Vec::new(),
            merges: Vec::new(),
            speed,
            threads: threads.max(1),
            begun: 0,
            is_late: false,
            ended: 0,
            run_seconds: 0.0,
            seen: Outcome::default(),
        }
    }

    /// The runs' bytes, newest first.
    #[cfg(test)]
    pub(crate) fn runs(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.bytes).collect()
    }

    /// Writers fill a memtable, and wait as the store has them wait before it is flushed.
    pub(crate) fn fill(&mut self, seconds: f64) {
        self.pass(seconds);
        let before = self.seen.seconds;
        self.pass(delay(self.runs.len()).as_secs_f64());
        while self.runs.len() >= STOP_RUNS && !self.merges.is_empty() {
            self.advance(f64::INFINITY);
        }
        let waited = self.seen.seconds - before;
        if waited > 0.0 {
            self.seen.slowed += 1;
            self.seen.waited += waited;
            self.seen.longest_wait = self.seen.longest_wait.max(waited);
        }
    }

    /// Adds a run, and begins the merges that the policy wants. `is_late` in the half of the
    /// load whose largest share of room counts.
    pub(crate) fn flush(&mut self, bytes: u64, is_late: bool) {
        self.is_late = is_late;
        self.seen.flushes += 1;
        self.seen.flushed += bytes;
        self.runs.insert(0, Candidate { bytes, merge: None });
        self.begin_merges();
        self.look();
    }

    /// What it came to until now.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome {
            merged: self.ended + self.unfinished(),
            mean_runs: self.run_seconds / self.seen.seconds.max(f64::MIN_POSITIVE),
            ..self.seen.clone()
        }
    }

    fn begin_merges(&mut self) {
        while let Some(window) = next_merge(&self.runs) {
            self.begin(window);
        }
    }

    fn begin(&mut self, window: Range<usize>) {
        let number = self.begun;
        self.begun += 1;
        let mut bytes = 0;
        for run in self.runs.get_mut(window).unwrap_or_default() {
            run.merge = Some(number);
            bytes += run.bytes;
        }
        self.merges.push(Running {
            number,
            bytes,
            left: bytes as f64,
        });
    }

    /// Time passes.
    fn pass(&mut self, seconds: f64) {
        let mut rest = seconds;
        while rest > 0.0 {
            rest -= self.advance(rest);
        }
    }

    /// Goes on until a merge ends or so many seconds are over; those that it took.
    fn advance(&mut self, seconds: f64) -> f64 {
        // Those that the threads take now: the places of the smallest.
        let mut active: Vec<usize> = Vec::with_capacity(self.threads);
        while active.len() < self.threads {
            let idle = (0..self.merges.len()).filter(|place| !active.contains(place));
            let idle: Vec<usize> = idle.collect();
            let sizes = idle.iter().filter_map(|place| self.merges.get(*place));
            let Some(next) = next_piece(sizes.map(|merge| merge.bytes)) else {
                break;
            };
            active.extend(idle.get(next));
        }
        let left = |place: &usize| self.merges.get(*place).map_or(0.0, |merge| merge.left);
        let first = active
            .iter()
            .copied()
            .min_by(|a, b| left(a).total_cmp(&left(b)));
        let until_end = first.map_or(f64::INFINITY, |place| left(&place) / self.speed);
        let step = seconds.min(until_end);
        self.seen.seconds += step;
        self.run_seconds += self.runs.len() as f64 * step;
        for place in active {
            if let Some(merge) = self.merges.get_mut(place) {
                merge.left = (merge.left - step * self.speed).max(0.0);
            }
        }
        if let Some(place) = first
            && until_end <= seconds
        {
            self.end(place);
        }
        step
    }

    /// A merge ends: its run takes the place of its inputs.
    fn end(&mut self, place: usize) {
        if let Some(merge) = self.merges.get_mut(place) {
            merge.left = 0.0;
        }
        self.look();
        let Running { number, bytes, .. } = self.merges.remove(place);
        self.ended += bytes;
        self.seen.merges += 1;
        let is_input = |run: &Candidate| run.merge == Some(number);
        let first = self.runs.iter().position(is_input).unwrap_or(0);
        self.runs.retain(|run| !is_input(run));
        self.runs.insert(first, Candidate { bytes, merge: None });
        self.begin_merges();
    }

    /// What merges in progress have written.
    fn unfinished(&self) -> u64 {
        let written = |merge: &Running| merge.bytes as f64 - merge.left;
        self.merges.iter().map(written).sum::<f64>() as u64
    }

    /// Counts a moment at which there may be more than ever.
    fn look(&mut self) {
        let live: u64 = self.runs.iter().map(|run| run.bytes).sum();
        let taken = live + self.unfinished();
        let seen = &mut self.seen;
        seen.most_runs = seen.most_runs.max(self.runs.len());
        seen.most_bytes = seen.most_bytes.max(taken);
        if self.is_late {
            seen.most_share = seen.most_share.max(taken as f64 / live.max(1) as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_RUNS;
    use super::*;

    /// Merges that take no time.
    const AT_ONCE: f64 = 1e18;

    /// Flushes of 1,000 bytes, one a second.
    fn load(flushes: u64, speed: f64, threads: usize) -> Load {
        Load {
            bytes: flushes * 1000,
            flush: 1000,
            fill: 1.0,
            speed,
            threads,
        }
    }

    #[test]
    fn runs_stay_bounded_and_amplification_is_logarithmic() {
        for (flushes, bound) in [(100, 3.6), (1_000, 6.0), (10_000, 9.0)] {
            let at_once = simulate(&load(flushes, AT_ONCE, 1));
            let amplification = at_once.amplification();
            println!(
                "{flushes} flushes: each byte written {amplification:.2} times, at most {:.2} \
                 times the room in the last half",
                at_once.most_share
            );
            assert!(at_once.most_runs <= MAX_RUNS + 1);
            assert!(amplification <= bound, "{flushes}: {amplification:.2}");
            assert!(at_once.most_share <= 2.0, "{flushes}: {at_once:?}");
            assert_eq!(at_once.flushed, flushes * 1000);
            // As much as is needed, and not much more.
            for speed in [20_000.0, 10_000.0] {
                let slow = simulate(&load(flushes, speed, 1)).amplification();
                assert!(slow <= bound, "{flushes}: {slow:.2} at {speed}");
            }
        }
    }

    /// A byte that is merged is in a run half as large again at least.
    #[test]
    fn a_tenfold_of_flushes_adds_no_more_than_the_ratio_allows() {
        let written = |flushes| simulate(&load(flushes, AT_ONCE, 1)).amplification();
        let sizes = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];
        let written = sizes.map(written);
        for (size, pair) in sizes.iter().zip(written.windows(3)) {
            let added = pair
                .last()
                .zip(pair.first())
                .map(|(last, first)| last - first);
            let added = added.unwrap_or(f64::NAN);
            println!("from {size} flushes, tenfold: {added:.2}");
            assert!(added <= 10f64.ln() / 1.5f64.ln(), "{size}: {added}");
        }
    }

    #[test]
    fn what_is_flushed_is_in_a_run_once() {
        for speed in [AT_ONCE, 5_000.0, 1_500.0, 100.0] {
            let mut store = Simulation::new(speed, 2);
            let mut flushed = 0;
            for i in 0..2_000u64 {
                let bytes = 1 + crate::filter::hash(3, &i.to_le_bytes()) % 1000;
                store.fill(0.2);
                store.flush(bytes, true);
                flushed += bytes;
                assert_eq!(store.runs().iter().sum::<u64>(), flushed);
                assert!(
                    store.runs().len() <= STOP_RUNS,
                    "{speed}: {:?}",
                    store.runs()
                );
            }
            let outcome = store.outcome();
            assert_eq!((outcome.flushes, outcome.flushed), (2_000, flushed));
            assert!(outcome.most_bytes >= flushed && outcome.most_bytes <= 2 * flushed);
            let busiest = outcome.seconds * speed * 2.0;
            assert!(outcome.merged as f64 <= busiest * 1.000_001, "{outcome:?}");
        }
    }

    #[test]
    fn the_same_load_comes_to_the_same() {
        let load = load(3_000, 4_321.0, 2);
        assert_eq!(simulate(&load), simulate(&load));
    }

    #[test]
    fn writers_wait_only_where_merges_are_behind() {
        let quick = simulate(&load(1_000, 1e6, 1));
        assert_eq!((quick.slowed, quick.waited), (0, 0.0));
        assert!((quick.seconds - 1_000.0).abs() < 1e-6, "{quick:?}");
        // Each byte is merged more than once: half of the speed that flushes have is too little.
        let behind = simulate(&load(1_000, 500.0, 1));
        assert!(behind.slowed > 0 && behind.waited > 1_000.0, "{behind:?}");
        assert!((behind.seconds - 1_000.0 - behind.waited).abs() < 1e-6);
        assert_eq!(behind.most_runs, STOP_RUNS);
        let four = simulate(&load(1_000, 500.0, 4));
        assert!(four.waited < behind.waited / 2.0, "{four:?}");
    }

    #[test]
    fn nothing_takes_nothing() {
        assert_eq!(simulate(&load(0, 1.0, 1)), Outcome::default());
        let one = simulate(&load(1, 1.0, 0));
        assert_eq!((one.flushes, one.merged, one.most_bytes), (1, 0, 1000));
        assert_eq!(one.amplification(), 1.0);
    }
}
