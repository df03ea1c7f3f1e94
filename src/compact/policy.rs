//! Which runs to merge next: a pure function of their sizes.
//!
//! A lookup asks every run, so that their number is bounded; each merge rewrites
//! what it merges, so that a large run should be merged rarely. The rule: up to
//! [`MAX_RUNS`] runs, nothing is merged; those of a merge in progress count as the
//! one that they will be. Above that, look at every window of neighbours (only
//! neighbours keep the order of age) that are in no merge and whose largest run is
//! at most half of the rest together, and merge the one that rewrites the fewest
//! bytes for each run that it removes. The ratio makes every byte's run grow by
//! half at least each time it is rewritten, which keeps write amplification
//! logarithmic in the size of the store. If no window has the ratio, and no merge is
//! in progress, take the one that comes closest.

use std::ops::Range;

/// Runs that may stay as they are.
pub(crate) const MAX_RUNS: usize = 8;

/// A run as the policy sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// The merge that it is in, if it is in one.
    pub(crate) merge: Option<usize>,
}

/// The runs to merge now, given all of them, newest first.
pub(crate) fn next_merge(runs: &[Candidate]) -> Option<Range<usize>> {
    if count(runs) <= MAX_RUNS {
        return None;
    }
    let mut cheapest: Option<(f64, Range<usize>)> = None;
    let mut closest: Option<(f64, Range<usize>)> = None;
    for start in 0..runs.len() {
        let mut sum = 0u64;
        let mut largest = 0u64;
        let idle = runs.iter().enumerate().skip(start);
        for (end, run) in idle.take_while(|(_, run)| run.merge.is_none()) {
            sum = sum.saturating_add(run.bytes);
            largest = largest.max(run.bytes);
            let count = end - start + 1;
            if count < 2 {
                continue;
            }
            let rest = sum - largest;
            let window = start..end + 1;
            if largest <= rest / 2 {
                improve(&mut cheapest, sum as f64 / (count - 1) as f64, &window);
            }
            improve(&mut closest, largest as f64 / rest.max(1) as f64, &window);
        }
    }
    if runs.iter().any(|run| run.merge.is_some()) {
        closest = None;
    }
    cheapest.or(closest).map(|(_, window)| window)
}

/// Runs, once the merges in progress have ended. The runs of a merge are neighbours.
fn count(runs: &[Candidate]) -> usize {
    let mut last = None;
    runs.iter()
        .filter(|run| {
            let same = run.merge.is_some() && run.merge == last;
            last = run.merge;
            !same
        })
        .count()
}

fn improve(best: &mut Option<(f64, Range<usize>)>, cost: f64, window: &Range<usize>) {
    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
        *best = Some((cost, window.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(sizes: &[u64]) -> Vec<Candidate> {
        let candidate = |&bytes: &u64| Candidate { bytes, merge: None };
        sizes.iter().map(candidate).collect()
    }

    fn next(sizes: &[u64]) -> Option<Range<usize>> {
        next_merge(&idle(sizes))
    }

    /// What a simulation came to.
    struct Simulated {
        /// The runs at the end.
        runs: Vec<u64>,
        /// The most runs there ever were.
        most: usize,
        /// Bytes written for each flushed.
        amplification: f64,
        /// The most room taken for each byte in the store, while a merge has its output
        /// beside its inputs.
        peak: f64,
    }

    /// Flushes runs of the given sizes and merges when told to.
    fn simulate(flushes: impl IntoIterator<Item = u64>) -> Simulated {
        let mut runs: Vec<u64> = Vec::new();
        let (mut flushed, mut written, mut most) = (0u64, 0u64, 0);
        let mut peak = 1.0f64;
        for size in flushes {
            runs.insert(0, size);
            flushed += size;
            written += size;
            most = most.max(runs.len());
            while let Some(window) = next(&runs) {
                let merged: u64 = runs[window.clone()].iter().sum();
                written += merged;
                runs.splice(window, [merged]);
                peak = peak.max((flushed + merged) as f64 / flushed as f64);
            }
        }
        Simulated {
            runs,
            most,
            amplification: written as f64 / flushed as f64,
            peak,
        }
    }

    #[test]
    fn nothing_is_merged_up_to_the_bound() {
        assert_eq!(next(&[]), None);
        assert_eq!(next(&[5; MAX_RUNS]), None);
        assert_eq!(next(&[5; MAX_RUNS + 1]), Some(0..MAX_RUNS + 1));
    }

    #[test]
    fn a_large_old_run_is_left_alone() {
        let mut sizes = vec![1; MAX_RUNS];
        sizes.push(1000);
        assert_eq!(next(&sizes), Some(0..MAX_RUNS));
    }

    #[test]
    fn without_the_ratio_the_closest_window_is_taken() {
        let sizes: Vec<u64> = (0..=MAX_RUNS as u32).map(|i| 4u64.pow(i)).collect();
        let window = next(&sizes).unwrap();
        assert!(window.len() >= 2);
        // Sizes of zero divide nothing.
        assert!(next(&[0; MAX_RUNS + 1]).is_some());
    }

    #[test]
    fn runs_in_a_merge_are_left_alone_and_count_as_one() {
        let mut runs = idle(&[1; 2 * MAX_RUNS]);
        for run in &mut runs[4..14] {
            run.merge = Some(0);
        }
        // Four, the merge, and two.
        assert_eq!(next_merge(&runs), None);
        let newer = idle(&[1; 4]);
        let runs: Vec<Candidate> = newer.into_iter().chain(runs).collect();
        assert_eq!(next_merge(&runs), Some(0..8));
    }

    #[test]
    fn beside_a_merge_the_ratio_is_kept() {
        let sizes: Vec<u64> = (0..2 * MAX_RUNS as u32).map(|i| 4u64.pow(i)).collect();
        let mut runs = idle(&sizes);
        assert!(next_merge(&runs).is_some());
        runs[MAX_RUNS + 1].merge = Some(3);
        runs[MAX_RUNS + 2].merge = Some(3);
        assert_eq!(next_merge(&runs), None);
    }

    #[test]
    fn runs_stay_bounded_and_amplification_is_logarithmic() {
        for (flushes, bound) in [(100, 3.6), (1_000, 6.0), (10_000, 9.0)] {
            let Simulated {
                runs,
                most,
                amplification,
                peak,
            } = simulate(std::iter::repeat_n(64, flushes));
            assert!(runs.len() <= MAX_RUNS, "{runs:?}");
            assert!(most <= MAX_RUNS + 1);
            println!(
                "{flushes} flushes: each byte written {amplification:.2} times, at most {peak:.2} times the room"
            );
            assert!(amplification <= bound, "{flushes}: {amplification:.2}");
            assert!(peak <= 2.0, "{flushes}: {peak:.2}");
            assert_eq!(runs.iter().sum::<u64>(), 64 * flushes as u64);
        }
    }

    #[test]
    fn flushes_of_many_sizes_stay_bounded_too() {
        let sizes = (0..5_000u64).map(|i| 1 + crate::filter::hash(3, &i.to_le_bytes()) % 1000);
        let simulated = simulate(sizes);
        assert!(simulated.runs.len() <= MAX_RUNS && simulated.most <= MAX_RUNS + 1);
        let amplification = simulated.amplification;
        assert!(amplification < 8.0, "{amplification:.2}");
    }
}
