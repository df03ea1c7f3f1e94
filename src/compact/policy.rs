//! Which runs to merge next: a pure function of their sizes.
//!
//! A lookup asks every run, so that their number is bounded; each merge rewrites
//! what it merges, so that a large run should be merged rarely. The rule: up to
//! [`MAX_RUNS`] runs, nothing is merged. Above that, look at every window of
//! neighbours (only neighbours keep the order of age) whose largest run is at
//! most half of the rest together, and merge the one that rewrites the fewest
//! bytes for each run that it removes. The ratio makes every byte's run grow by
//! half at least each time it is rewritten, which keeps write amplification
//! logarithmic in the size of the store. If no window has the ratio, take the
//! one that comes closest.

use std::ops::Range;

/// Runs that may stay as they are.
pub(crate) const MAX_RUNS: usize = 8;

/// The runs to merge now, given the sizes in bytes of all, newest first.
pub(crate) fn next_merge(sizes: &[u64]) -> Option<Range<usize>> {
    if sizes.len() <= MAX_RUNS {
        return None;
    }
    let mut cheapest: Option<(f64, Range<usize>)> = None;
    let mut closest: Option<(f64, Range<usize>)> = None;
    for start in 0..sizes.len() {
        let mut sum = 0u64;
        let mut largest = 0u64;
        for (end, &size) in sizes.iter().enumerate().skip(start) {
            sum = sum.saturating_add(size);
            largest = largest.max(size);
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
    cheapest.or(closest).map(|(_, window)| window)
}

fn improve(best: &mut Option<(f64, Range<usize>)>, cost: f64, window: &Range<usize>) {
    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
        *best = Some((cost, window.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flushes runs of the given sizes and merges when told to; the runs at the
    /// end, the most runs there ever were, and bytes written for each flushed.
    fn simulate(flushes: impl IntoIterator<Item = u64>) -> (Vec<u64>, usize, f64) {
        let mut runs: Vec<u64> = Vec::new();
        let (mut flushed, mut written, mut most) = (0u64, 0u64, 0);
        for size in flushes {
            runs.insert(0, size);
            flushed += size;
            written += size;
            most = most.max(runs.len());
            while let Some(window) = next_merge(&runs) {
                let merged: u64 = runs[window.clone()].iter().sum();
                written += merged;
                runs.splice(window, [merged]);
            }
        }
        (runs, most, written as f64 / flushed as f64)
    }

    #[test]
    fn nothing_is_merged_up_to_the_bound() {
        assert_eq!(next_merge(&[]), None);
        assert_eq!(next_merge(&[5; MAX_RUNS]), None);
        assert_eq!(next_merge(&[5; MAX_RUNS + 1]), Some(0..MAX_RUNS + 1));
    }

    #[test]
    fn a_large_old_run_is_left_alone() {
        let mut sizes = vec![1; MAX_RUNS];
        sizes.push(1000);
        assert_eq!(next_merge(&sizes), Some(0..MAX_RUNS));
    }

    #[test]
    fn without_the_ratio_the_closest_window_is_taken() {
        let sizes: Vec<u64> = (0..=MAX_RUNS as u32).map(|i| 4u64.pow(i)).collect();
        let window = next_merge(&sizes).unwrap();
        assert!(window.len() >= 2);
        // Sizes of zero divide nothing.
        assert!(next_merge(&[0; MAX_RUNS + 1]).is_some());
    }

    #[test]
    fn runs_stay_bounded_and_amplification_is_logarithmic() {
        for (flushes, bound) in [(100, 3.6), (1_000, 6.0), (10_000, 9.0)] {
            let (runs, most, amplification) = simulate(std::iter::repeat_n(64, flushes));
            assert!(runs.len() <= MAX_RUNS, "{runs:?}");
            assert!(most <= MAX_RUNS + 1);
            println!("{flushes} flushes: each byte written {amplification:.2} times");
            assert!(amplification <= bound, "{flushes}: {amplification:.2}");
            assert_eq!(runs.iter().sum::<u64>(), 64 * flushes as u64);
        }
    }

    #[test]
    fn flushes_of_many_sizes_stay_bounded_too() {
        let sizes = (0..5_000u64).map(|i| 1 + crate::filter::hash(3, &i.to_le_bytes()) % 1000);
        let (runs, most, amplification) = simulate(sizes);
        assert!(runs.len() <= MAX_RUNS && most <= MAX_RUNS + 1);
        assert!(amplification < 8.0, "{amplification:.2}");
    }
}
