//! Simulated: what filters let through, and take, as a store grows under the merge policy.
#![cfg(any(test, feature = "cli"))]

use super::{Candidate, next_merge};
use crate::filter::{FilterKind, Size, share};

/// Flushes that are simulated at most. For more, a store needs a little less.
#[cfg(feature = "cli")]
const FLUSHES: u64 = 1000;

/// The bits a key that the filters of a store take which grew to `keys` keys by flushes of
/// `flush`: the most there were while it grew by the last half.
#[cfg(feature = "cli")]
pub(crate) fn filter_bits(kind: FilterKind, asked: f64, keys: u64, flush: u64) -> f64 {
    let flush = flush.max(keys / FLUSHES).max(1);
    let flushes = keys.div_ceil(flush).max(1);
    let mut growth = Growth::new(kind, asked);
    let mut most = 0.0f64;
    for count in 1..=flushes {
        growth.flush(flush.min(keys));
        if count > flushes / 2 {
            most = most.max(growth.bits());
        }
    }
    most
}

/// A run: its keys, and its filters'.
#[derive(Debug, Clone, Copy)]
struct Run {
    keys: u64,
    rate: f64,
    bits_per_key: f64,
}

/// A store that grows.
#[derive(Debug)]
struct Growth {
    kind: FilterKind,
    asked: f64,
    runs: Vec<Run>,
    /// The most that all filters together let through, as a part of the rate asked for.
    worst: f64,
    /// The most runs.
    most: usize,
}

impl Growth {
    fn new(kind: FilterKind, asked: f64) -> Growth {
        Growth {
            kind,
            asked,
            runs: Vec::new(),
            worst: 0.0,
            most: 0,
        }
    }

    fn keys(&self) -> u64 {
        self.runs.iter().map(|run| run.keys).sum()
    }

    fn rate(&self) -> f64 {
        self.runs.iter().map(|run| run.rate).sum()
    }

    /// Bits a key, of all runs together.
    fn bits(&self) -> f64 {
        let bits = self
            .runs
            .iter()
            .map(|run| run.bits_per_key * run.keys as f64);
        bits.sum::<f64>() / self.keys().max(1) as f64
    }

    /// Adds a run, then merges as long as the policy wants to.
    fn flush(&mut self, keys: u64) {
        let all = self.keys() + keys;
        self.put(0, keys, all);
        loop {
            self.worst = self.worst.max(self.rate() / self.asked);
            let idle = self.runs.iter().map(|run| Candidate {
                bytes: run.keys,
                merge: None,
            });
            let Some(window) = next_merge(&idle.collect::<Vec<_>>()) else {
                return;
            };
            let merged = self.runs.drain(window.clone());
            let keys = merged.map(|run| run.keys).sum();
            self.put(window.start, keys, all);
        }
    }

    fn put(&mut self, place: usize, keys: u64, all: u64) {
        let share = share(self.asked, keys, all, self.rate());
        let size = Size::for_rate(self.kind, share);
        let run = Run {
            keys,
            rate: size.rate(self.kind),
            bits_per_key: size.bits_per_key,
        };
        self.runs.insert(place, run);
        self.most = self.most.max(self.runs.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits a key on average over even flushes; the same if all runs had equal bits, for the
    /// same rate at each moment; and what equal bits need so that the rate holds at each.
    fn saved(kind: FilterKind, asked: f64, flushes: u64) -> [f64; 3] {
        let bits = |rate| Size::for_rate(kind, rate).bits_per_key;
        let mut growth = Growth::new(kind, asked);
        let (mut shared, mut equal) = (0.0, 0.0);
        for _ in 0..flushes {
            growth.flush(10_000);
            shared += growth.bits() / flushes as f64;
            equal += bits(growth.rate() / growth.runs.len() as f64) / flushes as f64;
        }
        assert!(
            growth.worst <= 1.0,
            "{kind} {asked} {flushes}: {}",
            growth.worst
        );
        let bound = bits(asked / growth.most as f64);
        println!(
            "{kind} {asked}, {flushes} flushes: {shared:.2} bits a key, at most {:.3} of the rate; \
             equal bits {equal:.2} for the same rates, {bound:.2} to hold the bound",
            growth.worst
        );
        [shared, equal, bound]
    }

    #[test]
    fn the_rate_holds_at_every_moment_and_costs_fewer_bits_than_equal_ones() {
        for kind in FilterKind::FILTERS {
            for asked in [0.01, 0.001] {
                saved(kind, asked, 8);
                for (flushes, least) in [(100, 0.01), (300, 0.05)] {
                    let [shared, equal, bound] = saved(kind, asked, flushes);
                    assert!(shared <= equal * (1.0 - least), "{kind} {asked} {flushes}");
                    assert!(shared <= bound * 0.95, "{kind} {asked} {flushes}");
                }
            }
        }
    }

    #[test]
    fn flushes_of_many_sizes_keep_the_rate_too() {
        for asked in [0.3, 0.01, 0.000_001] {
            let mut growth = Growth::new(FilterKind::Bloom, asked);
            for i in 0..500u64 {
                growth.flush(1 + crate::filter::hash(3, &i.to_le_bytes()) % 100_000);
            }
            assert!(growth.worst <= 1.0, "{asked}: {}", growth.worst);
        }
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_bits_of_a_store_are_more_than_those_of_a_run() {
        for kind in FilterKind::FILTERS {
            let one = Size::for_rate(kind, 0.01).bits_per_key;
            let mut last = 0.0;
            for keys in [1, 1000, 657_000, 10_000_000, 1_000_000_000, 1 << 50] {
                let bits = filter_bits(kind, 0.01, keys, 657_000);
                assert!(bits >= one && bits < one + 7.0, "{kind} {keys}: {bits}");
                last = bits;
            }
            assert!(last < one + 4.0, "{kind}: {last}");
        }
        assert_eq!(filter_bits(FilterKind::None, 0.01, 1000, 10), 0.0);
        assert_eq!(filter_bits(FilterKind::Bloom, 0.01, 0, 0), 0.0);
    }
}
