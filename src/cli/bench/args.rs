//! The command line of `seen bench`.

use super::super::units::{parse_canon, parse_count, parse_size};
use super::variant::{self, Rate};
use crate::{Canon, FilterKind};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen bench --urls urls.txt
  seen bench --generate 10M --fpr 1%,0.1% --cold --report bench.html
  seen bench --urls urls.txt --absent tomorrow.txt --filter blocked,none --json bench.json
  seen bench --store crawl.seen --hit-ratio 0,1

Builds a temporary store for each kind of filter and rate, and looks up URLs that it has and
URLs that it has not. The store without filters (none) is the control: what the others read
less was saved by filters. With --store, an existing store is asked, and only read.
Absent URLs are made from the given ones, a character changed, unless --absent gives some.
Counters are the same for the same URLs, options and seed; times are not.
docs/bench.md explains each figure, the JSON and the report.

Exit status: 0 done; 1 done, but some lines were rejected; 2 failure; 130 or 143 ended by a
signal. Temporary stores are removed in each case.";

/// Measure, on your URLs, the disk reads that filters skip
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    pub(super) from: From,
    /// Ask for the URLs of this list that are absent, instead of made ones
    #[arg(long, value_name = "FILE")]
    pub(super) absent: Option<PathBuf>,
    /// Rates to ask of filters; none is the same as --filter none
    #[arg(long, value_name = "RATES", value_delimiter = ',', default_value = "1%", value_parser = variant::parse)]
    pub(super) fpr: Vec<Rate>,
    /// Kinds of filters
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = "bloom,blocked,fuse,none"
    )]
    pub(super) filter: Vec<FilterKind>,
    /// Shares of lookups that find their URL; each is a phase of its own
    #[arg(long, value_name = "RATIOS", value_delimiter = ',', default_value = "0,0.5,1", value_parser = parse_ratio)]
    pub(super) hit_ratio: Vec<f64>,
    /// Have the kernel forget the stores' files before each phase, so that it reads them from
    /// the disk
    #[arg(long)]
    pub(super) cold: bool,
    /// Threads that look up
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: u16,
    /// Lookups of each phase. As many URLs are kept in memory, at most, of each sort
    #[arg(long, value_name = "COUNT", default_value = "1M", value_parser = parse_lookups)]
    pub(super) lookups: u64,
    /// What is chosen at random follows from this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Memory for the newest entries of a store: smaller ones make more runs [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) memtable: Option<usize>,
    /// How URLs become keys: standard (WHATWG) or raw [default: standard]
    #[arg(long, value_name = "POLICY", value_parser = parse_canon)]
    pub(super) canon: Option<Canon>,
    /// Where temporary stores go [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Write the outcome as JSON; `-` is standard output, in place of the tables
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Write a page with charts, which needs no other file
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// No progress line and no notes; rejected lines and failures are still told
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// Where the URLs come from.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct From {
    /// Fill stores with the URLs of this list, one a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) urls: Option<PathBuf>,
    /// Fill stores with so many made-up URLs on reserved hosts, such as 10M
    #[arg(long, value_name = "COUNT", value_parser = parse_urls)]
    pub(super) generate: Option<u64>,
    /// Ask an existing store, which is only read
    #[arg(long, value_name = "STORE", conflicts_with_all = ["fpr", "filter", "memtable", "canon", "dir"])]
    pub(super) store: Option<PathBuf>,
}

fn parse_urls(text: &str) -> Result<u64, String> {
    match parse_count(text)? {
        count @ 1..=1_000_000_000_000 => Ok(count),
        _ => Err("from 1 to 1,000,000,000,000 URLs".to_owned()),
    }
}

fn parse_lookups(text: &str) -> Result<u64, String> {
    match parse_count(text)? {
        count @ 1..=100_000_000 => Ok(count),
        _ => Err("from 1 to 100,000,000 lookups".to_owned()),
    }
}

/// Reads a share of hits: `0.9` or `90%`.
fn parse_ratio(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let ratio = number.parse::<f64>().ok().map(|ratio| ratio * scale);
    ratio
        .filter(|ratio| (0.0..=1.0).contains(ratio))
        .ok_or_else(|| "it is a share from 0, nothing is found, to 1, such as 0.9".to_owned())
}
