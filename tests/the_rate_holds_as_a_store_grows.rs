//! A store that grows keeps to the rate that was asked for at every moment, whatever the kind
//! of its filters; and its filters are smaller than those of equal bits would have to be.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Builder, Canon, Driver, FilterKind, Seen};
use std::sync::Arc;
use support::{Seeded, manual, place, tell};

const ABSENT: u64 = 100_000;

fn key(i: u64) -> String {
    // Neighbours in number are far from each other in order, so that all runs have the same
    // range.
    format!(
        "https://example.com/{:016x}",
        i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}

/// What was seen of a store that grew.
#[derive(Debug, Default)]
struct Grown {
    flushes: u64,
    most_runs: u64,
    expected: f64,
    measured: f64,
    /// Bits a key, and that of equal bits in as many runs at the same rate; summed up.
    bits: f64,
    equal: f64,
}

/// Measures the rate with absent keys that were not asked for before.
fn measure(seen: &Seen, round: u64) -> f64 {
    let before = seen.stats().lookup;
    let first = (1 << 40) + round * ABSENT;
    let absent: Vec<String> = (first..first + ABSENT).map(key).collect();
    for absent in absent.chunks(1000) {
        assert!(seen.get_many(absent).unwrap().iter().all(Option::is_none));
    }
    let work = seen.stats().lookup.since(&before);
    assert_eq!((work.misses(), work.hits), (ABSENT, 0));
    assert_eq!(work.wasted_reads, work.false_positives);
    work.wasted_reads as f64 / work.misses() as f64
}

/// The bits a key of a classic filter.
fn classic(rate: f64) -> f64 {
    -rate.ln() / std::f64::consts::LN_2.powi(2)
}

fn grow(kind: FilterKind, asked: f64, flushes: u64, measured_each: u64) -> Grown {
    let (_dir, path) = place();
    let seen = manual(&path)
        .env(support::env_with(&Arc::default(), 1))
        .filter(kind)
        .false_positive_rate(asked)
        .open()
        .unwrap();
    let mut grown = Grown::default();
    let mut random = 0..;
    while grown.flushes < flushes {
        let keys: Vec<String> = random.by_ref().take(2000).map(key).collect();
        seen.insert_many(&keys).unwrap();
        seen.flush().unwrap();
        grown.flushes += 1;
        // Before the merge that may be due, and after it.
        for _ in 0..2 {
            let stats = seen.stats();
            assert_eq!((stats.filter.kind, stats.filter.asked), (kind, asked));
            let by_run: f64 = stats.by_run.iter().map(|run| run.expected).sum();
            assert!((by_run - stats.filter.expected).abs() < 1e-12);
            assert!(stats.filter.expected <= asked, "{kind} {asked}: {stats:#?}");
            grown.expected = grown.expected.max(stats.filter.expected);
            grown.most_runs = grown.most_runs.max(stats.runs);
            while seen.step().unwrap() {}
        }
        let stats = seen.stats();
        grown.bits += stats.filter.bits_per_key;
        if grown.flushes % measured_each == 0 {
            let measured = measure(&seen, grown.flushes);
            grown.measured = grown.measured.max(measured);
            // Five standard deviations of the count.
            let noise = 5.0 * (asked / ABSENT as f64).sqrt();
            assert!(
                measured <= 1.15 * asked + noise,
                "{kind} {asked}: {measured}"
            );
            let expected = stats.filter.expected;
            assert!(
                (measured - expected).abs() <= 0.1 * expected + noise,
                "{kind}: {measured} {expected}"
            );
        }
    }
    seen.close().unwrap();
    grown.bits /= flushes as f64;
    grown.equal = classic(asked / grown.most_runs as f64);
    tell(&format!(
        "{kind} {asked}: {} flushes, up to {} runs; expected at most {:.5}, measured {:.5}, {:.2} bits a key; \
         classic filters of equal bits need {:.2}",
        grown.flushes, grown.most_runs, grown.expected, grown.measured, grown.bits, grown.equal
    ));
    grown
}

#[test]
fn whatever_the_kind() {
    for asked in [0.01, 0.001] {
        for kind in FilterKind::FILTERS {
            grow(kind, asked, 60, 6);
        }
    }
}

#[test]
fn with_fewer_bits_than_equal_ones() {
    let grown = grow(FilterKind::Bloom, 0.01, 150, 50);
    assert!(grown.bits < 0.95 * grown.equal, "{grown:?}");
}

/// Flushes go on while merges are in progress, whose inputs are in force until their outputs
/// are.
#[test]
fn beside_merges_in_progress() {
    for kind in FilterKind::FILTERS {
        let (_dir, path) = place();
        let builder = manual(&path).filter(kind).false_positive_rate(0.01);
        let seen = builder.merge_piece(300).open().unwrap();
        let random = Seeded::new(9);
        let mut next = 0..;
        let mut pieces = 0;
        for _ in 0..150 {
            let count = 100 + random.below(1500) as usize;
            let keys: Vec<String> = next.by_ref().take(count).map(key).collect();
            seen.insert_many(&keys).unwrap();
            seen.flush().unwrap();
            for _ in 0..random.below(12) {
                pieces += u64::from(seen.step().unwrap());
                let filter = seen.stats().filter;
                assert!(filter.expected <= 0.01, "{kind}: {filter:?}");
            }
        }
        let stats = seen.stats();
        assert!(stats.merges > 5 && pieces > 10 * stats.merges, "{stats:#?}");
        seen.close().unwrap();
    }
}

/// A store whose merges fall behind has many runs.
#[test]
fn while_merges_wait() {
    let (_dir, path) = place();
    let seen = manual(&path).false_positive_rate(0.01).open().unwrap();
    let mut next = 0..;
    for _ in 0..22 {
        let keys: Vec<String> = next.by_ref().take(500).map(key).collect();
        seen.insert_many(&keys).unwrap();
        seen.flush().unwrap();
    }
    let stats = seen.stats();
    assert_eq!(stats.runs, 22);
    assert!(stats.filter.expected <= 0.01, "{stats:#?}");
    // Nor is memory wasted on any.
    assert!(
        stats
            .by_run
            .iter()
            .all(|run| run.filter_bits_per_key < 38.0),
        "{stats:#?}"
    );
}

/// What was chosen stays with the store; what is written from then on follows another choice.
#[test]
fn the_choice_is_kept_with_the_store() {
    let (_dir, path) = place();
    let open = |change: fn(Builder) -> Builder| {
        let builder = Seen::builder(&path)
            .canon(Canon::raw())
            .driver(Driver::Manual);
        change(builder).open().unwrap()
    };
    let choice = |seen: &Seen| (seen.stats().filter.kind, seen.stats().filter.asked);
    let seen = open(|b| b);
    assert_eq!(choice(&seen), (FilterKind::default(), 0.01));
    seen.close().unwrap();
    let seen = open(|b| b.filter(FilterKind::Fuse).false_positive_rate(0.001));
    seen.insert_many(&(0..3000).map(key).collect::<Vec<_>>())
        .unwrap();
    seen.close().unwrap();
    let seen = open(|b| b);
    assert_eq!(choice(&seen), (FilterKind::Fuse, 0.001));
    let stats = seen.stats();
    assert_eq!(stats.by_run[0].filter, FilterKind::Fuse);
    assert!(stats.filter.expected <= 0.001);
    seen.close().unwrap();
    let reader = Seen::builder(&path).open_read_only().unwrap();
    assert_eq!(choice(&reader), (FilterKind::Fuse, 0.001));
    // Another kind and rate are for what is written then; all is, when it is merged.
    let seen = open(|b| b.filter(FilterKind::Bloom).false_positive_rate(0.05));
    seen.insert(key(5000)).unwrap();
    seen.flush().unwrap();
    let kinds = |seen: &Seen| -> Vec<FilterKind> {
        seen.stats().by_run.iter().map(|run| run.filter).collect()
    };
    assert_eq!(kinds(&seen), [FilterKind::Bloom, FilterKind::Fuse]);
    seen.compact().unwrap();
    assert_eq!(kinds(&seen), [FilterKind::Bloom]);
    assert!((0.02..=0.05).contains(&seen.stats().filter.expected));
    reader.refresh().unwrap();
    assert_eq!(choice(&reader), (FilterKind::Bloom, 0.05));
    seen.close().unwrap();
}

/// Each run has its own measured rate, and those of all add up.
#[test]
fn measured_rates_add_up() {
    let (_dir, path) = place();
    let seen = manual(&path).false_positive_rate(0.2).open().unwrap();
    assert_eq!(seen.stats().filter.measured, None);
    let random = Seeded::new(4);
    for run in 0..4 {
        let keys: Vec<String> = (0..3000).map(|i| key(run * 3000 + i)).collect();
        seen.insert_many(&keys).unwrap();
        seen.flush().unwrap();
    }
    seen.close().unwrap();
    let seen = manual(&path).open().unwrap();
    // Half of what is asked for is there, and passes newer runs: that is not counted.
    for _ in 0..20_000 {
        seen.contains(key(random.below(12_000))).unwrap();
        seen.contains(key(1 << 50 | random.below(1 << 40))).unwrap();
    }
    let stats = seen.stats();
    assert_eq!(stats.lookup.misses(), 20_000);
    assert!(stats.lookup.wasted_reads < stats.lookup.false_positives);
    let sum: f64 = stats.by_run.iter().filter_map(|run| run.measured).sum();
    let measured = stats.filter.measured.unwrap();
    assert!((sum - measured).abs() < 1e-12, "{stats:#?}");
    assert!(
        (measured / stats.filter.expected - 1.0).abs() < 0.1,
        "{stats:#?}"
    );
    seen.close().unwrap();
}
