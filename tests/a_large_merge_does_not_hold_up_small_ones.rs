//! While a merge of large runs is in progress, new runs, which are small, are merged
//! beside it: a lookup never has many to ask, and writers never wait for the large one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{manual, place};

#[test]
fn small_runs_are_merged_first() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    let mut expected = 0;
    let mut flush = |from: u64, count: u64| {
        let urls = (from..from + count).map(|i| format!("https://example.com/{i:08}"));
        assert_eq!(seen.extend(urls).unwrap(), count);
        seen.flush().unwrap();
        expected += count;
    };
    for run in 0..9 {
        flush(run * 10_000, 9_000);
    }
    assert_eq!(seen.stats().runs, 9);
    // Begins to merge the nine, and takes one of several pieces.
    assert!(seen.step().unwrap());
    assert_eq!((seen.stats().runs, seen.stats().merges), (9, 0));

    for run in 0..8 {
        flush(1_000_000 + run * 100, 20);
    }
    assert_eq!(seen.stats().runs, 17);
    // Eight small runs beside what will be one: that is one too many.
    assert!(seen.step().unwrap());
    assert_eq!((seen.stats().runs, seen.stats().merges), (10, 1));

    while seen.step().unwrap() {}
    let stats = seen.stats();
    assert_eq!((stats.runs, stats.merges, stats.entries), (2, 2, expected));
    assert_eq!(seen.scan("").unwrap().count() as u64, expected);
    seen.compact().unwrap();
    assert_eq!(seen.stats().runs, 1);
    let report = seen.verify(&mut |_| {}).unwrap();
    assert_eq!((report.entries, report.damage.len()), (expected, 0));
}
