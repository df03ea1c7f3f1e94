//! `--counters` prints the run's counters as one JSON object on standard error.

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use support::{Place, lines, urls};

#[track_caller]
fn counters(place: &Place, args: &[&str], input: &str, status: i32) -> Value {
    let ran = place.seen(args, input).status(status);
    let object = ran.err.lines().last().unwrap_or_default();
    let Ok(counters) = serde_json::from_str::<Value>(object) else {
        unreachable!("no counters in {:?}", ran.err);
    };
    let n = |name: &str| counters[name].as_u64().unwrap_or(u64::MAX);
    assert_eq!(
        n("runs_considered"),
        n("key_range_skips") + n("filter_skips") + n("blocks_read"),
        "{counters}"
    );
    assert!(n("false_positives") <= n("blocks_read"), "{counters}");
    counters
}

#[test]
fn every_run_considered_is_skipped_or_read() {
    let place = Place::new();
    let all = urls(20_000);
    let (known, unknown) = all.split_at(10_000);
    let (known, unknown) = (lines(known), lines(unknown));
    let new = counters(&place, &["new", "s", "--counters"], &known, 0);
    assert!(new["lookups"].as_u64() >= Some(10_000), "{new}");
    place.seen(&["compact", "s"], "").quiet(0);

    let hits = counters(
        &place,
        &["has", "s", "--counters", "--from", "-"],
        &known,
        0,
    );
    assert_eq!(hits["lookups"], 10_000);
    assert_eq!(hits["hits"], 10_000);
    assert_eq!(hits["runs_considered"], 10_000, "one run");
    assert_eq!(hits["filter_skips"], 0);

    let misses = counters(
        &place,
        &["has", "s", "--counters", "--from", "-"],
        &unknown,
        1,
    );
    assert_eq!(misses["lookups"], 10_000);
    assert_eq!(misses["hits"], 0);
    assert!(misses["filter_skips"].as_u64() > Some(9_000), "{misses}");
    assert_eq!(misses["false_positives"], misses["blocks_read"]);

    let url = known.lines().next().unwrap();
    let one = counters(&place, &["get", "s", "--counters", url], "", 0);
    assert_eq!((&one["lookups"], &one["hits"]), (&1.into(), &1.into()));
}
