//! What `seen bench --json` writes is what docs/bench.schema.json says.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

#[path = "support/schema.rs"]
mod schema;

use serde_json::{Value, json};
use support::{Place, lines, urls};

fn schema() -> Value {
    let text = include_str!("../docs/bench.schema.json");
    serde_json::from_str(text).unwrap()
}

fn bench(place: &Place, args: &[&str]) -> Value {
    let mut all = vec!["bench", "-q", "--json", "-", "--lookups", "500"];
    all.extend(args);
    let ran = place.seen(&all, "");
    assert!(ran.status < 2, "{}", ran.err);
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn every_kind_of_run_fits() {
    let place = Place::new();
    place.write("list", format!("{}/no URL\n", lines(&urls(3_000))));
    place.write("absent", lines(&urls(3_100)));
    place.seen(&["new", "s", "list", "-q"], "").status(1);
    let schema = schema();
    for args in [
        &["--generate", "3k", "--threads", "3"][..],
        &["--generate", "3k", "--fpr", "none", "--hit-ratio", "1"],
        &[
            "--urls",
            "list",
            "--cold",
            "--memtable",
            "1M",
            "--fpr",
            "5%,0.1%",
        ],
        &["--urls", "list", "--absent", "absent", "--filter", "fuse"],
        &["--store", "s", "--hit-ratio", "0.5"],
        &["--store", "s", "--cold", "--hit-ratio", "0"],
    ] {
        let outcome = bench(&place, args);
        let found = schema::violations(&schema, &outcome);
        assert!(found.is_empty(), "{args:?}: {found:#?}");
        assert!(!outcome["stores"].as_array().unwrap().is_empty());
    }
}

#[test]
fn the_checker_finds_what_does_not_fit() {
    let place = Place::new();
    let good = bench(&place, &["--generate", "1k", "--filter", "blocked,none"]);
    let schema = schema();
    let changed = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        schema::violations(&schema, &bad).len()
    };
    assert_eq!(changed("/format", json!(1)), 0);
    assert_eq!(changed("/format", json!(2)), 1);
    assert_eq!(changed("/run/seed", json!(-1)), 1);
    assert_eq!(changed("/run/seed", json!(1.5)), 1);
    assert_eq!(changed("/stores/0/filter", json!("other")), 1);
    assert_eq!(changed("/stores/1/phases/0/saved", json!({})), 1);
    assert_eq!(
        changed("/stores/1/phases/0/counters/lookups", json!("many")),
        1
    );
    let mut more = good.clone();
    more["machine"]["name"] = json!("x");
    more["run"].as_object_mut().unwrap().remove("urls");
    assert_eq!(schema::violations(&schema, &more).len(), 2);
}
