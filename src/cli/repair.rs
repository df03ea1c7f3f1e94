//! `seen repair`: a new store of all that is intact in a damaged one.

use super::failure::Failure;
use super::interrupt;
use super::output::print;
use super::progress::Progress;
use super::units::{bytes, counted, parse_canon, parse_rate};
use super::{NOT_ALL, OK};
use crate::{Canon, Error, RepairReport, Seen};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen repair crawl.seen --into repaired.seen
  seen repair crawl.seen --into repaired.seen > lost.txt || less lost.txt

Takes every entry that is intact into a new store, and prints what is lost: file, bytes,
between which keys, and why. A URL that was changed or forgotten in what is lost may show
as it was before. The damaged store is only read; no writer may have it open.
The new one needs room for a copy. It is a store only when all of it is done: Ctrl-C
removes what was made, and what a kill leaves must be removed by hand.

Exit status: 0 nothing lost; 1 done, and what is lost is listed; 2 failure, no new store;
130 or 143 ended by a signal, no new store.";

/// Make a new store of all that is intact in a damaged one
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The damaged store's directory; nothing in it is changed
    store: PathBuf,
    /// Where the new store goes: nothing, or an empty directory
    #[arg(long, value_name = "NEW")]
    into: PathBuf,
    /// The store's policy, standard or raw; needed only if none of its files tells it
    #[arg(long, value_name = "POLICY", value_parser = parse_canon)]
    canon: Option<Canon>,
    /// The store keeps no times; needed only if none of its files tells it
    #[arg(long)]
    no_stamps: bool,
    /// Share of lookups of new URLs that may cost a needless read, such as 1%, for the
    /// new store [default: 1%]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// No progress line; what is lost and failures are still told
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let mut builder = Seen::builder(&args.store);
    if let Some(canon) = &args.canon {
        builder = builder.canon(canon.clone());
    }
    if args.no_stamps {
        builder = builder.stamps(false);
    }
    if let Some(rate) = args.fpr {
        builder = builder.false_positive_rate(rate);
    }
    let signals = interrupt::watch("stopped at once; remove what was made of the new store")?;
    let mut signal = None;
    let progress = Progress::alone(args.quiet);
    let result = builder.repair_into(&args.into, &mut |done| {
        progress.bytes(done.bytes, done.total, "read");
        signal = signal.or_else(|| signals.try_recv().ok());
        match signal {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    });
    progress.finish();
    let report = match (result, signal) {
        (Err(error @ Error::Interrupted { .. }), Some(signal)) => {
            super::note(error);
            return Ok(signal.status());
        }
        (Err(Error::Locked { path }), _) => {
            return Err(Failure::Found(format!(
                "{} is locked: another process is writing to it; end that first",
                path.display()
            )));
        }
        (result, _) => result?,
    };
    print(&text(&report, args))?;
    Ok(if report.lost.is_empty() { OK } else { NOT_ALL })
}

fn text(report: &RepairReport, args: &Args) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for lost in &report.lost {
        let _ = writeln!(text, "lost: {lost}");
    }
    for damage in &report.damage {
        let what = match damage {
            Error::Corrupt(damage) => format!(
                "{} is damaged at byte {}: expected {}, found {}",
                damage.path.display(),
                damage.offset,
                damage.expected,
                damage.found
            ),
            other => other.to_string(),
        };
        let _ = writeln!(text, "no entry lost: {what}");
    }
    for name in &report.ignored {
        let _ = writeln!(
            text,
            "not taken: {name}: no part of the store, going by its header or the manifest, or a later file has all of it that counts"
        );
    }
    for path in &report.undated {
        let _ = writeln!(
            text,
            "age unknown: {}: taken for older than all other files",
            path.display()
        );
    }
    if !report.lost.is_empty() || !report.undated.is_empty() {
        let _ = writeln!(
            text,
            "older: a URL that was changed or forgotten there may show as it was before"
        );
    }
    if let Some(last) = report.last_position
        && report.position != report.last_position
    {
        let from = match report.position {
            Some(position) => format!("position {position}"),
            None => "its beginning".to_owned(),
        };
        let _ = writeln!(
            text,
            "resume: whoever feeds the store goes on from {from}, not from position {last}"
        );
    }
    let lost = match report.lost.len() as u64 {
        0 => "nothing lost".to_owned(),
        n => format!("{} lost", counted(n, "part", "parts")),
    };
    let _ = writeln!(
        text,
        "read {}, {}: {} in {}, {lost}",
        counted(report.files, "file", "files"),
        bytes(report.bytes),
        counted(report.entries, "entry", "entries"),
        args.into.display()
    );
    text
}
