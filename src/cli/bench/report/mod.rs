//! The outcome as a page that needs no other file.

mod canvas;
mod charts;
mod html;
mod page;

use super::super::failure::Failure;
use super::super::units::{bytes, count};
use super::json::PERCENTILES;
use super::outcome::{Outcome, Phase, Store};
use super::table::{expected, measured, or_dash, ratio_title, saved_share, time};
use super::variant::percent;
use charts::reads_text;
use html::{Figure, Table};

/// The whole page.
pub(super) fn text(outcome: &Outcome) -> Result<String, Failure> {
    Ok(page::html(outcome, &figures(outcome)?, &tables(outcome)))
}

fn figures(outcome: &Outcome) -> Result<Vec<Figure>, Failure> {
    let mut figures = vec![reads(outcome)?];
    figures.extend(memory(outcome)?);
    figures.extend(rates(outcome)?);
    let ratios = &outcome.run.hit_ratios;
    let least = ratios.iter().copied().min_by(f64::total_cmp);
    let most = ratios.iter().copied().max_by(f64::total_cmp);
    for (id, ratio) in [
        ("times-few", least),
        ("times-many", most.filter(|_| most != least)),
    ] {
        if let Some(ratio) = ratio {
            figures.extend(latency(outcome, id, ratio)?);
        }
    }
    Ok(figures)
}

fn row(store: &Store, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    let name = std::iter::once(store.variant.to_string());
    name.chain(cells).collect()
}

/// A row for each store and phase.
fn each_phase<'a>(
    outcome: &'a Outcome,
    ratio: f64,
    cells: impl Fn(&Store, &Phase) -> Vec<String> + 'a,
) -> Vec<Vec<String>> {
    let stores = outcome.stores.iter();
    stores
        .filter_map(|store| Some(row(store, cells(store, store.phase(ratio)?))))
        .collect()
}

fn reads(outcome: &Outcome) -> Result<Figure, Failure> {
    let mut rows = Vec::new();
    for &ratio in &outcome.run.hit_ratios {
        rows.extend(each_phase(outcome, ratio, |store, phase| {
            let saved = outcome.saved(store, phase);
            vec![
                percent(ratio),
                reads_text(phase.reads()),
                or_dash(saved.map(|saved| count(saved.reads()))),
                or_dash(saved.and_then(|saved| saved.share()).map(saved_share)),
            ]
        }));
    }
    Ok(Figure {
        id: "reads",
        title: "Blocks read for each lookup".to_owned(),
        text: "A URL that is present takes one read. Every other read is one that a filter could have skipped.",
        description: format!(
            "Bars of the blocks read for each lookup, for {} stores and {} hit ratios; the numbers are in the table that follows.",
            outcome.stores.len(),
            outcome.run.hit_ratios.len()
        ),
        chart: charts::reads(outcome)?,
        table: Table {
            caption: "Blocks read for each lookup, and what was saved".to_owned(),
            columns: vec!["filter", "hits", "reads a lookup", "reads saved", "share"],
            rows,
        },
    })
}

fn rates(outcome: &Outcome) -> Result<Option<Figure>, Failure> {
    let Some(chart) = charts::rates(outcome)? else {
        return Ok(None);
    };
    let filters = outcome.stores.iter().filter(|store| store.has_filters());
    let rows = filters.map(|store| {
        let rates = [store.variant.rate, expected(store), measured(store)];
        row(store, rates.map(|rate| or_dash(rate.map(percent))))
    });
    Ok(Some(Figure {
        id: "rates",
        title: "Rate asked for, expected and measured".to_owned(),
        text: "Needless block reads for each lookup of an absent URL, over all runs together. At the right, what was measured.",
        description: "For each filter a mark at the rate that was asked for, a ring at the rate that theory expects, and a dot at the rate that was measured; the numbers are in the table that follows.".to_owned(),
        chart,
        table: Table {
            caption: "Needless reads for each lookup of an absent URL".to_owned(),
            columns: vec!["filter", "asked", "expected", "measured"],
            rows: rows.collect(),
        },
    }))
}

