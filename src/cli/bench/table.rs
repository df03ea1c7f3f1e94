//! The outcome for people, as text of at most 100 columns.

use super::super::columns::Columns;
use super::super::units::{bytes, count, counted};
use super::outcome::{Outcome, Phase, Run, Store};
use super::variant::percent;
use std::fmt::Write;

/// The widest that a table gets beside the names of its rows.
const WIDTH: usize = 100;

/// The whole text.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut text = format!("{}\n\n{}", title(&outcome.run), stores(outcome));
    for &ratio in &outcome.run.hit_ratios {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n{}\n\n{}",
            ratio_title(ratio),
            phases(outcome, ratio)
        );
    }
    text.push('\n');
    if let Some(saved) = sentence(outcome) {
        let _ = writeln!(text, "{saved}");
    }
    if let Some(note) = outcome.not_cold() {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// What was asked for, in a line.
pub(super) fn title(run: &Run) -> String {
    let from = match (run.source, &run.path) {
        ("generate", _) => "generated".to_owned(),
        ("urls", Some(path)) if path == "-" => "from standard input".to_owned(),
        (_, Some(path)) => format!("from {path}"),
        (source, None) => source.to_owned(),
    };
    format!(
        "{} {from}; {} each; {}; {}; seed {}",
        counted(run.urls, "URL", "URLs"),
        counted(run.lookups, "lookup", "lookups"),
        counted(run.threads, "thread", "threads"),
        if run.cold { "cold" } else { "warm" },
        run.seed
    )
}

/// What lookups with a hit ratio are.
pub(super) fn ratio_title(ratio: f64) -> String {
    match ratio {
        ratio if ratio <= 0.0 => "Lookups of absent URLs".to_owned(),
        ratio if ratio >= 1.0 => "Lookups of present URLs".to_owned(),
        ratio => format!("Lookups of which {} find their URL", percent(ratio)),
    }
}

/// What was saved, in a sentence; `None` if there is nothing to tell.
pub(super) fn sentence(outcome: &Outcome) -> Option<String> {
    let (store, phase, saved) = outcome.best()?;
    let share = saved.share()?;
    let how = if saved.measured {
        "measured against the same store without filters"
    } else {
        "as the filters counted"
    };
    Some(format!(
        "{} saved {} of {} block reads ({}) in {},\n{how}.",
        store.variant,
        count(saved.reads()),
        count(saved.without),
        saved_share(share),
        ratio_title(phase.hit_ratio).replacen('L', "l", 1)
    ))
}

/// A share that is never rounded up to all of it.
pub(super) fn saved_share(share: f64) -> String {
    let tenths = (share * 1_000.0).floor() / 10.0;
    format!("{tenths:.1} %")
}

/// A time for people.
pub(super) fn time(nanoseconds: u64) -> String {
    let ns = nanoseconds as f64;
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e5 => format!("{:.1} µs", ns / 1e3),
        ns if ns < 1e6 => format!("{:.0} µs", ns / 1e3),
        ns if ns < 1e8 => format!("{:.1} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

pub(super) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn header<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).into()
}

fn stores(outcome: &Outcome) -> String {
    let mut table = Columns::default();
    let names = [
        "bits/URL", "memory", "build", "runs", "asked", "expected", "measured",
    ];
    table.row("filter", header(names));
    for store in &outcome.stores {
        let build = store
            .build
            .map(|time| format!("{:.1} s", time.as_secs_f64()));
        let cells = vec![
            format!("{:.1}", store.stats.filter.bits_per_key),
            bytes(store.stats.memory.filters),
            or_dash(build),
            count(store.stats.runs),
            or_dash(store.variant.rate.map(percent)),
            or_dash(expected(store).map(percent)),
            or_dash(measured(store).map(percent)),
        ];
        table.row(&store.variant.to_string(), cells);
    }
    table.text(WIDTH)
}

/// The rate that theory expects; `None` without filters.
pub(super) fn expected(store: &Store) -> Option<f64> {
    store.has_filters().then_some(store.stats.filter.expected)
}

/// The rate that was measured; `None` without filters, or lookups of absent URLs.
pub(super) fn measured(store: &Store) -> Option<f64> {
    store.rate().filter(|_| store.has_filters())
}

fn phases(outcome: &Outcome, ratio: f64) -> String {
    let mut table = Columns::default();
    table.row(
        "filter",
        header([
            "runs", "filter", "blocks", "false", "disk", "lookups", "p50", "p99",
        ]),
    );
    table.row(
        "",
        header([
            "considered",
            "skips",
            "read",
            "positives",
            "read",
            "a second",
            "",
            "",
        ]),
    );
    for store in &outcome.stores {
        if let Some(phase) = store.phase(ratio) {
            table.row(&store.variant.to_string(), figures(phase));
        }
    }
    table.text(WIDTH)
}

fn figures(phase: &Phase) -> Vec<String> {
    let counters = &phase.counters;
    let at = |percent| time(phase.latency.value_at_percentile(percent));
    vec![
        count(counters.runs_considered),
        count(counters.filter_skips),
        count(counters.blocks_read),
        count(counters.false_positives),
        or_dash(phase.disk_bytes_read.map(bytes)),
        count(phase.lookups_per_second() as u64),
        at(50.0),
        at(99.0),
    ]
}
