//! What each filter may let through, and what it may take: pure functions of the runs'
//! sizes.
//!
//! The rate p that a user asks for bounds the needless reads of all runs together, for a
//! lookup of an absent key. For the least memory, each run's filter has the share of p that
//! its keys have of all (Dayan, Athanassoulis and Idreos, "Monkey: Optimal Navigable
//! Key-Value Store", SIGMOD 2017): a run of few keys is made very exact for little.
//!
//! A filter is built once, though, while the store goes on growing, so that shares given by
//! size alone add up to more than p (up to 2.7 times). So a new filter takes no more than
//! [`TAKEN`] of what the others leave of p, which keeps the sum below p at every moment.
//! The tests in `compact` simulate how many bits that costs.

use super::{FilterKind, Size};

/// The most that a new filter takes of what the others leave of the rate. From 0.5 to 0.7 the
/// simulated bits a key differ little on average; at the worst moments, 0.5 takes the fewest.
const TAKEN: f64 = 0.5;
/// The part of the rate that is shared out so. The rest is for the least shares.
const SHARED: f64 = 0.96;
/// The least share, as a part of that by size: a store that was opened with a lower rate than
/// before, or one whose merges fell behind, does not spend all memory on a single run.
const LEAST: f64 = 1.0 / 256.0;

/// How the filters of a new run are built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FilterPlan {
    pub(crate) kind: FilterKind,
    pub(crate) size: Size,
    /// The most keys of a segment: building its filter takes memory for each.
    pub(crate) most_keys: u64,
}

impl FilterPlan {
    /// Filters of one rate, whatever else there is.
    pub(crate) fn for_rate(kind: FilterKind, rate: f64) -> FilterPlan {
        FilterPlan::for_size(kind, Size::for_rate(kind, rate))
    }

    /// Filters of one size, in segments of any number of keys.
    pub(crate) fn for_size(kind: FilterKind, size: Size) -> FilterPlan {
        FilterPlan {
            kind,
            size,
            most_keys: u64::MAX,
        }
    }
}

/// The rate for a run of `keys` keys of the `all` that there will be, when filters that stay
/// have `others` together.
pub(crate) fn share(asked: f64, keys: u64, all: u64, others: f64) -> f64 {
    let by_size = asked * keys as f64 / all.max(keys).max(1) as f64;
    let left = TAKEN * (SHARED * asked - others);
    by_size.min(left).max(by_size * LEAST)
}

/// The bytes that filters of `kind` take for runs of these numbers of keys, at a rate for
/// all together.
fn bytes_for(kind: FilterKind, rate: f64, runs: &[u64]) -> u64 {
    let all: u64 = runs.iter().sum();
    let bytes = runs.iter().filter(|&&keys| keys > 0).map(|&keys| {
        let rate = rate * keys as f64 / all as f64;
        kind.bytes(keys, Size::for_rate(kind, rate))
    });
    bytes.fold(0, u64::saturating_add)
}

/// The lowest rate, not below `asked`, at which filters for these runs fit `bytes`; 1 if none
/// does.
pub(crate) fn fitting_rate(kind: FilterKind, asked: f64, runs: &[u64], bytes: u64) -> f64 {
    if bytes_for(kind, asked, runs) <= bytes {
        return asked;
    }
    if bytes_for(kind, HIGHEST, runs) > bytes {
        return 1.0;
    }
    // By the logarithm: bits are about even in it.
    let (mut fits, mut does_not) = (HIGHEST.ln(), asked.ln());
    while fits - does_not > 0.01 {
        let middle = (fits + does_not) / 2.0;
        if bytes_for(kind, middle.exp(), runs) <= bytes {
            fits = middle;
        } else {
            does_not = middle;
        }
    }
    fits.exp()
}

/// A filter of a higher rate saves too little.
const HIGHEST: f64 = 0.9;

/// How a memory for memtables, filters and indexes is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// What memtables and indexes leave.
    pub(crate) filters: u64,
}

/// Of the room for filters, sixteenths for those in force as they should be. The rest is for
/// making others, and for those that are larger than they should be by now: a filter that was
/// built when there was room for it stays until its run is merged.
const IN_FORCE: u64 = 7;
const SIXTEENTHS: u64 = 16;

