//! `seen compact`: merges everything into one run.

use super::OK;
use super::ages::Expiring;
use super::failure::Failure;
use super::note::note_recovery;
use super::output::print;
use super::progress::Progress;
use super::units::{bytes, counted, parse_rate, parse_size};
use super::writer::Waiting;
use crate::{Codec, FilterKind, Seen, Stats};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen compact crawl.seen
  seen compact crawl.seen --wait 10min

Lookups are fastest when everything is in one run; the size changes little. The store
merges by itself as it grows; this makes it do all of it now. It needs free space for a
second copy of the store while it works. It can be killed at any moment.

Exit status: 0 done; 2 failure.";

/// Merge everything into one run
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    #[command(flatten)]
    waiting: Waiting,
    /// Share of lookups of new URLs that may cost a needless read, such as 1%, for what
    /// is written now [default: the store's own]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// How filters are built: bloom, blocked, fuse or none [default: the store's own]
    #[arg(long, value_name = "KIND")]
    filter: Option<FilterKind>,
    /// How keys are coded: plain, standard or dense [default: the store's own]
    #[arg(long, value_name = "CODEC")]
    codec: Option<Codec>,
    /// Memory for all together: the newest entries, filters and indexes [default: as needed]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    #[command(flatten)]
    expiring: Expiring,
    /// No progress, no notes and no summary
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    // Opening for writing would create a store where there is none.
    Seen::open_read_only(&args.store)?.close()?;
    let store = args.waiting.open(|| {
        let mut builder = args.expiring.set(Seen::builder(&args.store));
        if let Some(rate) = args.fpr {
            builder = builder.false_positive_rate(rate);
        }
        if let Some(kind) = args.filter {
            builder = builder.filter(kind);
        }
        if let Some(codec) = args.codec {
            builder = builder.codec(codec);
        }
        if let Some(memory) = args.memory {
            builder = builder.memory(memory as u64);
        }
        builder
    })?;
    if !args.quiet {
        note_recovery(&store);
    }
    let before = store.stats();
    let progress = Progress::alone(args.quiet);
    progress.doing("merging everything into one run");
    let result = store.compact();
    progress.finish();
    result?;
    let after = store.stats();
    store.close()?;
    if !args.quiet {
        print(&format!("{} -> {}\n", shape(&before), shape(&after)))?;
    }
    Ok(OK)
}

fn shape(stats: &Stats) -> String {
    let runs = counted(stats.runs, "run", "runs");
    let waiting = match stats.memtable_entries {
        0 => String::new(),
        n => format!(" + {} in memory", counted(n, "entry", "entries")),
    };
    format!("{runs}{waiting}, {}", bytes(stats.disk_bytes))
}
