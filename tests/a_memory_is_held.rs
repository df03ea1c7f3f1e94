//! A store that was given a memory for all together holds it: filters that do not fit are
//! built smaller, or stay on disk, and the store says so.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::{Builder, Canon, Driver, Durability, Error, FilterKind, Seen, Stats};
use std::path::Path;
use support::{place, tell};

const MEMORY: u64 = 8 << 20;

fn key(i: u64) -> String {
    format!(
        "https://example.com/{:016x}",
        i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    )
}

/// Characters that no dictionary has codes for.
fn noise(mut i: u64) -> String {
    let characters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut next = || {
        i = i
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        char::from(characters[(i >> 58) as usize])
    };
    (0..1000).map(|_| next()).collect()
}

fn builder(path: &Path) -> Builder {
    Seen::builder(path)
        .canon(Canon::raw())
        .stamps(false)
        .durability(Durability::Manual)
        .driver(Driver::Manual)
}

fn taken(stats: &Stats) -> u64 {
    stats.memory.memtables + stats.memory.filters + stats.memory.indexes
}

/// Inserts keys, and looks at what is taken between any two steps of background work.
fn fill(seen: &Seen, from: u64, to: u64) -> u64 {
    let mut most = 0;
    let mut next = from..to;
    while !next.is_empty() {
        let keys: Vec<String> = next.by_ref().take(1000).map(key).collect();
        assert!(seen.insert_many(&keys).unwrap().iter().all(|&new| new));
        // Of a store with threads of its own, this does nothing.
        while seen.step().unwrap_or(false) {
            most = most.max(taken(&seen.stats()));
        }
        most = most.max(taken(&seen.stats()));
    }
    most
}

/// A store of `kind` that grows to 800,000 keys, and outgrows what it was given.
fn outgrow(kind: FilterKind, rate: f64, memory: u64, memtable: usize, driver: Driver) {
    let (_dir, path) = place();
    let open = |memory, is_chosen| {
        let builder = builder(&path).driver(driver).memory(memory);
        let builder = match is_chosen {
            true => builder.memtable_size(memtable),
            false => builder,
        };
        builder.open().unwrap()
    };
    let given = builder(&path).filter(kind).false_positive_rate(rate);
    let given = given.driver(driver).memory(memory).memtable_size(memtable);
    let seen = given.open().unwrap();
    let most = fill(&seen, 0, 800_000);
    assert!(most <= memory, "{kind}: {most}");
    let what = |seen: &Seen| {
        let stats = seen.stats();
        let filter = stats.filter;
        let text = format!(
            "{kind}, {memory} and {memtable} bytes: asked {}, expected {:.6}, fits {:.6}, needs {}, takes {}, {} runs",
            filter.asked,
            filter.expected,
            filter.fits.unwrap(),
            filter.needed,
            taken(&stats),
            stats.runs
        );
        assert!(taken(&stats) <= memory, "{text}");
        assert_eq!(filter.memory, Some(memory));
        tell(&text);
        (filter, stats)
    };
    let (filter, stats) = what(&seen);
    assert!(filter.needed > memory, "{filter:?}");
    let fits = filter.fits.unwrap();
    assert!(fits > filter.asked && fits < 0.5, "{filter:?}");
    // What does not fit is not dropped: it serves at about the rate that does. With threads,
    // what a flush and merges take at the same time leaves less for some.
    let most = match driver {
        Driver::Manual => 4.0 * fits + 0.01,
        _ => 0.5,
    };
    assert!(filter.expected < most, "{filter:?}");
    for run in &stats.by_run {
        assert!(run.filter == kind && run.expected < 0.5, "{run:?}");
    }
    // Nothing is forgotten, and nothing else is there.
    for i in (0..800_000).step_by(997) {
        assert!(seen.contains(key(i)).unwrap());
        assert!(!seen.contains(key(i + 10_000_000)).unwrap());
    }
    // All in one run, twice: the second time there is nothing to do.
    seen.compact().unwrap();
    let (filter, stats) = what(&seen);
    assert_eq!(stats.runs, 1);
    assert!(filter.expected < 4.0 * fits + 0.01, "{filter:?}");
    let merges = stats.merges;
    seen.compact().unwrap();
    assert_eq!(seen.stats().merges, merges);
    seen.close().unwrap();
    // Given what it needs, it is what was asked for once it is compacted.
    // A size of memtables that was chosen is chosen again.
    let is_chosen = memtable as u64 != memory / 8;
    let seen = open(filter.needed, is_chosen);
    seen.compact().unwrap();
    let filter = seen.stats().filter;
    assert!(filter.expected <= filter.asked, "{filter:?}");
    assert_eq!(filter.fits, Some(filter.asked));
    seen.close().unwrap();
}