impl Room {
    /// What `memory` leaves to filters beside `memtables` and `indexes`.
    pub(crate) fn new(memory: u64, memtables: u64, indexes: u64) -> Room {
        Room {
            filters: memory.saturating_sub(memtables).saturating_sub(indexes),
        }
    }

    /// For filters in force.
    pub(crate) fn in_force(self) -> u64 {
        self.filters / SIXTEENTHS * IN_FORCE
    }

    /// The most that a new filter may take when other filters, and making them and this one,
    /// take `bytes`: half of what is left, so that something is left for those to come.
    pub(crate) fn free(self, bytes: u64) -> u64 {
        self.filters.saturating_sub(bytes) / 2
    }

    /// The memory that filters for these runs need beside memtables and indexes, at a rate for
    /// all together.
    pub(crate) fn needed(kind: FilterKind, rate: f64, runs: &[u64]) -> u64 {
        let in_force = bytes_for(kind, rate, runs);
        let room = in_force.div_ceil(IN_FORCE).saturating_mul(SIXTEENTHS);
        // One may take half of what is left, and is built for half of the rate that is left.
        let halves = bytes_for(kind, rate / 2.0, runs).saturating_mul(2);
        room.max(halves.saturating_add(LEAST_KEYS * kind.build_bytes()))
    }

    /// The most keys of a segment, so that building its filter takes a sixteenth.
    pub(crate) fn most_keys(self, kind: FilterKind) -> u64 {
        (self.filters / SIXTEENTHS / kind.build_bytes()).max(LEAST_KEYS)
    }
}

/// Segments of fewer keys are not worth their files.
const LEAST_KEYS: u64 = 20_000;

impl FilterKind {
    /// Bytes a key that building a filter takes beside the filter.
    pub(crate) fn build_bytes(self) -> u64 {
        match self {
            FilterKind::None => 1,
            // The hashes, in a vector that may be about to grow.
            FilterKind::Bloom | FilterKind::Blocked => 16,
            // And what `fuse` says.
            FilterKind::Fuse => 43,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_what_its_size_earns_and_never_more_than_is_left() {
        assert_eq!(share(0.01, 10, 100, 0.0), 0.001);
        assert!((share(0.01, 100, 100, 0.0) - 0.0048).abs() < 1e-9);
        assert!((share(0.01, 100, 100, 0.0046) - 0.0025).abs() < 1e-9);
        // Nothing is left: the least.
        assert_eq!(share(0.01, 256, 512, 0.02), 0.01 / 512.0);
        // Numbers that cannot be.
        assert!(share(0.01, 0, 0, 0.0) >= 0.0);
        assert!(share(0.01, 10, 5, 0.0) <= 0.01);
    }

    #[test]
    fn the_rate_that_fits_fits_and_no_lower_one_does() {
        let runs = [10_000, 100_000, 3_000_000];
        for kind in FilterKind::FILTERS {
            let needed = bytes_for(kind, 0.001, &runs);
            assert_eq!(fitting_rate(kind, 0.001, &runs, needed), 0.001);
            let fits = fitting_rate(kind, 0.001, &runs, needed / 2);
            assert!(
                fits > 0.001 && bytes_for(kind, fits, &runs) <= needed / 2,
                "{kind}"
            );
            let lower = bytes_for(kind, fits / 2.1, &runs);
            assert!(lower > needed / 2, "{kind}: {fits}");
            assert_eq!(fitting_rate(kind, 0.001, &runs, 1000), 1.0);
        }
        assert_eq!(fitting_rate(FilterKind::Blocked, 0.01, &[], 0), 0.01);
        assert_eq!(fitting_rate(FilterKind::None, 0.01, &runs, 0), 0.01);
    }

    #[test]
    fn what_filters_need_gives_them_what_they_need() {
        for kind in FilterKind::FILTERS {
            for runs in [&[][..], &[1], &[1000, 3_000_000], &[1 << 40]] {
                let room = Room::new(Room::needed(kind, 0.001, runs) + 30, 10, 20);
                assert!(room.in_force() >= bytes_for(kind, 0.001, runs));
                assert!(room.free(0) >= bytes_for(kind, 0.0005, runs));
            }
        }
        assert_eq!(Room::new(5, 10, 20).in_force(), 0);
    }
}
