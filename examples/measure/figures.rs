//! Sizes and opening times: bytes on disk, opening after a close and after a kill,
//! memory. What depends on the process being fresh is measured in a child.

use crate::{BATCH, Outcome, Plan, fill, median};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Times that an opening is measured.
const OPENINGS: usize = 9;
/// Times that a process is killed.
const KILLS: usize = 3;

pub(crate) fn measure(plan: &Plan, compacted: &Path) -> Outcome<()> {
    let count = plan.urls.len() as f64;
    println!("\nSizes and opening times\n");
    println!("| what | measured | wanted |\n|---|---|---|");

    let bare = plan.dir.join("bare");
    let seen = fill(plan, &bare, 8, false)?;
    seen.compact()?;
    seen.close()?;
    let size = |path: &Path| -> Outcome<f64> {
        let mut sum = 0;
        for entry in std::fs::read_dir(path)? {
            sum += entry?.metadata()?.len();
        }
        Ok(sum as f64)
    };
    let with = size(compacted)? / count;
    let without = size(&bare)? / count;
    row("disk, bytes a URL, with stamps", with, Some(40.0));
    row("disk, bytes a URL, without stamps", without, Some(40.0));

    for (name, mode) in [("writing", "write"), ("reading", "read")] {
        let mut times = Vec::new();
        let mut last = Opened::default();
        for _ in 0..OPENINGS {
            last = ask(mode, compacted)?;
            assert_eq!(last.entries as usize, plan.urls.len());
            times.push(last.millis);
        }
        row(
            &format!("opening for {name} after a close, ms"),
            median(times),
            Some(50.0),
        );
        row(
            &format!("blocks read by opening for {name}"),
            last.blocks as f64,
            Some(0.0),
        );
        row(
            &format!("memory (RssAnon) that opening for {name} adds, bytes a URL"),
            last.anonymous as f64 / count,
            Some(2.0),
        );
        row(
            "  ... and of the process in all",
            last.anonymous_in_all as f64 / count,
            None,
        );
    }

    let mut times = Vec::new();
    let mut recovered = 0;
    for kill in 0..KILLS {
        fill_log_and_kill(plan, compacted, kill)?;
        let opened = ask("write", compacted)?;
        recovered = opened.recovered;
        times.push(opened.millis);
    }
    row(
        "opening after a kill with a full log, ms",
        median(times),
        Some(1000.0),
    );
    row("  ... entries read from the log", recovered as f64, None);
    Ok(())
}

fn row(name: &str, value: f64, most: Option<f64>) {
    let verdict = match most {
        Some(most) if value <= most => format!("at most {most}: holds"),
        Some(most) => format!("at most {most}: MISSED"),
        None => String::new(),
    };
    println!("| {name} | {value:.2} | {verdict} |");
}

/// What a child found that opened the store.
#[derive(Default)]
struct Opened {
    millis: f64,
    blocks: u64,
    entries: u64,
    anonymous: u64,
    anonymous_in_all: u64,
    recovered: u64,
}

/// Lets a child open the store.
fn ask(mode: &str, store: &Path) -> Outcome<Opened> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--child", mode])
        .arg(store)
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("the child that opened the store: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    match numbers.as_slice() {
        &[millis, blocks, entries, anonymous, in_all, recovered] => Ok(Opened {
            millis,
            blocks: blocks as u64,
            entries: entries as u64,
            anonymous: anonymous as u64,
            anonymous_in_all: in_all as u64,
            recovered: recovered as u64,
        }),
        _ => Err(format!("the child answered {text:?}").into()),
    }
}

/// A child opens the store and inserts what it is given until a log is full; then
/// it is killed.
fn fill_log_and_kill(plan: &Plan, store: &Path, round: usize) -> Outcome<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--child", "fill"])
        .arg(store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or("no way to the child")?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no way from the child")?);
    let mut line = String::new();
    // Near misses with a mark of this round are new each time.
    'all: for pass in 0.. {
        for batch in 0..plan.absent.len().div_ceil(BATCH) {
            let mut text = Vec::new();
            for place in batch * BATCH..((batch + 1) * BATCH).min(plan.absent.len()) {
                text.extend_from_slice(plan.absent.get(place));
                text.extend_from_slice(format!("~{round}{pass}\n").as_bytes());
            }
            text.push(b'\n');
            to.write_all(&text)?;
            line.clear();
            from.read_line(&mut line)?;
            if line.trim() == "full" {
                break 'all;
            }
        }
    }
    // SIGKILL, where there is one.
    child.kill()?;
    child.wait()?;
    Ok(())
}
