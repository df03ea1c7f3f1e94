//! The outcome as JSON: `docs/bench.schema.json` says what is in it.

use super::super::counters;
use super::super::json::Object;
use super::machine::Machine;
use super::outcome::{Outcome, Phase, Run, Store};
use crate::{FilterKind, RunStats};
use serde_json::Value;

/// Raised when a field goes, or means something else; not when one is added.
const FORMAT: u64 = 1;

/// The percentiles of times that are reported.
pub(super) const PERCENTILES: [(&str, f64); 5] = [
    ("p50", 50.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99_9", 99.9),
    ("p99_99", 99.99),
];

/// One object on one line.
pub(super) fn text(outcome: &Outcome) -> String {
    let object = Object::new()
        .field("format", FORMAT)
        .field("version", env!("CARGO_PKG_VERSION"))
        .object("run", run(&outcome.run))
        .object("machine", machine(&outcome.machine))
        .objects("stores", outcome.stores.iter().map(|s| store(outcome, s)));
    format!("{}\n", object.finish())
}

fn run(run: &Run) -> Object {
    Object::new()
        .field("source", run.source)
        .field("path", run.path.clone())
        .field("urls", run.urls)
        .field("rejected", run.rejected)
        .field("policy", run.policy.as_str())
        .field("absent", run.absent)
        .field("absent_urls", run.absent_urls)
        .field("absent_dropped", run.absent_dropped)
        .field("lookups", run.lookups)
        .field("hit_ratios", run.hit_ratios.clone())
        .field("threads", run.threads)
        .field("cold", run.cold)
        .field("seed", run.seed)
        .field("memtable_bytes", run.memtable)
}

fn machine(machine: &Machine) -> Object {
    Object::new()
        .field("cpu", machine.cpu.clone())
        .field("cores", machine.cores)
        .field("memory_bytes", machine.memory)
        .field("os", machine.os.clone())
        .field("kernel", machine.kernel.as_str())
        .field("file_system", machine.file_system.clone())
}

fn store(outcome: &Outcome, store: &Store) -> Object {
    let stats = &store.stats;
    Object::new()
        .field("filter", store.variant.kind.name())
        .field("build_seconds", store.build.map(|time| time.as_secs_f64()))
        .field("runs", stats.runs)
        .field("segments", stats.segments)
        .field("disk_bytes", stats.disk_bytes)
        .field("filter_memory_bytes", stats.memory.filters)
        .field("index_memory_bytes", stats.memory.indexes)
        .field("filter_bits_per_key", stats.filter.bits_per_key)
        .object("false_positive_rate", rates(store))
        .objects("by_run", stats.by_run.iter().map(by_run))
        .objects(
            "phases",
            store.phases.iter().map(|p| phase(outcome, store, p)),
        )
}

fn rates(store: &Store) -> Object {
    let expected = store.has_filters().then_some(store.stats.filter.expected);
    Object::new()
        .field("asked", store.variant.rate)
        .field("expected", expected)
        .field(
            "measured",
            store.has_filters().then(|| store.rate()).flatten(),
        )
}

fn by_run(run: &RunStats) -> Object {
    let has_filters = run.filter != FilterKind::None;
    Object::new()
        .field("filter", run.filter.name())
        .field("entries", run.entries)
        .field("segments", run.segments)
        .field("bytes", run.bytes)
        .field("filter_bits_per_key", run.filter_bits_per_key)
        .field("expected", has_filters.then_some(run.expected))
}

fn phase(outcome: &Outcome, store: &Store, phase: &Phase) -> Object {
    let object = Object::new()
        .field("hit_ratio", phase.hit_ratio)
        .object("counters", counters::object(&phase.counters));
    let object = match outcome.saved(store, phase) {
        None => object.field("saved", Value::Null),
        Some(saved) => object.object(
            "saved",
            Object::new()
                .field("block_reads_without", saved.without)
                .field("block_reads_with", saved.with)
                .field("share", saved.share())
                .field(
                    "against",
                    if saved.measured {
                        "control"
                    } else {
                        "counters"
                    },
                ),
        ),
    };
    object
        .field("disk_bytes_read", phase.disk_bytes_read)
        .field("pages", phase.cold.as_ref().map(super::outcome::Cold::name))
        .field("seconds", phase.seconds)
        .field("lookups_per_second", phase.lookups_per_second())
        .object("latency_ns", latency(phase))
}

fn latency(phase: &Phase) -> Object {
    let times = &phase.latency;
    let object = Object::new()
        .field("mean", times.mean())
        .field("min", times.min());
    let object = PERCENTILES.iter().fold(object, |object, (name, percent)| {
        object.field(name, times.value_at_percentile(*percent))
    });
    object.field("max", times.max())
}
