//! `seen due`: what could be claimed.

use super::OK;
use super::failure::Failure;
use super::output::{Answers, Reader};
use super::times;
use crate::Seen;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen due crawl.seen --limit 10000 | seen claim crawl.seen | worker
  seen due crawl.seen | wc -l

Prints the keys (canonical URLs) that `seen claim` would grant now, in bytewise order:
those that were only seen, whose claim ran out, that failed and are to be tried again by
now, or whose record expired. It reads all keys. Works beside a running writer.

Exit status: 0 done (also if the output pipe was closed); 2 failure.";

/// Print what could be claimed now; changes nothing
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// Print at most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// End each key with NUL instead of a line end
    #[arg(short = '0', long)]
    null: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store = Seen::open_read_only(&args.store)?;
    let mut answers = Answers::open()?;
    let end = if args.null { 0 } else { b'\n' };
    let due = store.due(times::now())?;
    for entry in due.take(args.limit.unwrap_or(usize::MAX)) {
        let (key, _) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // The keys before the damage are good.
                answers.flush()?;
                return Err(error.into());
            }
        };
        if answers.line(&[&key], end)? == Reader::Closed {
            return Ok(OK);
        }
    }
    answers.flush()?;
    Ok(OK)
}