#[test]
fn as_filters_outgrow_it() {
    for kind in FilterKind::FILTERS {
        outgrow(kind, 0.000_001, 8 << 20, 1 << 20, Driver::Manual);
        outgrow(kind, 0.000_001, 8 << 20, 3 << 19, Driver::Threads);
    }
}

#[test]
fn by_leaving_filters_on_disk_that_no_longer_fit() {
    let (_dir, path) = place();
    let seen = builder(&path)
        .false_positive_rate(0.000_001)
        .memtable_size(1 << 20)
        .open()
        .unwrap();
    fill(&seen, 0, 900_000);
    seen.compact().unwrap();
    fill(&seen, 900_000, 950_000);
    seen.flush().unwrap();
    let before = seen.stats();
    assert!(before.memory.filters > 3 << 20, "{before:#?}");
    seen.close().unwrap();
    // The same without a memory, for writing and reading.
    for builder in [builder(&path), builder(&path).memory(1 << 30)] {
        let seen = builder.open_read_only().unwrap();
        assert_eq!(seen.stats().memory.filters, before.memory.filters);
    }
    let open = || builder(&path).memory(MEMORY).memtable_size(1 << 20).open();
    let seen = open().unwrap();
    let stats = seen.stats();
    assert!(taken(&stats) <= MEMORY, "{stats:#?}");
    // The oldest run has none; the others have.
    let (oldest, newer) = stats.by_run.split_last().unwrap();
    assert_eq!(oldest.filter, FilterKind::None);
    assert_eq!((oldest.expected, oldest.filter_bits_per_key), (1.0, 0.0));
    assert!(
        newer.iter().all(|run| run.filter != FilterKind::None),
        "{newer:?}"
    );
    assert!(
        stats.filter.expected > 1.0 && stats.filter.fits.unwrap() < 0.5,
        "{stats:#?}"
    );
    for i in (0..950_000).step_by(997) {
        assert!(seen.contains(key(i)).unwrap());
        assert!(!seen.contains(key(i + 10_000_000)).unwrap());
    }
    // Writers go on, and what is written anew takes what fits, also when merges have made room
    // that old filters would fill.
    let most = fill(&seen, 950_000, 1_000_000);
    let runs = seen.stats().by_run;
    let (_, newer) = runs.split_last().unwrap();
    assert!(
        newer.iter().all(|run| run.filter != FilterKind::None),
        "{newer:?}"
    );
    seen.compact().unwrap();
    let stats = seen.stats();
    assert!(most.max(taken(&stats)) <= MEMORY);
    assert!(stats.filter.expected < 0.5, "{stats:#?}");
    seen.close().unwrap();
    assert!(
        seendb::verify(&path, &mut |_| {})
            .unwrap()
            .damage
            .is_empty()
    );
}

#[test]
fn or_is_refused_where_it_cannot_be() {
    let (_dir, path) = place();
    let refused = |builder: Builder| match builder.open().unwrap_err() {
        Error::InvalidOption {
            option,
            expected,
            found,
        } => {
            assert_eq!(option, "memory");
            (expected, found)
        }
        other => panic!("{other}"),
    };
    for (memory, memtable) in [(0, 1 << 20), (MEMORY - 1, 1 << 20), (MEMORY, 3 << 20)] {
        let (expected, found) = refused(builder(&path).memory(memory).memtable_size(memtable));
        assert!(expected.starts_with("at least "), "{expected}");
        assert_eq!(found, memory.to_string());
    }
    assert!(!path.exists());
    // Without a size of memtables, they take what the memory allows.
    builder(&path)
        .memory(MEMORY)
        .open()
        .unwrap()
        .close()
        .unwrap();
    // Indexes cannot be left on disk.
    let seen = builder(&path).open().unwrap();
    // Blocks end between keys that have 3,000 bytes in common, as those with them fill
    // several, so that the index has these whole.
    for i in 0..900 {
        let long = format!("{}{:_>3000}", key(i), "");
        let keys: Vec<String> = (0..16)
            .map(|j| format!("{long}{}", noise(16 * i + j)))
            .collect();
        seen.insert_many(&keys).unwrap();
    }
    seen.compact().unwrap();
    let indexes = seen.stats().memory.indexes;
    assert!(indexes > MEMORY / 4, "{indexes}");
    seen.close().unwrap();
    let little = || builder(&path).memtable_size(2 << 20);
    let (expected, _) = refused(little().memory(MEMORY));
    let least: u64 = expected.split(' ').nth(2).unwrap().parse().unwrap();
    assert!(least > indexes);
    refused(little().memory(least - 1));
    little().memory(least).open().unwrap().close().unwrap();
}
