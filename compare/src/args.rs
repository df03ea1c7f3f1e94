//! The command line.

use crate::rivals::Name;
use clap::Parser;
use std::path::PathBuf;

/// Measures the same work on seendb and on the stores that people would take instead.
///
/// Prints a table, with ratios to a hash set in memory, which is measured beside each store,
/// and to seendb. Each store is measured in processes of its own; every answer is checked.
#[derive(Debug, Parser)]
#[command(name = "seendb-compare", max_term_width = 100)]
pub(crate) struct Args {
    /// A file of URLs, one a line; repeats are left out.
    #[arg(conflicts_with_all = ["generate", "redraw"])]
    pub(crate) file: Option<PathBuf>,
    /// Make up so many URLs like those of a crawl.
    #[arg(long, value_name = "N", conflicts_with = "redraw")]
    pub(crate) generate: Option<u64>,
    /// The stores to measure; all by default.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) only: Vec<Name>,
    /// How often each is measured, by turns.
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// URLs that are looked up of each kind: present and absent.
    #[arg(long, value_name = "L", default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) lookups: u64,
    /// URLs that are looked up of each kind when the store's files are not in memory. Few, as
    /// what they read is in memory then.
    #[arg(long, value_name = "L", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cold: u64,
    /// The cache of those that have one of their own.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub(crate) cache: u64,
    /// Compact each store that can be, before it is asked.
    #[arg(long)]
    pub(crate) compact: bool,
    /// Where stores are made; the directory for temporary files by default.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Write the results to a file.
    #[arg(long, value_name = "OUT")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the results.
    #[arg(long, value_name = "OUT")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the table as Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Keep what is finished in a directory, and go on with what is there.
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Batches of 1,000 after which a load is synced, so that it goes on from there with
    /// --resume after it was ended: ten million URLs by default.
    #[arg(long, value_name = "BATCHES", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) stage: u64,
    /// Before cold lookups, drop all files from the kernel's memory, not the store's alone:
    /// for root, and at the cost of everything else on the machine.
    #[arg(long)]
    pub(crate) drop_caches: bool,
    /// Measure nothing: print and draw the results that --json wrote.
    #[arg(long, value_name = "JSON")]
    pub(crate) redraw: Option<PathBuf>,
    /// The job of a process that this program started.
    #[arg(long, hide = true)]
    pub(crate) child: Option<String>,
}
