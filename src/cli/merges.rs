//! `seen plan --merges`: what merging will cost a store while it grows.

use super::columns::Columns;
use super::failure::Failure;
use super::footprint;
use super::json::Object;
use super::plan::{Row, Urls, WIDTH, parse_urls};
use super::units::{bytes, count, parse_count, parse_size, percent, seconds};
use crate::compact::{Load, Outcome, simulate};
use crate::options::DEFAULT_MEMTABLE;

/// What is told if no URLs are named: so many, and on how many nodes.
const CASES: [(u64, u64); 5] = [
    (10_000_000, 1),
    (100_000_000, 1),
    (1_000_000_000, 1),
    (10_000_000_000, 1),
    (100_000_000_000, 64),
];
/// New URLs a second, if nothing is said.
const RATE: u64 = 100_000;
/// Bytes that a thread merges a second.
const MERGE_SPEED: f64 = 100e6;
/// Logs there are at most: those of the memtable that fills and of two that are flushed.
const LOGS: u64 = 3;
/// Flushes that are simulated at most: some seconds.
const MOST_FLUSHES: u64 = 10_000_000;
/// Bytes of one node at most: what merges write in all fits 64 bits by far.
const MOST_LIVE: u64 = 1 << 56;
/// Bytes of a URL at most: about those of the longest key.
const MOST_BYTES: u64 = 1 << 16;
const MOST_THREADS: u64 = 1024;

// A doc comment would take the place of that of `seen plan`.
#[derive(Debug, clap::Args)]
pub(super) struct Merging {
    /// What merging costs while a store grows to so many URLs, in place of its size; without
    /// --urls at five sizes from 10M to 100B
    #[arg(long, conflicts_with_all = ["fpr", "memory", "filter"])]
    pub(super) merges: bool,
    /// New URLs a second on each node; several with commas between them [default: 100k]
    #[arg(long, value_name = "COUNT", value_parser = parse_urls, requires = "merges")]
    rate: Option<Urls>,
    /// Nodes that share the URLs evenly
    #[arg(long, value_name = "COUNT", value_parser = parse_urls, requires = "merges")]
    nodes: Option<Urls>,
    /// The size of a memtable [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "merges")]
    memtable: Option<usize>,
    /// Bytes of a URL on average, as logs and memtables hold it [default: 76.5]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, requires = "merges")]
    url_bytes: Option<f64>,
    /// Bytes of a URL in a segment [default: 18.4]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, requires = "merges")]
    disk_bytes: Option<f64>,
    /// Bytes that a merge writes a second [default: 100MB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "merges")]
    merge_speed: Option<usize>,
    /// Merges that go on at once; a store has one thread for them [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = parse_threads, requires = "merges")]
    merge_threads: Option<usize>,
}

/// Reads bytes of a URL: `18` or `18.5`.
fn parse_bytes(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|bytes| (1.0..=MOST_BYTES as f64).contains(bytes))
        .ok_or_else(|| format!("it is a number of bytes such as 18.5, from 1 to {MOST_BYTES}"))
}

fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = parse_count(text)?;
    let few = (1..=MOST_THREADS).contains(&threads);
    let threads = usize::try_from(threads).ok().filter(|_| few);
    threads.ok_or_else(|| format!("it is from 1 to {MOST_THREADS}"))
}

/// One column.
#[derive(Debug)]
pub(super) struct Plan {
    urls: u64,
    nodes: u64,
    rate: u64,
    /// URLs of one node.
    share: u64,
    /// Bytes of one node's logs: those that are written, and those there are at most.
    logged: u64,
    logs: u64,
    outcome: Outcome,
}

impl Plan {
    /// What one node does that has so many URLs a second.
    fn new(args: &Merging, (urls, nodes): (u64, u64), rate: u64) -> Result<Plan, Failure> {
        let share = urls.div_ceil(nodes);
        let of = |urls: u64, each: f64| (urls as f64 * each).ceil() as u64;
        let disk = args.disk_bytes.unwrap_or(footprint::DISK);
        let url = args.url_bytes.unwrap_or(footprint::URL);
        let memtable = args.memtable.unwrap_or(DEFAULT_MEMTABLE);
        let fit = ((memtable as f64 / footprint::memtable(url)) as u64).max(1);
        if share / fit > MOST_FLUSHES || of(share, disk) > MOST_LIVE {
            return Err(Failure::Usage(format!(
                "{} URLs on a node are {} memtables of {}, and {} of segments; a plan is for {} \
                 and {} at most",
                count(share),
                count(share / fit),
                bytes(memtable as u64),
                bytes(of(share, disk)),
                count(MOST_FLUSHES),
                bytes(MOST_LIVE),
            )));
        }
        let outcome = simulate(&Load {
            bytes: of(share, disk),
            flush: of(fit, disk),
            fill: fit as f64 / rate as f64,
            speed: args.merge_speed.map_or(MERGE_SPEED, |speed| speed as f64),
            threads: args.merge_threads.unwrap_or(1),
        });
        Ok(Plan {
            urls,
            nodes,
            rate,
            share,
            logged: of(share, footprint::log(url)),
            logs: of(share.min(fit.saturating_mul(LOGS)), footprint::log(url)),
            outcome,
        })
    }

