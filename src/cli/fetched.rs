//! `seen fetched`: pages that were claimed are there.

use super::failure::Failure;
use super::fate::{Fate, parse_content, parse_status};
use super::settle::{self, Claims};

const HELP: &str = "\
Examples:
  seen fetched crawl.seen https://example.com/ 3-17
  seen fetched crawl.seen --status 404 https://example.com/ 3-17
  seen claim crawl.seen < urls.txt | worker | seen fetched crawl.seen

Without URL and TOKEN it reads lines, and settles them as they come: the URL, a tab, the
token, and perhaps a tab and the status, and a tab and the content hash. Or JSON objects
with url, token, status and content; other fields are left alone. A line that is
malformed, or whose claim is lost, is told on standard error; the others are settled.
The store is locked for each batch only. Ctrl-C finishes the batch.

Exit status: 0 all are settled; 1 some lines were rejected, or their claims lost;
2 failure; 130 after Ctrl-C, 143 after SIGTERM.";

/// Record that claimed URLs were fetched
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    claims: Claims,
    /// The answer's status, where a line says none
    #[arg(long, value_name = "NUMBER", default_value = "200", value_parser = parse_status)]
    status: u16,
    /// A hash of what was fetched, 32 hexadecimal digits, where a line says none
    #[arg(long, value_name = "HASH", value_parser = parse_content)]
    content: Option<[u8; 16]>,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let fate = Fate::Fetched {
        status: args.status,
        content: args.content,
    };
    settle::run(&args.claims, fate)
}
