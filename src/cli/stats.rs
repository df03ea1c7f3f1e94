//! `seen stats`: what the store holds and what that takes.

use super::failure::Failure;
use super::json::Object;
use super::output::print;
use super::units::{bytes, count, counted, percent, share};
use super::{OK, counters};
use crate::{FilterStats, RunStats, Seen, StateStats, Stats};
use serde_json::Value;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen stats crawl.seen
  seen stats crawl.seen --json | jq .states.fetched

Counts URLs by state: seen (and nothing else), claimed, fetched, failed. What has expired
counts until a merge has removed it, and so do claims that ran out.
Rates are the needless reads that a lookup of a new URL costs: asked for, and expected of the
filters that there are, in all and by run, the newest first. `seen bench` measures them.
The lookup counters are those of the process that asks, so here they are zero; `seen new`,
`has` and `get` print theirs with --counters.

Exit status: 0 done; 2 failure.";

/// Print what the store holds, for people or as JSON
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// One JSON object with every counter, sizes in bytes
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store = Seen::open_read_only(&args.store)?;
    let stats = store.stats();
    let text = if args.json {
        format!("{}\n", json(&store, &stats))
    } else {
        people(&store, &stats)
    };
    print(&text)?;
    Ok(OK)
}

fn json(store: &Seen, stats: &Stats) -> String {
    let memory = Object::new()
        .field("memtables", stats.memory.memtables)
        .field("filters", stats.memory.filters)
        .field("indexes", stats.memory.indexes);
    let recovery = store.recovery();
    let recovery = Object::new()
        .field("logs", recovery.logs)
        .field("entries", recovery.entries)
        .field("cuts", recovery.cuts.len());
    let last_error = stats.last_error.as_ref().map(ToString::to_string);
    Object::new()
        .field("path", store.path().display().to_string())
        .field("policy", store.canon().text())
        .field("entries", stats.entries)
        .object("states", states(&stats.states))
        .field("memtable_entries", stats.memtable_entries)
        .field("memtables", stats.memtables)
        .field("runs", stats.runs)
        .field("segments", stats.segments)
        .field("disk_bytes", stats.disk_bytes)
        .field("log_bytes", stats.log_bytes)
        .field("segment_bytes", stats.segment_bytes)
        .object("filter", filter(&stats.filter))
        .objects("by_run", stats.by_run.iter().map(of_run))
        .object("memory", memory)
        .field("flushes", stats.flushes)
        .field("merges", stats.merges)
        .field("flushed_bytes", stats.flushed_bytes)
        .field("merged_bytes", stats.merged_bytes)
        .object("lookup", counters::object(&stats.lookup))
        .object("recovery", recovery)
        .field("last_error", last_error.map_or(Value::Null, Value::from))
        .finish()
}

fn filter(filter: &FilterStats) -> Object {
    Object::new()
        .field("kind", filter.kind.name())
        .field("bits_per_key", filter.bits_per_key)
        .field("asked", filter.asked)
        .field("expected", filter.expected)
        .field("memory", filter.memory)
        .field("fits", filter.fits)
        .field("needed", filter.needed)
}

fn of_run(run: &RunStats) -> Object {
    Object::new()
        .field("entries", run.entries)
        .field("segments", run.segments)
        .field("bytes", run.bytes)
        .field("filter", run.filter.name())
        .field("filter_bits_per_key", run.filter_bits_per_key)
        .field("expected", run.expected)
}

fn states(states: &StateStats) -> Object {
    Object::new()
        .field("seen", states.seen)
        .field("claimed", states.claimed)
        .field("fetched", states.fetched)
        .field("failed", states.failed)
}

fn people(store: &Seen, stats: &Stats) -> String {
    let per_entry = if stats.entries == 0 {
        "-".to_owned()
    } else {
        format!("{:.1} B", stats.disk_bytes as f64 / stats.entries as f64)
    };
    let mut rows = vec![
        ("store", store.path().display().to_string()),
        ("policy", store.canon().text().to_owned()),
        ("entries", count(stats.entries)),
        ("  seen", count(stats.states.seen)),
        ("  claimed", count(stats.states.claimed)),
        ("  fetched", count(stats.states.fetched)),
        ("  failed", count(stats.states.failed)),
        ("  in memtables", count(stats.memtable_entries)),
        ("runs", count(stats.runs)),
        ("segments", count(stats.segments)),
        ("on disk", bytes(stats.disk_bytes)),
        ("  segments", bytes(stats.segment_bytes)),
        ("  logs", bytes(stats.log_bytes)),
        ("  per entry", per_entry),
        (
            "filters",
            format!(
                "{}, {:.1} bits a key",
                stats.filter.kind, stats.filter.bits_per_key
            ),
        ),
        ("  rate asked for", percent(stats.filter.asked)),
        ("  rate expected", percent(stats.filter.expected)),
    ];
    if let (Some(memory), Some(fits)) = (stats.filter.memory, stats.filter.fits) {
        rows.push(("  memory given", bytes(memory)));
        if fits > stats.filter.asked {
            rows.push(("  rate that fits", percent(fits)));
            rows.push(("  rate asked needs", bytes(stats.filter.needed)));
        }
    }
    rows.extend([
        (
            "memory",
            bytes(stats.memory.memtables + stats.memory.filters + stats.memory.indexes),
        ),
        ("  memtables", bytes(stats.memory.memtables)),
        ("  filters", bytes(stats.memory.filters)),
        ("  indexes", bytes(stats.memory.indexes)),
    ]);
    let lookup = &stats.lookup;
    if lookup.lookups > 0 {
        let reads = lookup.filter_skips + lookup.blocks_read;
        rows.extend([
            ("lookups", count(lookup.lookups)),
            ("  found", share(lookup.hits, lookup.lookups)),
            ("  filter skips", share(lookup.filter_skips, reads)),
            ("  false positives", count(lookup.false_positives)),
        ]);
    }
    for run in &stats.by_run {
        let shape = format!(
            "{}, {}, {}; {}, {:.1} bits a key, {}",
            counted(run.entries, "entry", "entries"),
            counted(run.segments, "segment", "segments"),
            bytes(run.bytes),
            run.filter,
            run.filter_bits_per_key,
            percent(run.expected)
        );
        rows.push(("run", shape));
    }
    if let Some(error) = &stats.last_error {
        rows.push(("last error", error.to_string()));
    }
    rows.iter()
        .map(|(name, value)| format!("{name:<18}{value}\n"))
        .collect()
}