    fn live(&self) -> u64 {
        self.outcome.flushed
    }

    fn written(&self) -> u64 {
        self.logged + self.outcome.flushed + self.outcome.merged
    }

    fn written_a_url(&self) -> f64 {
        self.written() as f64 / self.share as f64
    }

    /// The part of the time in which writers waited.
    fn waiting(&self) -> f64 {
        self.outcome.waited / self.outcome.seconds
    }
}

/// What is to be told.
pub(super) fn text(args: &Merging, urls: Option<&Urls>, is_json: bool) -> Result<String, Failure> {
    if args.merge_speed == Some(0) {
        return Err(Failure::Usage("merges at no speed never end".into()));
    }
    let nodes = match &args.nodes {
        None => None,
        Some(Urls(nodes)) => match nodes.as_slice() {
            [nodes] => Some(*nodes),
            _ => return Err(Failure::Usage("give one number of --nodes".into())),
        },
    };
    let cases: Vec<(u64, u64)> = match urls {
        Some(Urls(urls)) => urls.iter().map(|urls| (*urls, 1)).collect(),
        None => CASES.to_vec(),
    };
    let rates = args.rate.as_ref().map_or(&[RATE][..], |Urls(rates)| rates);
    let mut plans = Vec::with_capacity(cases.len() * rates.len());
    for (urls, usual) in cases {
        for rate in rates {
            plans.push(Plan::new(args, (urls, nodes.unwrap_or(usual)), *rate)?);
        }
    }
    if is_json {
        let lines = plans.iter().map(|plan| json(plan).finish() + "\n");
        return Ok(lines.collect());
    }
    let mut table = Columns::default();
    for (name, cell) in ROWS {
        table.row(name, plans.iter().map(cell).collect());
    }
    Ok(format!("{}\n{NOTES}", table.text(WIDTH)))
}

const ROWS: [Row<Plan>; 18] = [
    ("URLs", |plan| count(plan.urls)),
    ("nodes", |plan| count(plan.nodes)),
    ("URLs a second on each", |plan| count(plan.rate)),
    ("time", |plan| seconds(plan.outcome.seconds)),
    ("memtables", |plan| count(plan.outcome.flushes)),
    ("merges", |plan| count(plan.outcome.merges)),
    ("written by flushes", |plan| bytes(plan.outcome.flushed)),
    ("written by merges", |plan| bytes(plan.outcome.merged)),
    ("times a flushed byte is written", |plan| {
        format!("{:.2}", plan.outcome.amplification())
    }),
    ("bytes written a URL, with logs", |plan| {
        format!("{:.0}", plan.written_a_url())
    }),
    ("runs, on average", |plan| {
        format!("{:.1}", plan.outcome.mean_runs)
    }),
    ("runs, at most", |plan| count(plan.outcome.most_runs as u64)),
    ("disk at the end", |plan| bytes(plan.live())),
    ("disk at most", |plan| {
        bytes(plan.outcome.most_bytes + plan.logs)
    }),
    ("  of it logs", |plan| bytes(plan.logs)),
    ("segments at most, to those in use", |plan| {
        format!("{:.2}", plan.outcome.most_share)
    }),
    ("writers wait, of the time", |plan| percent(plan.waiting())),
    ("  at most at once", |plan| {
        seconds(plan.outcome.longest_wait)
    }),
];

const NOTES: &str = "\
Simulated with the policy of the store, on each node, for URLs that are all new; a store that
meets many again, or forgets, merges less. `seen stats` tells what one has written.
";

fn json(plan: &Plan) -> Object {
    let outcome = &plan.outcome;
    let written = Object::new()
        .field("logs", plan.logged)
        .field("flushes", outcome.flushed)
        .field("merges", outcome.merged)
        .field("amplification", outcome.amplification());
    let runs = Object::new()
        .field("mean", outcome.mean_runs)
        .field("most", outcome.most_runs as u64);
    let disk = Object::new()
        .field("live", plan.live())
        .field("most_segments", outcome.most_bytes)
        .field("most_logs", plan.logs)
        .field("most_share", outcome.most_share);
    let waits = Object::new()
        .field("memtables", outcome.slowed)
        .field("seconds", outcome.waited)
        .field("longest", outcome.longest_wait);
    Object::new()
        .field("urls", plan.urls)
        .field("nodes", plan.nodes)
        .field("rate", plan.rate)
        .field("seconds", outcome.seconds)
        .field("flushes", outcome.flushes)
        .field("merges", outcome.merges)
        .object("written", written)
        .object("runs", runs)
        .object("disk", disk)
        .object("waits", waits)
}
