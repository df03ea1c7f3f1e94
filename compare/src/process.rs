//! What the kernel says of this process, and of files.

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Anonymous memory of this process, in bytes: what it allocated, not the files it mapped.
pub(crate) fn anonymous() -> Result<u64> {
    Ok(number("/proc/self/status", "RssAnon:")? * 1024)
}

/// Bytes that this process made the kernel read from disks.
pub(crate) fn bytes_read() -> Result<u64> {
    number("/proc/self/io", "read_bytes:")
}

/// Memory that programs can still have, in bytes.
pub(crate) fn available() -> Result<u64> {
    Ok(number("/proc/meminfo", "MemAvailable:")? * 1024)
}

fn number(file: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let digits = value.map(|value| value.trim().trim_end_matches(" kB"));
    digits
        .and_then(|digits| digits.parse().ok())
        .with_context(|| format!("no {name} in {file}"))
}

/// The processor time that all threads of this process took.
pub(crate) fn cpu() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// The processor time that this thread took.
pub(crate) fn own_cpu() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Waits until no thread of this process has anything to do, and tells since when, and how
/// much processor time was taken by then.
pub(crate) fn until_idle() -> (Instant, Duration) {
    const STEP: Duration = Duration::from_millis(20);
    /// As long without work is idle.
    const QUIET: Duration = Duration::from_millis(600);
    /// Less than this is no work.
    const WORK: Duration = Duration::from_millis(2);
    let mut since = (Instant::now(), cpu());
    while since.0.elapsed() < QUIET {
        sleep(STEP);
        let now = cpu();
        if now.saturating_sub(since.1) > WORK {
            since = (Instant::now(), now);
        }
    }
    since
}

/// Bytes that the files under a path have, and that are allocated for them.
pub(crate) fn disk(path: &Path) -> Result<(u64, u64)> {
    let mut sums = (0, 0);
    visit(path, &mut |file| {
        let about = fs::metadata(file)?;
        sums.0 += about.len();
        sums.1 += about.blocks() * 512;
        Ok(())
    })?;
    Ok(sums)
}

/// Asks the kernel to forget the pages of all files under a path, which it does if nobody
/// has them mapped. With `all`, everything that it has in memory of any file, for which one
/// has to be root.
pub(crate) fn forget(path: &Path, all: bool) -> Result<()> {
    visit(path, &mut |file| {
        let file = fs::File::open(file)?;
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    })?;
    if all {
        let switch = "/proc/sys/vm/drop_caches";
        fs::write(switch, "1").with_context(|| format!("cannot write to {switch}"))?;
    }
    Ok(())
}

fn visit(path: &Path, each: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        let entry = entry?.path();
        if entry.is_dir() {
            visit(&entry, each)?;
        } else {
            each(&entry).with_context(|| format!("cannot look at {}", entry.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_folders_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("inner")).unwrap();
        fs::write(dir.path().join("one"), [1; 5_000]).unwrap();
        fs::write(dir.path().join("inner/two"), [2; 7]).unwrap();
        let (apparent, allocated) = disk(dir.path()).unwrap();
        assert_eq!(apparent, 5_007);
        assert!(allocated >= 5_007 || allocated == 0, "{allocated}");
        forget(dir.path(), false).unwrap();
    }

    #[test]
    fn work_of_other_threads_is_waited_for() {
        let start = Instant::now();
        let other = std::thread::spawn(move || {
            while start.elapsed() < Duration::from_millis(300) {
                std::hint::spin_loop();
            }
        });
        let (since, _) = until_idle();
        other.join().unwrap();
        assert!(since - start >= Duration::from_millis(200));
    }

    #[test]
    fn memory_that_is_touched_is_counted() {
        let block = vec![7_u8; 64 << 20];
        assert!(anonymous().unwrap() >= 64 << 20);
        assert_eq!(block[1 << 20], 7);
        assert!(available().unwrap() > 0);
    }
}
