//! What is measured in a process of its own; prints a name and a number a line.

use crate::{Outcome, kernel, questions, stores};
use seendb::Seen;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

/// A memtable is as good as full at this many bytes: seven eighths of 64 MiB are
/// for entries.
const FULL: u64 = (56 << 20) / 100 * 99;

pub(crate) fn run(args: &[String]) -> Outcome<()> {
    let (mode, paths) = args.split_first().ok_or("--child needs a mode")?;
    let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
    match (mode.as_str(), paths.as_slice()) {
        ("write", &[store]) => opening(|| Ok(stores::builder(store).open()?)),
        ("read", &[store]) => opening(|| Ok(Seen::open_read_only(store)?)),
        ("remember", &[store, present, absent]) => memory(store, present, absent),
        ("find", &[store, present]) => lookups(store, present, true),
        ("miss", &[store, absent]) => lookups(store, absent, false),
        ("fill", &[store]) => fill(store),
        _ => Err(format!("no such mode, or not with {} paths: {mode}", paths.len()).into()),
    }
}

/// How long it takes to open, and what is read meanwhile.
fn opening(open: impl FnOnce() -> Outcome<Seen>) -> Outcome<()> {
    let read = kernel::bytes_read()?;
    let start = Instant::now();
    let seen = open()?;
    let millis = start.elapsed().as_secs_f64() * 1e3;
    let read = kernel::bytes_read()? - read;
    let stats = seen.stats();
    println!("millis: {millis}");
    println!("blocks: {}", stats.lookup.blocks_read);
    println!("entries: {}", stats.entries);
    println!("recovered: {}", seen.recovery().entries);
    println!("bytes read: {read}");
    println!("resident: {}", stats.memory.filters + stats.memory.indexes);
    Ok(seen.close()?)
}

/// The memory that an open store takes, when URLs that are there and others were looked up.
fn memory(store: &Path, present: &Path, absent: &Path) -> Outcome<()> {
    let anonymous = kernel::anonymous()?;
    let mapped = kernel::mapped()?;
    let seen = stores::builder(store).open()?;
    let opened = kernel::anonymous()? - anonymous;
    for (path, expected) in [(present, true), (absent, false)] {
        for url in questions::read(path)? {
            assert_eq!(seen.contains(&url?)?, expected);
        }
    }
    let memtables = seen.stats().memory.memtables;
    println!("opened: {}", opened.saturating_sub(memtables));
    let in_all = kernel::anonymous()?;
    let added = in_all.saturating_sub(anonymous + memtables);
    println!("anonymous: {added}");
    println!("in all: {in_all}");
    println!("mapped: {}", kernel::mapped()?.saturating_sub(mapped));
    Ok(seen.close()?)
}

/// Opens the store, whose files are not in the page cache, and looks each URL up. Counts what
/// was read from the disk, for all together and for the one with the most.
fn lookups(store: &Path, path: &Path, expected: bool) -> Outcome<()> {
    let urls: Vec<Vec<u8>> = questions::read(path)?.collect::<Result<_, _>>()?;
    let seen = stores::builder(store).open()?;
    let work = seen.stats().lookup;
    let faults = kernel::reading_faults()?;
    let of_disk = kernel::requests(store)?;
    let requests = || -> Outcome<u64> {
        match kernel::requests(store)? {
            Some((requests, _)) => Ok(requests),
            None => kernel::reading_faults(),
        }
    };
    let (read, asked) = (kernel::bytes_read()?, requests()?);
    let mut most = (0, 0);
    let mut before = (read, asked);
    let mut nanos = 0;
    for url in &urls {
        let start = Instant::now();
        assert_eq!(seen.contains(url)?, expected);
        nanos += start.elapsed().as_nanos();
        let now = (kernel::bytes_read()?, requests()?);
        most = (most.0.max(now.0 - before.0), most.1.max(now.1 - before.1));
        before = now;
    }
    let work = seen.stats().lookup.since(&work);
    println!("lookups: {}", work.lookups);
    println!("blocks: {}", work.blocks_read);
    println!("block bytes: {}", work.bytes_read);
    println!("bytes: {}", before.0 - read);
    println!("most bytes: {}", most.0);
    println!("requests: {}", before.1 - asked);
    println!("most requests: {}", most.1);
    println!("faults: {}", kernel::reading_faults()? - faults);
    if let Some((before, now)) = of_disk.zip(kernel::requests(store)?) {
        println!("bytes of the disk: {}", now.1 - before.1);
    }
    println!("nanos: {nanos}");
    println!("asked rate: {}", seen.stats().filter.asked);
    Ok(seen.close()?)
}

/// Inserts batches of lines that end with an empty one, and says after each
/// whether the log is full.
fn fill(store: &Path) -> Outcome<()> {
    let seen = stores::builder(store).open()?;
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
