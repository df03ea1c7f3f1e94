//! What `seen plan --merges` foresees is what a store does that is loaded so: its flushes,
//! the bytes that its merges write, and its runs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use seendb::{Canon, Driver, Seen};
use serde_json::Value;
use support::Place;

/// A key of [`KEY`] bytes; they come in no order, and share as much as URLs of a site do.
fn key(i: u64) -> String {
    let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        "https://host-{:02}.example/section-{:03}/a-page-of-it/{mixed:016x}",
        mixed % 50,
        mixed / 50 % 400
    )
}

const KEY: usize = 65;

fn plan(args: &[String]) -> Value {
    let args = ["plan", "--merges", "--json"]
        .into_iter()
        .chain(args.iter().map(String::as_str));
    let args: Vec<_> = args.collect();
    let text = Place::new().seen(&args, "").quiet(0).text();
    serde_json::from_str(&text).unwrap()
}

/// What became of a store.
#[derive(Debug, Default)]
struct Loaded {
    flushes: u64,
    flushed: u64,
    merges: u64,
    merged: u64,
    mean_runs: f64,
    most_runs: u64,
}

/// Loads a store with a memtable of a mebibyte. After each flush, merges take so many steps,
/// of so many entries each.
fn load(urls: u64, steps: usize, piece: usize) -> Loaded {
    let dir = tempfile::tempdir().unwrap();
    let seen = Seen::builder(dir.path().join("s.seen"))
        .canon(Canon::raw())
        .driver(Driver::Manual)
        .memtable_size(1 << 20)
        .merge_piece(piece)
        .create()
        .unwrap();
    let mut loaded = Loaded::default();
    let mut run_steps = 0;
    for first in (0..urls).step_by(500) {
        let keys: Vec<String> = (first..(first + 500).min(urls)).map(key).collect();
        seen.insert_many(&keys).unwrap();
        if seen.stats().memtables == 1 {
            continue;
        }
        // The first step flushes.
        assert!(seen.step().unwrap());
        loaded.most_runs = loaded.most_runs.max(seen.stats().runs);
        for _ in 0..steps {
            run_steps += seen.stats().runs;
            seen.step().unwrap();
        }
    }
    seen.flush().unwrap();
    let stats = seen.stats();
    assert_eq!(stats.entries, urls);
    let live: u64 = stats.by_run.iter().map(|run| run.bytes).sum();
    assert_eq!(live, stats.segment_bytes);
    loaded.flushes = stats.flushes;
    loaded.flushed = stats.flushed_bytes;
    loaded.merges = stats.merges;
    loaded.merged = stats.merged_bytes;
    loaded.mean_runs = run_steps as f64 / (steps as u64 * (stats.flushes - 1)) as f64;
    seen.close().unwrap();
    loaded
}

#[track_caller]
fn near(what: &str, is: f64, planned: &Value) {
    let planned = planned.as_f64().unwrap();
    println!("{what}: {is:.2}, planned {planned:.2}");
    assert!(
        (is - planned).abs() <= 0.25 * planned.abs(),
        "{what}: {is}, not {planned}"
    );
}

/// Compares with the plan for merges that get `speed` entries done while a memtable fills.
fn compare(urls: u64, loaded: &Loaded, speed: u64) -> Value {
    assert_eq!(key(7).len(), KEY);
    let disk = loaded.flushed as f64 / urls as f64;
    let fit = urls / loaded.flushes;
    // A memtable a second.
    let plan = plan(&[
        format!("--urls={urls}"),
        "--memtable=1MiB".to_owned(),
        format!("--url-bytes={KEY}"),
        format!("--disk-bytes={disk}"),
        format!("--rate={fit}"),
        format!("--merge-speed={}", (speed as f64 * disk) as u64),
    ]);
    println!("{loaded:?}\n{plan}");
    near("flushes", loaded.flushes as f64, &plan["flushes"]);
    near("merges", loaded.merges as f64, &plan["merges"]);
    near("merged", loaded.merged as f64, &plan["written"]["merges"]);
    near("runs", loaded.mean_runs, &plan["runs"]["mean"]);
    near("most runs", loaded.most_runs as f64, &plan["runs"]["most"]);
    plan
}

#[test]
fn where_merges_end_before_the_next_flush() {
    let urls = 580_000;
    let loaded = load(urls, 40, 1_000_000);
    let plan = compare(urls, &loaded, 1_000_000_000);
    assert_eq!(plan["runs"]["most"], 9);
    assert_eq!(plan["waits"]["memtables"], 0);
}

#[test]
fn where_merges_go_on_beside_flushes() {
    let urls = 505_000;
    let loaded = load(urls, 20, 1_500);
    let plan = compare(urls, &loaded, 20 * 1_500);
    assert!(plan["runs"]["most"].as_u64().unwrap() > 9);
    assert_eq!(plan["waits"]["memtables"], 0);
}
