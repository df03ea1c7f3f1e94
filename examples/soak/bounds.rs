//! What a store may take at any moment: files, memory, and room on disk.

use crate::{Outcome, must};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes a URL in segments may take, and once all are merged: `docs/performance.md` has
/// 35.7 for a crawl list; small runs share less.
pub(crate) const BYTES_A_URL: u64 = 56;
pub(crate) const BYTES_A_URL_MERGED: f64 = 45.0;

/// What is in a store's directory, in bytes that are allocated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Room {
    pub(crate) files: u64,
    pub(crate) segments: u64,
    pub(crate) logs: u64,
}

/// What a process takes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Process {
    pub(crate) open: u64,
    /// Anonymous memory in bytes.
    pub(crate) memory: u64,
}

impl Room {
    pub(crate) fn of(store: &Path) -> Outcome<Room> {
        let mut room = Room::default();
        let Ok(names) = std::fs::read_dir(store) else {
            return Ok(room);
        };
        for name in names {
            let path = name?.path();
            // Removed meanwhile: it takes nothing.
            let Ok(metadata) = std::fs::metadata(&path) else {
                continue;
            };
            let bytes = metadata.blocks() * 512;
            room.files += 1;
            match path.extension().and_then(|end| end.to_str()) {
                Some("seg") => room.segments += bytes,
                Some("log") => room.logs += bytes,
                _ => {}
            }
        }
        Ok(room)
    }

    /// `live`: bytes of segments that readers saw last. The policy's simulation says
    /// that all runs together may be in a merge, whose output has to have room beside
    /// them: twice that. Memtables flushed since, and half-written, come on top.
    pub(crate) fn check(&self, live: u64, entries: u64, memory: u64) -> Outcome<()> {
        let most = 2 * live + 8 * memory;
        must!(
            self.segments <= most,
            "segments: {self:?}, {live} bytes live"
        );
        let most = 2 * entries * BYTES_A_URL + 8 * memory;
        must!(
            self.segments <= most,
            "segments: {self:?}, {entries} entries"
        );
        // The active log, up to three that wait, each with what was allocated ahead.
        let most = 4 * (memory + (8 << 20)) + (1 << 20);
        must!(self.logs <= most, "logs: {self:?}");
        Ok(())
    }
}

impl Process {
    /// `None` if there is no such process any more, or no `/proc`.
    pub(crate) fn of(id: u32) -> Option<Process> {
        let proc = Path::new("/proc").join(id.to_string());
        let status = std::fs::read_to_string(proc.join("status")).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        Some(Process {
            open: std::fs::read_dir(proc.join("fd")).ok()?.count() as u64,
            memory: kib << 10,
        })
    }

    /// Two descriptors a segment, for those in the directory and as many that were
    /// merged and are still in somebody's view. Memtables: the active one, two that wait,
    /// and as many that logs were read into; of filters and indexes two bytes a URL, twice
    /// while a merge ends.
    pub(crate) fn check(&self, who: &str, room: &Room, entries: u64, memory: u64) -> Outcome<()> {
        let most = 4 * room.files + 60;
        must!(
            self.open <= most,
            "{who}: {} open files, {room:?}",
            self.open
        );
        let most = 6 * memory + 4 * entries + (32 << 20);
        must!(
            self.memory <= most,
            "{who}: {} bytes of memory with {entries} entries",
            self.memory
        );
        Ok(())
    }
}
