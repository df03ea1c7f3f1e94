//! `seen verify`: checks every checksum and order.

use super::OK;
use super::failure::Failure;
use super::output::print;
use super::progress::Progress;
use super::units::{bytes, counted};
use crate::VerifyReport;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Examples:
  seen verify crawl.seen
  seen verify crawl.seen && echo sound

Reads every file of the store, and lists everything that is damaged: file, byte, what
should be there and what is. Files that are not the store's are named, and are no
damage. Works beside a running writer.

Exit status: 0 no damage; 2 damage, or another failure.";

/// Check every checksum and order; say what is damaged
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// No progress line; damage and failures are still told
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let progress = Progress::alone(args.quiet);
    // Not through a handle: a store too damaged to be opened is the one to check.
    let report = crate::verify(&args.store, &mut |done| {
        progress.bytes(done.bytes, done.total);
    });
    progress.finish();
    let report = report?;
    print(&text(&report))?;
    match report.damage.len() {
        0 => Ok(OK),
        n => Err(Failure::Found(format!(
            "{} is damaged in {}; each is listed with what to do",
            args.store.display(),
            places(n)
        ))),
    }
}

fn text(report: &VerifyReport) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for damage in &report.damage {
        let _ = writeln!(text, "damage: {damage}");
    }
    for cut in &report.cuts {
        let _ = writeln!(
            text,
            "unfinished: {} from byte {} on ({}): left out, and no damage",
            cut.path.display(),
            cut.offset,
            cut.reason
        );
    }
    for name in &report.unknown_files {
        let _ = writeln!(text, "not the store's: {}", Path::new(name).display());
    }
    let verdict = match report.damage.len() {
        0 => "no damage".to_owned(),
        n => format!("damage in {}", places(n)),
    };
    let _ = writeln!(
        text,
        "checked {}, {}, {}: {verdict}",
        counted(report.files, "file", "files"),
        bytes(report.bytes),
        counted(report.entries, "entry", "entries")
    );
    text
}

fn places(n: usize) -> String {
    counted(n as u64, "place", "places")
}
