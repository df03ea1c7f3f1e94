//! What the kernel says of this process, and of the disk.

use crate::Outcome;
use rustix::fs::{Advice, fadvise, major, minor};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a sector in the counters of block devices.
const SECTOR: u64 = 512;
/// Nanoseconds of a tick in the times of a process: the kernel tells hundredths of a second.
const TICK: u64 = 10_000_000;

/// A line of numbers from `/proc` or `/sys`, after a name if it has one.
fn value(file: &str, name: &str) -> Outcome<u64> {
    let text = fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    let value = value.ok_or_else(|| format!("no {name} in {file}"))?;
    Ok(value.parse()?)
}

/// How many threads of all programs ran or wanted to in the last minute, on how many
/// processors: with others at work, ratios hold less, and two threads are not twice as fast.
pub(crate) fn surroundings() -> Outcome<String> {
    let loads = fs::read_to_string("/proc/loadavg")?;
    let load = loads.split_whitespace().next().unwrap_or_default();
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{cores} cores, load average {load} before this"))
}

/// Anonymous memory of this process, in bytes.
pub(crate) fn anonymous() -> Outcome<u64> {
    Ok(value("/proc/self/status", "RssAnon:")? << 10)
}

/// Pages of files that this process has mapped and touched, in bytes.
pub(crate) fn mapped() -> Outcome<u64> {
    Ok(value("/proc/self/status", "RssFile:")? << 10)
}

/// Bytes that this process, all of its threads, had read from disks.
pub(crate) fn bytes_read() -> Outcome<u64> {
    value("/proc/self/io", "read_bytes:")
}

/// The numbers of `/proc/self/stat` after the name, which may hold anything.
fn stat() -> Outcome<Vec<u64>> {
    let text = fs::read_to_string("/proc/self/stat")?;
    let (_, numbers) = text.rsplit_once(')').ok_or("no name in /proc/self/stat")?;
    let numbers = numbers.split_whitespace();
    Ok(numbers.map(|n| n.parse().unwrap_or(0)).collect())
}

fn field(number: usize) -> Outcome<u64> {
    // Fields are counted from 1, and the third is the first after the name.
    let place = number.saturating_sub(3);
    Ok(*stat()?.get(place).ok_or("/proc/self/stat is too short")?)
}

/// Page faults of this process that had to read from a disk.
pub(crate) fn reading_faults() -> Outcome<u64> {
    field(12)
}

/// Processor time that all threads of this process took, also those that ended, in ns.
pub(crate) fn cpu() -> Outcome<u64> {
    Ok((field(14)? + field(15)?) * TICK)
}

/// Processor time that this thread took, in ns.
pub(crate) fn cpu_of_this_thread() -> Outcome<u64> {
    value("/proc/thread-self/schedstat", "")
}

/// Read requests that the disk below a path was given, by anybody, and the bytes of them.
/// `None` where there is no disk, or the kernel does not tell.
pub(crate) fn requests(path: &Path) -> Outcome<Option<(u64, u64)>> {
    let device = fs::metadata(path)?.dev();
    let file = format!("/sys/dev/block/{}:{}/stat", major(device), minor(device));
    let Ok(text) = fs::read_to_string(file) else {
        return Ok(None);
    };
    let numbers: Vec<u64> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(numbers
        .first()
        .zip(numbers.get(2))
        .map(|(&requests, &sectors)| (requests, sectors * SECTOR)))
}

/// Makes the kernel forget the pages of all files of a store. It does so if they are on disk
/// and nobody has them mapped: so the store must be closed, and who measures has to see that
/// bytes are read.
pub(crate) fn evict(store: &Path) -> Outcome<()> {
    for entry in fs::read_dir(store)? {
        let file = File::open(entry?.path())?;
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// Bytes that a store takes on disk, as they are allocated: all of its files.
pub(crate) fn allocated(store: &Path) -> Outcome<u64> {
    allocated_to(store, "")
}

/// Bytes that those of a store's files take whose names end so.
pub(crate) fn allocated_to(store: &Path, end: &str) -> Outcome<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(store)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(end) {
            // Removed meanwhile: it takes nothing.
            sum += fs::metadata(path).map_or(0, |metadata| metadata.blocks() * SECTOR);
        }
    }
    Ok(sum)
}
