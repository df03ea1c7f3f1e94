//! `seen failed`: pages that were claimed could not be fetched.

use super::failure::Failure;
use super::fate::Fate;
use super::settle::{self, Claims};
use super::units::parse_duration;
use std::time::Duration;

const HELP: &str = "\
Examples:
  seen failed crawl.seen --reason 'no such host' https://example.com/ 3-17
  seen failed crawl.seen --reason timeout --retry 1h https://example.com/ 3-17
  seen failed crawl.seen --retry 1h < failures.txt

Without --retry a failure is final: the URL is not granted again until it expires, is
forgotten, or released with --force.

Without URL and TOKEN it reads lines, and settles them as they come: the URL, a tab, the
token, and perhaps a tab and the reason. Or JSON objects with url, token, reason and
retry (\"1h\", or null for never); other fields are left alone. A line that is malformed,
or whose claim is lost, is told on standard error; the others are settled. The store is
locked for each batch only. Ctrl-C finishes the batch. Of a reason, 120 bytes are kept.

Exit status: 0 all are settled; 1 some lines were rejected, or their claims lost;
2 failure; 130 after Ctrl-C, 143 after SIGTERM.";

/// Record that claimed URLs could not be fetched, and why
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    claims: Claims,
    /// Why, where a line says nothing
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
    /// Try again after this time, such as 1h [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    retry: Option<Duration>,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let fate = Fate::Failed {
        reason: args.reason.clone(),
        retry: args.retry,
    };
    settle::run(&args.claims, fate)
}
