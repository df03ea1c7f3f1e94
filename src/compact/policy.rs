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
use std::time::Duration;

/// Runs that may stay as they are.
pub(crate) const MAX_RUNS: usize = 8;
/// Runs at which writers begin to be slowed.
const SLOW_RUNS: usize = MAX_RUNS + 4;
/// Runs at which writers wait for a merge.
pub(crate) const STOP_RUNS: usize = 24;
/// The delay that each run above [`SLOW_RUNS`] costs a writer that fills a
/// memtable.
const SLOW_STEP: Duration = Duration::from_millis(20);

/// A run as the policy sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its size in bytes, without filters.
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

/// Of the merges in progress, given their sizes, the one that is to go on: the smallest, so
/// that one that takes hours does not hold up others.
pub(crate) fn next_piece(sizes: impl Iterator<Item = u64>) -> Option<usize> {
    let smallest = sizes.enumerate().min_by_key(|(_, bytes)| *bytes);
    smallest.map(|(place, _)| place)
}

/// What a writer that has filled a memtable waits for merges: the more, the further they
/// are behind, so that it is never stopped for long.
pub(crate) fn delay(runs: usize) -> Duration {
    let behind = runs.min(STOP_RUNS).saturating_sub(SLOW_RUNS);
    SLOW_STEP * u32::try_from(behind).unwrap_or(1)
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
    fn the_smallest_merge_goes_on_first() {
        assert_eq!(next_piece([5, 3, 3, 9].into_iter()), Some(1));
        assert_eq!(next_piece([].into_iter()), None);
    }

    #[test]
    fn writers_wait_the_longer_the_more_runs_there_are() {
        assert_eq!(delay(MAX_RUNS), Duration::ZERO);
        assert_eq!(delay(SLOW_RUNS), Duration::ZERO);
        assert_eq!(delay(SLOW_RUNS + 1), SLOW_STEP);
        assert_eq!(delay(STOP_RUNS), delay(STOP_RUNS + 100));
        assert!((0..STOP_RUNS).all(|runs| delay(runs) <= delay(runs + 1)));
    }
}
