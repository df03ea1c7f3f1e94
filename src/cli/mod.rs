//! The program `seen`: one file a subcommand, one small noun a helper.
//!
//! This module is public for `src/bin/seen.rs` alone. It is not part of the
//! library's interface.

mod ages;
mod batches;
mod bench;
mod claim;
mod columns;
mod compact;
mod counters;
mod due;
mod failed;
mod failure;
mod fate;
mod feed;
mod fetched;
mod footprint;
mod forget;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod get;
mod has;
mod input;
mod interrupt;
mod json;
mod lines;
mod list;
mod merges;
mod new;
mod note;
mod output;
mod plan;
mod progress;
mod record;
mod rejects;
mod release;
mod repair;
mod settle;
mod settlement;
mod splitter;
mod stats;
mod target;
mod times;
mod units;
mod verify;
mod worker;
mod writer;

use clap::{Parser, Subcommand};
use note::note;
use std::process::ExitCode;

/// Everything went well; for questions, the answer is yes.
const OK: u8 = 0;
/// A line was rejected; a claim was lost; `has`, `get` or `forget` was given a URL that was not
/// seen; `repair` lost something.
const NOT_ALL: u8 = 1;
/// A failure. A message on standard error says what to do.
const FAILED: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  seen new crawl.seen urls.txt > fresh.txt   lines never seen before; remembers them
  seen has crawl.seen https://example.com/   was it seen? changes nothing
  seen claim crawl.seen < urls.txt | worker | seen fetched crawl.seen";

const EXIT: &str =
    "Exit status: 0 yes, or done; 1 not all of it; 2 failure. `seen COMMAND --help` says more.";

/// A durable, exact set of URLs for crawlers.
#[derive(Debug, Parser)]
#[command(
    name = "seen",
    version,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    before_help = EXAMPLES,
    after_help = EXIT,
    help_template = "\
{before-help}{usage-heading} {usage}   (-V: the version); the commands:
{subcommands}{after-help}"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::Args),
    Has(has::Args),
    Get(get::Args),
    List(list::Args),
    Claim(claim::Args),
    Due(due::Args),
    Fetched(fetched::Args),
    Failed(failed::Args),
    Release(release::Args),
    Forget(forget::Args),
    Stats(stats::Args),
    Verify(verify::Args),
    Compact(compact::Args),
    Repair(repair::Args),
    Plan(plan::Args),
    Bench(bench::Args),
}

/// Runs the program with the arguments of the process.
#[must_use]
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help_or_error) => {
            // Nobody is left to tell if this fails.
            let _ = help_or_error.print();
            let status = u8::try_from(help_or_error.exit_code()).unwrap_or(FAILED);
            return ExitCode::from(status);
        }
    };
    let status = match cli.command {
        Command::New(args) => new::run(args),
        Command::Has(args) => has::run(args),
        Command::Get(args) => get::run(&args),
        Command::List(args) => list::run(&args),
        Command::Claim(args) => claim::run(&args),
        Command::Due(args) => due::run(&args),
        Command::Fetched(args) => fetched::run(&args),
        Command::Failed(args) => failed::run(&args),
        Command::Release(args) => release::run(&args),
        Command::Forget(args) => forget::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Repair(args) => repair::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    ExitCode::from(status.unwrap_or_else(|failure| {
        note(failure);
        FAILED
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_options_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_fits_a_screen_and_starts_with_examples() {
        let help = Cli::command().render_help().to_string();
        assert!(help.starts_with("Examples:"), "{help}");
        assert!(help.lines().count() <= 24, "{help}");
        assert!(help.lines().all(|l| l.chars().count() <= 90), "{help}");
    }
}
