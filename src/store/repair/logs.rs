//! The intact frames of a log, in a memtable.

use super::ledger::Ledger;
use super::report::Lost;
use crate::error::{Error, Result, is_out_of_descriptors};
use crate::header::StoreId;
use crate::log::{Known, Operation, Salvage, Step};
use crate::memtable::Memtable;
use crate::store::place::missing;
use crate::store::replay::Table;
use crate::vfs::Vfs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

/// A log that is to be read.
#[derive(Debug, Clone)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    pub(super) number: u64,
    pub(super) known: Known,
}

/// Reads logs from the oldest to the newest, and keeps account of positions.
pub(super) struct Logs<'a> {
    pub(super) vfs: &'a dyn Vfs,
    pub(super) ledger: &'a Ledger<'a>,
    pub(super) store: StoreId,
    pub(super) seed: u64,
    pub(super) stamps: bool,
    /// The last position before which no frame is missing.
    pub(super) position: Option<u64>,
    /// The last position of all.
    pub(super) last_position: Option<u64>,
    /// Whether no frame is missing so far.
    pub(super) whole: bool,
    /// The number behind the last frame that was found.
    pub(super) next_sequence: u64,
    /// The first and the last number of each log.
    pub(super) covered: Vec<(u64, u64)>,
}

impl Logs<'_> {
    /// The entries of one log.
    pub(super) fn read(&mut self, log: &LogFile) -> Result<Arc<Memtable>> {
        let mut table = Table::new(&log.path, self.seed, self.stamps)?;
        match Salvage::open(self.vfs, &log.path, self.store, log.number, log.known) {
            Ok(mut salvage) => self.read_frames(log, &mut salvage, &mut table)?,
            Err(error) if is_refused(&error) => return Err(error),
            Err(error) => self.lose_all(log, missing(error)),
        }
        Ok(table.publish())
    }

    fn read_frames(
        &mut self,
        log: &LogFile,
        salvage: &mut Salvage,
        table: &mut Table,
    ) -> Result<()> {
        self.ledger.read(salvage.offset())?;
        let header = salvage.header_damage().cloned();
        let (mut frames, mut lost_some) = (0_u64, false);
        loop {
            let before = salvage.offset();
            let (position, last, whole) = (&mut self.position, &mut self.last_position, self.whole);
            let step = salvage.step(&mut |operation| match operation {
                Operation::Insert { key, seconds } => table.insert(key, seconds, &log.path),
                Operation::Put { key, record } => table.put(key, record, &log.path),
                Operation::Position(at) => {
                    *last = (*last).max(Some(at));
                    if whole {
                        *position = Some(at);
                    }
                    Ok(())
                }
            })?;
            self.ledger.read(salvage.offset().saturating_sub(before))?;
            match step {
                Step::Frame => frames += 1,
                Step::Searching => {}
                Step::Lost(gap) if is_refused(&gap.damage) => return Err(gap.damage),
                Step::Lost(gap) => {
                    self.whole = false;
                    lost_some = true;
                    // No frame may fit because the log's id is what is damaged.
                    let damage = header.clone().filter(|_| frames == 0);
                    let damage = damage.unwrap_or(gap.damage);
                    let mut lost = Lost::new(log.path.clone(), gap.bytes, damage);
                    (lost.first_batch, lost.last_batch) = (gap.first, gap.last);
                    self.ledger.lose_batches(lost);
                }
                Step::End => break,
            }
        }
        match header {
            Some(damage) if frames > 0 => self.ledger.note([damage]),
            Some(damage) if !lost_some => self.lose_all(log, damage),
            _ => {}
        }
        let next = salvage.next_sequence().max(log.known.until).unwrap_or(0);
        self.next_sequence = self.next_sequence.max(next);
        if let Some(first) = log.known.first.filter(|&first| first < next) {
            self.covered.push((first, next - 1));
        }
        Ok(())
    }

    /// Nothing of the log can be read. That is no loss if it is known to have no frame.
    fn lose_all(&mut self, log: &LogFile, damage: Error) {
        if log.known.first.is_some() && log.known.first == log.known.until {
            return self.ledger.note([damage]);
        }
        self.whole = false;
        let size = log.known.length.unwrap_or_else(|| {
            let file = self.vfs.open(&log.path).and_then(|file| file.len());
            file.unwrap_or(0)
        });
        let mut lost = Lost::new(log.path.clone(), 0..size, damage);
        lost.first_batch = log.known.first;
        lost.last_batch = log.known.until.and_then(|until| until.checked_sub(1));
        self.ledger.lose_batches(lost);
    }
}

/// Errors that are not damage: what this build does not know, what the user may not read,
/// and want of descriptors or memory. To go on would take what is intact for lost.
pub(super) fn is_refused(error: &Error) -> bool {
    match error {
        Error::UnsupportedFormat { .. } => true,
        Error::Io { source, .. } => {
            [ErrorKind::PermissionDenied, ErrorKind::OutOfMemory].contains(&source.kind())
                || is_out_of_descriptors(source)
        }
        _ => false,
    }
}
