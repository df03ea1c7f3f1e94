//! What the kernel says of the disk: what was read from it, and how to make that happen.

#![allow(
    clippy::disallowed_methods,
    reason = "advice on the pages of files, and the kernel's counters; no store is read or written"
)]

use std::fs;
use std::io;
use std::path::Path;

/// Bytes that this process, all of its threads, made the kernel read from disks. `None`
/// where the kernel does not tell.
pub(super) fn bytes_read() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes:"))?;
    line.trim().parse().ok()
}

/// Asks the kernel to forget the pages of all files in a store's directory. It does so if
/// they are on disk, and nobody has them mapped.
#[cfg(target_os = "linux")]
pub(super) fn evict(store: &Path) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};
    for entry in fs::read_dir(store)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let file = fs::File::open(entry.path())?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn evict(_: &Path) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
