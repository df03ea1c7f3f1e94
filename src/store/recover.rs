//! What logs hold when a store is opened for writing.

use super::checks::check_log;
use super::core::{Cut, Recovery};
use super::place::missing;
use super::replay::Replayed;
use super::view::Frozen;
use crate::error::{Error, Result};
use crate::log::Tail;
use crate::manifest::Manifest;
use crate::vfs::Vfs;
use std::path::Path;
use std::sync::Arc;

/// What was found.
#[derive(Debug)]
pub(super) struct Recovered {
    /// A memtable for each log, newest first.
    pub(super) frozen: Vec<Arc<Frozen>>,
    pub(super) recovery: Recovery,
    /// The number of the next frame.
    pub(super) next_sequence: u64,
    /// The last position, in segments or logs.
    pub(super) position: Option<u64>,
}

/// Reads the logs that the manifest names. Their final lengths are noted in it, to be
/// saved with the next log.
pub(super) fn recover(vfs: &dyn Vfs, dir: &Path, manifest: &mut Manifest) -> Result<Recovered> {
    let mut found = Recovered {
        frozen: Vec::new(),
        recovery: Recovery::default(),
        next_sequence: manifest.sequence,
        position: manifest.position,
    };
    let named = manifest.clone();
    let count = named.logs.len();
    for (place, log) in manifest.logs.iter_mut().enumerate() {
        check_log(dir, log, found.next_sequence, place + 1 == count)?;
        let mut replayed = Replayed::open(vfs, dir, &named, log).map_err(missing)?;
        let tail = replayed.read(log.length, true)?;
        replayed.publish();
        let reader = replayed.reader();
        // What is answered from now on must not depend on pages that a power loss
        // would take.
        reader
            .file()
            .sync()
            .map_err(|e| Error::io("sync", reader.path(), e))?;
        let is_clean = tail == Tail::Clean;
        found.recovery.add(&replayed, tail);
        log.length = Some(reader.offset());
        if is_clean && reader.file_len()? > reader.offset() {
            // Room that was allocated ahead. Of no consequence if it stays.
            let trimmed = vfs.open_write(reader.path());
            let _ = trimmed.and_then(|file| file.set_len(reader.offset()));
        }
        let first = found.next_sequence;
        found.next_sequence = reader.next_sequence();
        found.position = replayed.position().or(found.position);
        found.frozen.insert(
            0,
            Arc::new(Frozen {
                memtable: replayed.memtable().clone(),
                log: log.number,
                sequences: (first, found.next_sequence.saturating_sub(1)),
                position: replayed.position(),
                recovered: true,
            }),
        );
    }
    Ok(found)
}

impl Recovery {
    /// Counts a log that was read.
    pub(super) fn add(&mut self, log: &Replayed, tail: Tail) {
        self.logs += 1;
        self.entries += log.entries();
        if let Tail::Unfinished { reason } = tail {
            self.cuts.push(Cut {
                path: log.reader().path().to_path_buf(),
                offset: log.reader().offset(),
                reason,
            });
        }
    }
}