fn latency(outcome: &Outcome, id: &'static str, ratio: f64) -> Result<Option<Figure>, Failure> {
    let Some(chart) = charts::latency(outcome, ratio)? else {
        return Ok(None);
    };
    let rows = each_phase(outcome, ratio, |_, phase| {
        let at = |(_, percent): &(&str, f64)| time(phase.latency.value_at_percentile(*percent));
        let mut cells = vec![time(phase.latency.mean() as u64)];
        cells.extend(PERCENTILES.iter().map(at));
        cells.push(time(phase.latency.max()));
        cells.push(count(phase.lookups_per_second() as u64));
        cells
    });
    let title = ratio_title(ratio);
    Ok(Some(Figure {
        id,
        title: format!("Time: {}", title.replacen('L', "l", 1)),
        text: "How many lookups took about so long, each store to its own height; the scale of times is logarithmic.",
        description: format!(
            "{title}: for each store the distribution of times, with marks at the median, 99 % and 99.9 %; the numbers are in the table that follows."
        ),
        chart,
        table: Table {
            caption: format!("{title}: times, and all threads' rate"),
            columns: vec![
                "filter",
                "mean",
                "half",
                "90 %",
                "99 %",
                "99.9 %",
                "99.99 %",
                "slowest",
                "lookups/s",
            ],
            rows,
        },
    }))
}

fn memory(outcome: &Outcome) -> Result<Option<Figure>, Failure> {
    let Some(chart) = charts::memory(outcome)? else {
        return Ok(None);
    };
    let rows = outcome.stores.iter().map(|store| {
        row(
            store,
            [
                format!("{:.1}", store.stats.filter.bits_per_key),
                bytes(store.stats.memory.filters),
                count(store.stats.runs),
                or_dash(measured(store).map(percent)),
            ],
        )
    });
    Ok(Some(Figure {
        id: "memory",
        title: "Memory against rate".to_owned(),
        text: "Each point is a store: what its filters take, and what they let through. The line is one classic Bloom filter for all URLs, bits = −ln p / (ln 2)²; several runs take more for the same rate, as each has a share of it.",
        description: "Bits of filters for each URL against the measured rate, with the curve of a classic Bloom filter; the numbers are in the table that follows.".to_owned(),
        chart,
        table: Table {
            caption: "Memory of filters".to_owned(),
            columns: vec!["filter", "bits a URL", "memory", "runs", "measured rate"],
            rows: rows.collect(),
        },
    }))
}

/// Every counter, by hit ratio.
fn tables(outcome: &Outcome) -> Vec<(String, Table)> {
    let ratios = outcome.run.hit_ratios.iter();
    let mut tables: Vec<_> = ratios
        .map(|&ratio| {
            let title = ratio_title(ratio);
            let rows = each_phase(outcome, ratio, |_, phase| {
                let c = &phase.counters;
                let counters = [
                    c.runs_considered,
                    c.key_range_skips,
                    c.filter_skips,
                    c.blocks_read,
                    c.false_positives,
                ];
                let mut cells: Vec<_> = counters.into_iter().map(count).collect();
                cells.push(bytes(c.bytes_read));
                cells.push(or_dash(phase.disk_bytes_read.map(bytes)));
                cells
            });
            let table = Table {
                caption: format!("Counters of {}", title.replacen('L', "l", 1)),
                columns: vec![
                    "filter",
                    "runs considered",
                    "key range skips",
                    "filter skips",
                    "blocks read",
                    "false positives",
                    "bytes of blocks",
                    "read from disk",
                ],
                rows,
            };
            (title, table)
        })
        .collect();
    tables.push(("The stores".to_owned(), stores(outcome)));
    tables
}

fn stores(outcome: &Outcome) -> Table {
    let rows = outcome.stores.iter().map(|store| {
        let stats = &store.stats;
        let build = store
            .build
            .map(|time| format!("{:.1} s", time.as_secs_f64()));
        row(
            store,
            [
                or_dash(build),
                count(stats.runs),
                count(stats.segments),
                bytes(stats.disk_bytes),
                bytes(stats.memory.filters),
                bytes(stats.memory.indexes),
            ],
        )
    });
    Table {
        caption: "How each store was built, and what it takes".to_owned(),
        columns: vec![
            "filter", "build", "runs", "segments", "on disk", "filters", "indexes",
        ],
        rows: rows.collect(),
    }
}
