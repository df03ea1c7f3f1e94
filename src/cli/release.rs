//! `seen release`: gives claims back.

use super::failure::Failure;
use super::fate::Fate;
use super::settle::{self, Claims};

const HELP: &str = "\
Examples:
  seen release crawl.seen https://example.com/ 3-17
  seen release crawl.seen < claims.txt
  seen release crawl.seen --force https://example.com/

The URLs are as they were before the claim, and can be claimed at once. With --force they
are as if they had only been seen, whatever became of them.

Without URL and TOKEN it reads lines as `seen claim` prints them, and gives them back as
they come; or JSON objects with url and token. A line that is malformed, or whose claim
is lost, is told on standard error; the others are given back. The store is locked for
each batch only. Ctrl-C finishes the batch.

Exit status: 0 all are given back; 1 some lines were rejected, or their claims lost;
2 failure; 130 after Ctrl-C, 143 after SIGTERM.";

/// Give claims back
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    #[command(flatten)]
    claims: Claims,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    settle::run(&args.claims, Fate::Released)
}
