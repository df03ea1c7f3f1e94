//! `seen verify`: checks every checksum and order.

use super::OK;
use super::failure::Failure;
use super::output::print;
use super::progress::Progress;
use super::units::{bytes, counted};
use crate::{Error, VerifyReport};
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
        progress.bytes(done.bytes, done.total, "checked");
    });
    progress.finish();
    let report = report?;
    print(&text(&report))?;
    if report.damage.is_empty() {
        return Ok(OK);
    }
    Err(Failure::Found(format!(
        "{}: {}; each is listed with what to do",
        args.store.display(),
        verdict(&report)
    )))
}

fn text(report: &VerifyReport) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for damage in &report.damage {
        let kind = if unread(damage) {
            "unchecked"
        } else {
            "damage"
        };
        let _ = writeln!(text, "{kind}: {damage}");
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
    for name in &report.leftovers {
        let _ = writeln!(
            text,
            "in no run: {name}: being written, or left by a crash; the next writer removes it"
        );
    }
    for name in &report.unknown_files {
        let _ = writeln!(text, "not the store's: {}", Path::new(name).display());
    }
    let verdict = verdict(report);
    let _ = writeln!(
        text,
        "checked {}, {}, {}: {verdict}",
        counted(report.files, "file", "files"),
        bytes(report.bytes),
        counted(report.entries, "entry", "entries")
    );
    text
}

/// Whether a part could not be read: that says nothing of what is in it.
fn unread(error: &Error) -> bool {
    matches!(error, Error::Io { .. })
}

fn verdict(report: &VerifyReport) -> String {
    let unread = report.damage.iter().filter(|error| unread(error)).count();
    let damaged = report.damage.len() - unread;
    match (damaged, unread) {
        (0, 0) => "no damage".to_owned(),
        (n, 0) => format!("damage in {}", places(n)),
        (0, n) => format!("{} could not be read", places(n)),
        (n, m) => format!(
            "damage in {}, and {} could not be read",
            places(n),
            places(m)
        ),
    }
}

fn places(n: usize) -> String {
    counted(n as u64, "place", "places")
}
