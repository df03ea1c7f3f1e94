//! What is measured in a process of its own.

use crate::{Outcome, open};
use seendb::Seen;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

/// A memtable is as good as full at this many bytes: seven eighths of 64 MiB are
/// for entries.
const FULL: u64 = (56 << 20) / 100 * 99;

pub(crate) fn run(args: &[String]) -> Outcome<()> {
    let [mode, store] = args else {
        return Err("--child needs a mode and a store".into());
    };
    let store = Path::new(store);
    match mode.as_str() {
        "write" => opening(|| open(store, true)),
        "read" => opening(|| Ok(Seen::open_read_only(store)?)),
        "fill" => fill(store),
        _ => Err(format!("no such mode: {mode}").into()),
    }
}

/// Prints the time it takes to open, in ms; blocks read; entries; bytes of
/// anonymous memory added, and in all; entries read from logs.
fn opening(open: impl FnOnce() -> Outcome<Seen>) -> Outcome<()> {
    let before = anonymous()?;
    let start = Instant::now();
    let seen = open()?;
    let millis = start.elapsed().as_secs_f64() * 1e3;
    let after = anonymous()?;
    let stats = seen.stats();
    println!(
        "{millis} {} {} {} {after} {}",
        stats.lookup.blocks_read,
        stats.entries,
        after.saturating_sub(before),
        seen.recovery().entries
    );
    Ok(seen.close()?)
}

/// Anonymous memory of this process, in bytes.
fn anonymous() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .ok_or("no RssAnon in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}

/// Inserts batches of lines that end with an empty one, and says after each
/// whether the log is full.
fn fill(store: &Path) -> Outcome<()> {
    let seen = open(store, true)?;
    let mut out = std::io::stdout().lock();
    let mut batch: Vec<Vec<u8>> = Vec::new();
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        if !line.is_empty() {
            batch.push(line);
            continue;
        }
        seen.insert_many(&batch)?;
        batch.clear();
        let full = seen.stats().memory.memtables >= FULL;
        writeln!(out, "{}", if full { "full" } else { "more" })?;
        out.flush()?;
    }
    Ok(())
}
