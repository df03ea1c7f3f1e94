//! The page around the figures.

use super::super::super::units::{bytes, count, counted};
use super::super::outcome::{Outcome, Phase, Run, Saved, Store};
use super::super::table::{or_dash, ratio_title, saved_share, title};
use super::charts::reads_text;
use super::html::{Figure, Table, escape, pairs};
use super::percent;
use std::fmt::Write;

/// The whole document. No script, and nothing that is fetched: the policy forbids it.
pub(super) fn html(outcome: &Outcome, figures: &[Figure], tables: &[(String, Table)]) -> String {
    let (headline, lead) = headline(outcome);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title} - seen bench</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         <header>\n<p class=\"kind\">seen bench: {run}</p>\n<h1>{headline}</h1>\n<p class=\"lead\">{lead}</p>\n",
        title = escape(&plain(&headline)),
        style = include_str!("style.css"),
        run = escape(&title(&outcome.run)),
        lead = escape(&lead),
    );
    // Writing to a string does not fail.
    if let Some(note) = outcome.not_cold() {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(&note));
    }
    html.push_str(&tiles(outcome));
    html.push_str("</header>\n<main>\n<div class=\"charts\">\n");
    figures
        .iter()
        .for_each(|figure| html.push_str(&figure.html()));
    html.push_str("</div>\n<section aria-labelledby=\"all\">\n<h2 id=\"all\">Every counter</h2>\n");
    for (title, table) in tables {
        let _ = write!(html, "<h3>{}</h3>\n{}", escape(title), table.html());
    }
    html.push_str("</section>\n<section aria-labelledby=\"run\">\n<h2 id=\"run\">The run</h2>\n");
    html.push_str("<div class=\"both\">\n");
    html.push_str(&pairs("What was asked for", &parameters(&outcome.run)));
    html.push_str(&pairs("What it ran on", &machine(outcome)));
    html.push_str("</div>\n");
    let _ = write!(
        html,
        "</section>\n</main>\n<footer>Made by seen {} (seendb). Counters are the same for the same URLs, options and seed; times depend on the machine and what else it does.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    html
}

/// A headline without its markup.
fn plain(headline: &str) -> String {
    headline.replace("<strong>", "").replace("</strong>", "")
}

/// The number first, as HTML; and a sentence about it.
fn headline(outcome: &Outcome) -> (String, String) {
    let best = outcome
        .best()
        .and_then(|best| Some((best, best.2.share()?)));
    let Some(((store, phase, saved), share)) = best else {
        let text = "No filter was measured: these stores have none. Give --filter blocked,none to compare.";
        return (
            "What lookups cost without filters".to_owned(),
            text.to_owned(),
        );
    };
    let share = saved_share(share);
    let how = if saved.measured {
        "Measured against the same store without filters."
    } else {
        "As the store's filters counted: each skip is a block that would have been read."
    };
    let lead = format!(
        "With {}, {} of {} block reads were not needed in {}. {how}",
        store.variant,
        count(saved.reads()),
        count(saved.without),
        ratio_title(phase.hit_ratio).replacen('L', "l", 1),
    );
    (
        format!("<strong>{share}</strong> of block reads skipped"),
        lead,
    )
}

/// What the best store's filters cost and save, in a few numbers.
fn tiles(outcome: &Outcome) -> String {
    let Some((store, phase, saved)) = outcome.best() else {
        return String::new();
    };
    let control = outcome.control().and_then(|c| c.phase(phase.hit_ratio));
    let mut html = "<dl class=\"tiles\">".to_owned();
    for (name, value, more) in [
        reads_tile(phase, saved),
        speed_tile(phase, control),
        memory_tile(store),
        disk_tile(phase, control),
    ] {
        let _ = write!(
            html,
            "<div><dt>{}</dt><dd>{} <small>{}</small></dd></div>",
            escape(&name),
            escape(&value),
            escape(&more)
        );
    }
    html.push_str("</dl>\n");
    html
}

type Tile = (String, String, String);

fn reads_tile(phase: &Phase, saved: Saved) -> Tile {
    let without = saved.without as f64 / phase.counters.lookups.max(1) as f64;
    (
        "Blocks read a lookup".to_owned(),
        reads_text(phase.reads()),
        format!("{} without filters", reads_text(without)),
    )
}

fn speed_tile(phase: &Phase, control: Option<&Phase>) -> Tile {
    let without =
        control.map(|c| format!("{} without filters", count(c.lookups_per_second() as u64)));
    (
        "Lookups a second".to_owned(),
        count(phase.lookups_per_second() as u64),
        without.unwrap_or_else(|| "of all threads".to_owned()),
    )
}

fn memory_tile(store: &Store) -> Tile {
    (
        "Memory of filters".to_owned(),
        bytes(store.stats.memory.filters),
        format!("{:.1} bits a URL", store.stats.filter.bits_per_key),
    )
}

fn disk_tile(phase: &Phase, control: Option<&Phase>) -> Tile {
    let without = control
        .and_then(|c| c.disk_bytes_read)
        .map(|read| format!("{} without filters", bytes(read)));
    (
        "Read from the disk".to_owned(),
        or_dash(phase.disk_bytes_read.map(bytes)),
        match (&phase.cold, without) {
            (None, _) => "the files were in memory".to_owned(),
            (Some(_), Some(without)) => without,
            (Some(_), None) => "as the kernel counts".to_owned(),
        },
    )
}

fn parameters(run: &Run) -> Vec<(&'static str, String)> {
    let source = match (run.source, &run.path) {
        ("generate", _) => "generated, on reserved names".to_owned(),
        (source, Some(path)) => format!("{source}: {path}"),
        (source, None) => source.to_owned(),
    };
    let absent = match run.absent {
        "made" => "made from present ones, a character changed",
        "generate" => "generated, on the same hosts",
        _ => "from a list",
    };
    let ratios: Vec<_> = run.hit_ratios.iter().map(|ratio| percent(*ratio)).collect();
    vec![
        ("URLs", format!("{} {source}", count(run.urls))),
        ("rejected lines", count(run.rejected)),
        ("policy", run.policy.clone()),
        (
            "absent URLs",
            format!("{} {absent}", counted(run.absent_urls, "URL", "URLs")),
        ),
        ("lookups of each phase", count(run.lookups)),
        ("hits", ratios.join(", ")),
        ("threads", count(run.threads)),
        (
            "files before each phase",
            if run.cold {
                "evicted (--cold)"
            } else {
                "as they were"
            }
            .to_owned(),
        ),
        ("seed", run.seed.to_string()),
        (
            "memtable",
            run.memtable.map_or_else(|| "the default".to_owned(), bytes),
        ),
    ]
}

fn machine(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let machine = &outcome.machine;
    vec![
        ("processor", or_dash(machine.cpu.clone())),
        ("cores", or_dash(machine.cores.map(count))),
        ("memory", or_dash(machine.memory.map(bytes))),
        ("system", or_dash(machine.os.clone())),
        ("kernel", machine.kernel.clone()),
        ("file system", or_dash(machine.file_system.clone())),
        ("program", format!("seen {}", env!("CARGO_PKG_VERSION"))),
    ]
}
