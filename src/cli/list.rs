//! `seen list`: the keys in order.

use super::OK;
use super::failure::Failure;
use super::output::{Answers, Reader};
use crate::Seen;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen list crawl.seen > urls.txt
  seen list crawl.seen --prefix https://example.com/
  seen list crawl.seen | seen new copy.seen > /dev/null

Prints the keys (canonical URLs) of one moment, in bytewise order. Works beside a running
writer.

Exit status: 0 done (also if the output pipe was closed); 2 failure.";

/// Print the keys in order
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// Only keys that begin with this, as the keys are written
    #[arg(
        long,
        value_name = "PREFIX",
        default_value = "",
        hide_default_value = true
    )]
    prefix: OsString,
    /// End each key with NUL instead of a line end: keys of a raw store may hold line ends
    #[arg(short = '0', long)]
    null: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store = Seen::open_read_only(&args.store)?;
    let mut answers = Answers::open()?;
    let end = if args.null { 0 } else { b'\n' };
    for entry in store.scan(args.prefix.as_bytes())? {
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
