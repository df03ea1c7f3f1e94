//! Each run that a lookup comes to is skipped or read, and every step is counted.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{LookupStats, Seen};
use support::{Seeded, manual, place};

fn key(i: u64) -> String {
    format!("https://host{}.example/{i:012}", i % 13)
}

fn check(work: &LookupStats, lookups: u64, hits: u64) {
    assert_eq!((work.lookups, work.hits), (lookups, hits));
    assert_eq!(
        work.runs_considered,
        work.key_range_skips + work.filter_skips + work.blocks_read
    );
    // A block that was read had the key, or was read in vain.
    assert_eq!(
        work.blocks_read,
        work.hits - work.memtable_hits + work.false_positives
    );
    assert_eq!(work.blocks_read == 0, work.bytes_read == 0);
}

fn during(seen: &Seen, run: impl FnOnce()) -> LookupStats {
    let before = seen.stats().lookup;
    run();
    seen.stats().lookup.since(&before)
}

#[test]
fn over_many_lookups() {
    let (_dir, path) = place();
    let seen = manual(&path).false_positive_rate(0.05).open().unwrap();
    let per_run = 4000;
    for run in 0..6 {
        for i in 0..per_run {
            seen.insert(key(i * 6 + run)).unwrap();
        }
        seen.flush().unwrap();
    }
    for i in 0..100 {
        seen.insert(key(1_000_000 + i)).unwrap();
    }
    let stats = seen.stats();
    assert_eq!((stats.runs, stats.memtable_entries), (6, 100));
    assert_eq!(stats.entries, per_run * 6 + 100);
    check(&stats.lookup, per_run * 6 + 100, 0);

    let random = Seeded::new(1);
    let present: Vec<String> = (0..5000).map(|_| key(random.below(per_run * 6))).collect();
    let absent: Vec<String> = (0..5000).map(|i| key(2_000_000 + i)).collect();
    let single = during(&seen, || {
        present
            .iter()
            .for_each(|key| assert!(seen.contains(key).unwrap()))
    });
    check(&single, 5000, 5000);
    assert_eq!(single.memtable_hits, 0);
    let many = during(&seen, || {
        assert!(seen.get_many(&present).unwrap().iter().all(Option::is_some))
    });
    assert_eq!(many, single);
    let missing = during(&seen, || {
        assert!(seen.get_many(&absent).unwrap().iter().all(Option::is_none))
    });
    check(&missing, 5000, 0);
    assert_eq!(missing.runs_considered, 5000 * stats.runs);
    // Six filters, together wrong in five of a hundred at most.
    let rate = missing.false_positives as f64 / 5000.0;
    assert!((0.01..0.06).contains(&rate), "{rate}");
    let memory = during(&seen, || {
        for i in 0..100 {
            assert!(seen.contains(key(1_000_000 + i)).unwrap());
        }
    });
    check(&memory, 100, 100);
    assert_eq!((memory.memtable_hits, memory.runs_considered), (100, 0));
    let outside = during(&seen, || assert!(!seen.contains("zzz").unwrap()));
    assert_eq!(outside.key_range_skips, stats.runs);
    // Threads count in places of their own.
    let threads = during(&seen, || {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| seen.get_many(&present).unwrap());
            }
        });
    });
    check(&threads, 20_000, 20_000);
    assert_eq!(threads.blocks_read, 4 * single.blocks_read);
    let names: Vec<_> = threads.iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"filter_skips") && names.len() == 10);
}
