//! `seen get`: what is known of URLs, as JSON.

use super::failure::Failure;
use super::json::Object;
use super::note::note;
use super::output::{Answers, Reader};
use super::record::{self, text};
use super::{FAILED, NOT_ALL, OK, counters};
use crate::{Error, Seen};
use serde_json::Value;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen get crawl.seen https://example.com/
  seen get crawl.seen https://example.com/ | jq -r .state

Prints a JSON object a line: url as it was given, key (its canonical form), seen, and
what is known of it: first_seen, changed, state (seen, claimed, fetched or failed), and
what the state has. Times are RFC 3339. Of a URL that was not seen first_seen is null. An
invalid URL has key null and the reason in `invalid`. Bytes that are not UTF-8 show as
U+FFFD.

Exit status: 0 all were seen; 1 some were not; 2 some are invalid under the store's
policy, or another failure.";

/// Print what is known of URLs, as JSON
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// URLs to look up
    #[arg(value_name = "URL", required = true)]
    urls: Vec<OsString>,
    /// Print this run's lookup counters as JSON on standard error
    #[arg(long)]
    counters: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let store = Seen::open_read_only(&args.store)?;
    let mut answers = Answers::open()?;
    let (mut unseen, mut invalid) = (false, 0_u64);
    for url in &args.urls {
        let shown = Object::new().field("url", text(url.as_bytes()));
        let object = match store.key(url.as_bytes()) {
            Ok(key) => {
                let record = store.get(&key)?;
                unseen |= record.is_none();
                let shown = shown
                    .field("key", text(key.as_bytes()))
                    .field("seen", record.is_some());
                match &record {
                    Some(record) => record::fields(shown, record),
                    None => shown.field("first_seen", Value::Null),
                }
            }
            Err(Error::InvalidUrl { reason, .. }) => {
                invalid += 1;
                shown
                    .field("key", Value::Null)
                    .field("seen", false)
                    .field("first_seen", Value::Null)
                    .field("invalid", reason.to_string())
            }
            Err(other) => return Err(other.into()),
        };
        if answers.line(&[object.finish().as_bytes()], b'\n')? == Reader::Closed {
            break;
        }
    }
    answers.flush()?;
    if invalid > 0 {
        note(format_args!(
            "invalid under the store's policy: {invalid}; correct them or leave them out"
        ));
    }
    if args.counters {
        counters::print(Some(&store));
    }
    Ok(match (invalid, unseen) {
        (1.., _) => FAILED,
        (0, true) => NOT_ALL,
        (0, false) => OK,
    })
}
