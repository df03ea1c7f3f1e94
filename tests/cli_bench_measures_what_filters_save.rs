//! `seen bench` asks for what a list, a store or the generator has and has not, and tells
//! what filters saved against the same store without them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use support::{Place, Ran, lines, urls};

fn outcome(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap()
}

fn number(value: &Value, pointer: &str) -> u64 {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no number at {pointer}: {value:#}"))
}

#[test]
fn what_is_saved_is_the_difference_to_the_store_without_filters() {
    let place = Place::new();
    let args = [
        "bench",
        "--generate",
        "60k",
        "--lookups",
        "20k",
        "--memtable",
        "1M",
        "--fpr",
        "1%,none",
        "--filter",
        "bloom,blocked,fuse",
        "--json",
        "-",
    ];
    let outcome = outcome(&place.seen(&args, "").quiet(0));
    let stores = outcome["stores"].as_array().unwrap();
    assert_eq!(stores.len(), 4);
    let control = &stores[0];
    assert_eq!(control["filter"], "none");
    assert_eq!(number(control, "/filter_memory_bytes"), 0);
    assert!(control["phases"][0]["saved"].is_null());
    let without = number(control, "/phases/0/counters/blocks_read");
    // Several runs, and next to no key lies outside of their ranges.
    assert!(without > 30_000, "{without}");
    for store in &stores[1..] {
        assert_eq!(store["runs"], control["runs"]);
        let saved = &store["phases"][0]["saved"];
        assert_eq!(saved["against"], "control");
        assert_eq!(number(saved, "/block_reads_without"), without);
        let with = number(saved, "/block_reads_with");
        assert_eq!(with, number(store, "/phases/0/counters/blocks_read"));
        // One in a hundred lookups is asked for; twice that would be a broken filter.
        assert!(with < 400, "{}: {with} reads", store["filter"]);
        let rate = store["false_positive_rate"]["measured"].as_f64().unwrap();
        assert!((rate - with as f64 / 20_000.0).abs() < 1e-9);
        assert!(number(store, "/filter_memory_bytes") > 0);
    }
}

#[test]
fn a_list_is_read_as_by_new() {
    let place = Place::new();
    let list = format!(
        "{}/about\nHTTPS://EXAMPLE.com/x#top\nhttps://example.com/x\n",
        lines(&urls(2_000))
    );
    let args = [
        "bench",
        "--urls",
        "-",
        "--lookups",
        "1k",
        "--json",
        "-",
        "--filter",
        "none",
    ];
    let ran = place.seen(&args, &list).status(1);
    assert!(
        ran.err.contains("stdin:2001: rejected: it is not absolute"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("1 line was rejected"), "{}", ran.err);
    let found = outcome(&ran);
    assert_eq!(number(&found, "/run/urls"), 2_001);
    assert_eq!(number(&found, "/run/rejected"), 1);
    // As they are, three of these are different.
    let raw = place
        .seen(&[&args[..], &["--canon", "raw"]].concat(), &list)
        .quiet(0);
    assert_eq!(number(&outcome(&raw), "/run/urls"), 2_003);
}

#[test]
fn given_absent_urls_are_asked_for_unless_they_are_present() {
    let place = Place::new();
    let all = urls(3_000);
    place.write("list", lines(&all[..2_000]));
    place.write("later", lines(&all[1_900..]));
    let args = [
        "bench",
        "--urls",
        "list",
        "--absent",
        "later",
        "--lookups",
        "2k",
        "--json",
        "-",
    ];
    let ran = place.seen(&args, "").status(0);
    assert!(
        ran.err.contains("100 URLs of --absent left out"),
        "{}",
        ran.err
    );
    let outcome = outcome(&ran);
    assert_eq!(number(&outcome, "/run/absent_urls"), 1_000);
    assert_eq!(number(&outcome, "/run/absent_dropped"), 100);
    assert_eq!(outcome["run"]["absent"], "file");
    assert_eq!(number(&outcome, "/stores/0/phases/0/counters/hits"), 0);
}

#[test]
fn a_store_is_asked_and_not_changed() {
    let place = Place::new();
    place
        .seen(&["new", "s", "-q"], lines(&urls(5_000)))
        .status(0);
    let before = place.files("s");
    let args = ["bench", "--store", "s", "--lookups", "2k", "--json", "-"];
    let found = outcome(&place.seen(&args, "").quiet(0));
    assert_eq!(place.files("s"), before);
    assert_eq!(number(&found, "/run/urls"), 5_000);
    assert_eq!(found["stores"].as_array().unwrap().len(), 1);
    assert!(found["stores"][0]["build_seconds"].is_null());
    assert_eq!(
        found["stores"][0]["phases"][0]["saved"]["against"],
        "counters"
    );
    assert_eq!(number(&found, "/stores/0/phases/2/counters/hits"), 2_000);
}

#[test]
fn the_tables_fit_a_screen_and_say_what_was_saved() {
    let place = Place::new();
    let args = [
        "bench",
        "--generate",
        "40k",
        "--lookups",
        "10k",
        "--memtable",
        "1M",
        "--fpr",
        "1%,0.1%",
    ];
    let text = place.seen(&args, "").quiet(0).text();
    assert!(
        text.starts_with("40,000 URLs generated; 10,000 lookups each; 1 thread; warm; seed 1\n"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    for words in [
        "Lookups of absent URLs",
        "Lookups of which 50 % find",
        "Lookups of present URLs",
        "fuse 0.1 %",
        "block reads (9",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(
        text.ends_with("measured against the same store without filters.\n"),
        "{text}"
    );
}

#[test]
fn cold_files_are_read_from_the_disk_or_it_says_so() {
    let place = Place::new();
    let args = [
        "bench",
        "--generate",
        "40k",
        "--lookups",
        "200",
        "--filter",
        "none",
        "--hit-ratio",
        "1",
        "--cold",
        "--json",
        "-",
        "--dir",
        ".",
    ];
    let ran = place.seen(&args, "").status(0);
    let outcome = outcome(&ran);
    let phase = &outcome["stores"][0]["phases"][0];
    match phase["pages"].as_str().unwrap() {
        "evicted" => {
            assert!(number(phase, "/disk_bytes_read") > 0, "{phase}");
            assert!(ran.err.is_empty(), "{}", ran.err);
        }
        "stayed" | "unknown" | "refused" => {
            assert!(ran.err.contains("not cold in 1 of 1"), "{}", ran.err)
        }
        other => panic!("{other}"),
    }
}
