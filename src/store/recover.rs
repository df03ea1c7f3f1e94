//! What logs hold when a store is opened for writing.

use super::checks::check_log;
use super::core::{Cut, Recovery};
use super::place::missing;
use super::replay::Replayed;
use super::view::Frozen;
use crate::error::{Error, Result};
use crate::log::{LogReader, Tail};
use crate::manifest::{LogRef, Manifest};
use crate::vfs::{Vfs, read_exact_at, write_all_at};
use std::path::Path;
use std::sync::Arc;

/// Bytes that are written once more at a time.
const PIECE: usize = 1 << 20;

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
        if log.length.is_none() {
            make_durable(vfs, dir, &named, log)?;
        }
        let mut replayed = Replayed::open(vfs, dir, &named, log).map_err(missing)?;
        let tail = replayed.read(log.length, true)?;
        replayed.publish();
        let reader = replayed.reader();
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
            }),
        );
    }
    Ok(found)
}

/// Makes a log durable before it is read: what is answered from then on, and the length
/// that the manifest records, must not depend on pages that a power loss would take.
///
/// A sync alone is not enough. If one failed in the process before, its pages may count
/// as clean without being on the disk; so what is not known to be synced is written
/// once more.
fn make_durable(vfs: &dyn Vfs, dir: &Path, named: &Manifest, log: &LogRef) -> Result<()> {
    let path = dir.join(crate::log::file_name(log.number));
    let mut reader = LogReader::open(vfs, &path, named.store, log.number).map_err(missing)?;
    reader.read(None, true, &mut |_| Ok(()))?;
    let (mut at, end) = (reader.synced(), reader.offset());
    if at >= end {
        return Ok(());
    }
    let file = vfs
        .open_write(&path)
        .map_err(|e| Error::io("open", &path, e))?;
    let mut piece = vec![0; PIECE];
    while at < end {
        let count = usize::try_from(end - at).map_or(PIECE, |rest| rest.min(PIECE));
        let bytes = piece.get_mut(..count).unwrap_or_default();
        read_exact_at(&*file, bytes, at).map_err(|e| Error::io("read", &path, e))?;
        write_all_at(&*file, bytes, at).map_err(|e| Error::io("write to", &path, e))?;
        at += count as u64;
    }
    file.sync().map_err(|e| Error::io("sync", &path, e))
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
