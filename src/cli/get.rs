//! `seen get`: what is known of URLs, as JSON.

use super::failure::Failure;
use super::json::Object;
use super::note::note;
use super::output::{Answers, Reader};
use super::{FAILED, NOT_ALL, OK, counters};
use crate::{Error, Seen};
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::SystemTime;

const HELP: &str = "\
Examples:
  seen get crawl.seen https://example.com/
  seen get crawl.seen https://example.com/ | jq -r .first_seen

Prints a JSON object a line: url as it was given, key (its canonical form), seen, and
first_seen in RFC 3339, null if it is not known. An invalid URL has key null and the
reason in `invalid`. Bytes that are not UTF-8 show as U+FFFD.

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
                shown
                    .field("key", text(key.as_bytes()))
                    .field("seen", record.is_some())
                    .field(
                        "first_seen",
                        record.and_then(|r| r.first_seen).map_or(Value::Null, time),
                    )
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A time to the millisecond. Beyond the year 9999, RFC 3339 has no form for it.
fn time(at: SystemTime) -> Value {
    let mut text = String::new();
    match write!(text, "{}", humantime::format_rfc3339_millis(at)) {
        Ok(()) => Value::from(text),
        Err(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_rfc_3339_with_milliseconds() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_042);
        assert_eq!(time(at), Value::from("2023-11-14T22:13:20.042Z"));
        let far = SystemTime::UNIX_EPOCH + Duration::from_millis(crate::record::MAX_MILLIS);
        assert_eq!(time(far), Value::Null);
    }
}
