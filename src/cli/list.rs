//! `seen list`: the keys in order.

use super::OK;
use super::failure::Failure;
use super::json::Object;
use super::output::{Answers, Reader};
use super::record::{self, text};
use super::times::parse_moment;
use super::units::parse_host;
use crate::{Query, Seen, StateKind};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::SystemTime;

const HELP: &str = "\
Examples:
  seen list crawl.seen > urls.txt
  seen list crawl.seen --prefix https://example.com/
  seen list crawl.seen --host example.com --state failed --since 2h --json
  seen list crawl.seen | seen new copy.seen > /dev/null

Prints the keys (canonical URLs) of one moment, in bytewise order; with --json an object
a line with key, first_seen, changed, state, and what the state has. --host takes URLs of
one host, whatever their scheme and port, and reads all keys. Works beside a running
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
    /// Only URLs of this host: example.com is not www.example.com
    #[arg(long, value_name = "HOST", conflicts_with = "prefix", value_parser = parse_host)]
    host: Option<String>,
    /// Only what is fetched, failed, claimed, or seen and nothing else; if given several
    /// times, any of them
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    state: Vec<StateKind>,
    /// Only what changed since a time such as 2026-01-31T12:00:00Z, a date, or within an
    /// age such as 2h
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    since: Option<SystemTime>,
    /// An object a line with all that is known
    #[arg(long)]
    json: bool,
    /// End each key with NUL instead of a line end: keys of a raw store may hold line ends
    #[arg(short = '0', long)]
    null: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store = Seen::open_read_only(&args.store)?;
    let mut answers = Answers::open()?;
    let end = if args.null { 0 } else { b'\n' };
    for entry in store.query(&args.query())? {
        let (key, record) = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // The keys before the damage are good.
                answers.flush()?;
                return Err(error.into());
            }
        };
        let reader = if args.json {
            let object = Object::new().field("key", text(&key));
            let line = record::fields(object, &record).finish();
            answers.line(&[line.as_bytes()], end)?
        } else {
            answers.line(&[&key], end)?
        };
        if reader == Reader::Closed {
            return Ok(OK);
        }
    }
    answers.flush()?;
    Ok(OK)
}

impl Args {
    fn query(&self) -> Query {
        let mut query = Query::new().prefix(self.prefix.as_bytes());
        if let Some(host) = &self.host {
            query = query.host(host);
        }
        for state in &self.state {
            query = query.state(*state);
        }
        match self.since {
            Some(since) => query.since(since),
            None => query,
        }
    }
}

fn parse_state(text: &str) -> Result<StateKind, String> {
    let named = StateKind::ALL.into_iter().find(|kind| kind.name() == text);
    named.ok_or_else(|| "it is fetched, failed, claimed or seen".to_owned())
}
