//! `seen bench` counts the same for the same URLs, options and seed, whatever the threads.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

use serde_json::{Value, json};
use support::{Place, lines, urls};

/// The outcome without what depends on the machine and the moment.
fn counted(place: &Place, args: &[&str]) -> Value {
    let mut all = vec![
        "bench",
        "--json",
        "-",
        "--lookups",
        "20k",
        "--memtable",
        "1M",
    ];
    all.extend(args);
    let ran = place.seen(&all, "").quiet(0);
    let outcome: Value = serde_json::from_slice(&ran.out).unwrap();
    let stores = outcome["stores"].as_array().unwrap();
    let counted = stores.iter().map(|store| {
        let phases = store["phases"].as_array().unwrap();
        json!({
            "filter": store["filter"],
            "rates": store["false_positive_rate"],
            "runs": store["runs"],
            "disk": store["disk_bytes"],
            "memory": store["filter_memory_bytes"],
            "counters": phases.iter().map(|p| p["counters"].clone()).collect::<Vec<_>>(),
            "saved": phases.iter().map(|p| p["saved"].clone()).collect::<Vec<_>>(),
        })
    });
    Value::Array(counted.collect())
}

#[test]
fn two_runs_of_a_seed_count_the_same_and_threads_change_nothing() {
    let place = Place::new();
    let args = ["--generate", "60k", "--seed", "7"];
    let first = counted(&place, &args);
    let kinds: Vec<_> = first
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["filter"].clone())
        .collect();
    assert_eq!(kinds, ["none", "bloom", "blocked", "fuse"]);
    assert!(first[0]["runs"].as_u64().unwrap() > 1, "{first:#}");
    assert_eq!(first, counted(&place, &args));
    assert_eq!(
        first,
        counted(&place, &[&args[..], &["--threads", "2"]].concat())
    );
    assert_eq!(
        first,
        counted(&place, &[&args[..], &["--threads", "7"]].concat())
    );
    assert_ne!(
        first,
        counted(&place, &["--generate", "60k", "--seed", "8"])
    );
}

#[test]
fn a_list_counts_the_same_too_and_its_sample_depends_on_the_seed() {
    let place = Place::new();
    place.write("list", lines(&urls(50_000)));
    let args = [
        "--urls",
        "list",
        "--filter",
        "blocked,none",
        "--fpr",
        "1%,0.1%",
    ];
    let first = counted(&place, &args);
    assert_eq!(first.as_array().unwrap().len(), 3);
    assert_eq!(
        first,
        counted(&place, &[&args[..], &["--threads", "2"]].concat())
    );
    assert_ne!(
        first,
        counted(&place, &[&args[..], &["--seed", "2"]].concat())
    );
}

#[test]
fn counters_add_up_and_answers_are_exact() {
    let place = Place::new();
    let stores = counted(&place, &["--generate", "60k", "--hit-ratio", "0,0.25,100%"]);
    for store in stores.as_array().unwrap() {
        for (phase, hits) in [(0, 0), (1, 5_000), (2, 20_000)] {
            let counters = &store["counters"][phase];
            let count = |name: &str| counters[name].as_u64().unwrap();
            assert_eq!(count("lookups"), 20_000);
            assert_eq!(count("hits"), hits);
            assert_eq!(count("memtable_hits"), 0);
            let known = count("key_range_skips") + count("filter_skips") + count("blocks_read");
            assert_eq!(count("runs_considered"), known);
            // A read finds its key, or its filter was wrong.
            assert_eq!(count("blocks_read"), hits + count("false_positives"));
        }
    }
}
