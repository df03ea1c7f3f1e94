//! `seen stats` is for people, and with `--json` for programs.

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use support::{Place, lines, urls};

#[test]
fn json_holds_every_counter() {
    let place = Place::new();
    place.seen(&["new", "s"], lines(&urls(3_000))).quiet(0);
    place.seen(&["compact", "s"], "").quiet(0);
    let ran = place.seen(&["stats", "s", "--json"], "").quiet(0);
    assert_eq!(ran.text().lines().count(), 1);
    let stats: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(stats["entries"], 3_000);
    assert_eq!(stats["policy"], "standard/1");
    assert_eq!(stats["runs"], 1);
    for name in [
        "memtable_entries",
        "memtables",
        "segments",
        "disk_bytes",
        "log_bytes",
        "segment_bytes",
        "flushes",
        "merges",
        "flushed_bytes",
        "merged_bytes",
    ] {
        assert!(stats[name].is_u64(), "{name}: {stats}");
    }
    let filter = &stats["filter"];
    assert!(filter["bits_per_key"].as_f64().unwrap() > 1.0);
    assert_eq!(
        (filter["kind"].as_str(), filter["asked"].as_f64()),
        (Some("blocked"), Some(0.01))
    );
    let expected = filter["expected"].as_f64().unwrap();
    assert!(0.0 < expected && expected <= 0.01, "{stats}");
    assert!(filter["memory"].is_null() && filter["fits"].is_null());
    assert!(filter["needed"].as_u64().unwrap() >= 8 << 20, "{stats}");
    let runs = stats["by_run"].as_array().unwrap();
    assert_eq!(runs.len() as u64, stats["runs"].as_u64().unwrap());
    assert_eq!(runs[0]["filter"], "blocked");
    assert_eq!(runs[0]["expected"].as_f64(), Some(expected));
    for name in ["memtables", "filters", "indexes"] {
        assert!(stats["memory"][name].is_u64(), "{name}: {stats}");
    }
    for name in [
        "lookups",
        "hits",
        "memtable_hits",
        "runs_considered",
        "key_range_skips",
        "filter_skips",
        "blocks_read",
        "bytes_read",
        "false_positives",
        "wasted_reads",
    ] {
        assert!(stats["lookup"][name].is_u64(), "{name}: {stats}");
    }
    assert!(stats["last_error"].is_null());
}

#[test]
fn people_get_aligned_rows() {
    let place = Place::new();
    place
        .seen(&["new", "s", "--canon", "raw"], lines(&urls(1_234)))
        .quiet(0);
    let text = place.seen(&["stats", "s"], "").quiet(0).text();
    assert!(text.contains("entries           1,234\n"), "{text}");
    assert!(text.contains("policy            raw/1\n"), "{text}");
}
