//! One merge of runs, done in bounded pieces.

use super::sample::Sampling;
use super::{Expired, Fate, Merged, Purge, RunCursor, RunWriter, Target};
use crate::error::Result;
use crate::record::Stored;
use crate::segment::{Meta, Segment};
use std::sync::Arc;

/// Entries that one piece takes at most; in tests of schedules, where merges are small, two.
pub(crate) const PIECE: usize = if cfg!(shuttle) { 2 } else { 20_000 };

/// A merge in progress.
#[derive(Debug)]
pub(crate) struct Merge {
    entries: Merged<RunCursor>,
    writer: RunWriter,
    /// Until a sample of the keys was taken.
    sampling: Option<Sampling>,
    purge: Purge,
    /// Entries that one piece takes.
    piece: usize,
    /// Those of the last piece.
    expired: Vec<Expired>,
}

impl Merge {
    /// Merges runs, given from the newest to the oldest, into one at `target`.
    pub(crate) fn new(
        runs: Vec<Vec<Arc<Segment>>>,
        target: Target,
        purge: Purge,
        piece: usize,
    ) -> Merge {
        let cursors = runs.iter().map(|run| RunCursor::new(run));
        let entries = Merged::new(cursors.collect());
        let writer = RunWriter::new(target);
        Merge {
            entries,
            sampling: Some(Sampling::new(&writer, runs)),
            writer,
            purge,
            piece,
            expired: Vec::new(),
        }
    }

    /// Merges a piece. The finished run's segments at the end, else `None`.
    pub(crate) fn step(&mut self, number: &mut dyn FnMut() -> u64) -> Result<Option<Vec<Meta>>> {
        if let Some(sampling) = &mut self.sampling {
            if !sampling.step()? {
                return Ok(None);
            }
            if let Some(sampling) = self.sampling.take() {
                self.writer.code_with(sampling.coder());
            }
        }
        for _ in 0..self.piece {
            if !self.entries.advance()? {
                return self.writer.finish().map(Some);
            }
            let key = self.entries.key();
            let record = self.entries.record();
            let (fate, has_expired) = self.purge.fate(key, &record);
            if has_expired && let Some(kind) = record.kind() {
                self.expired.push(Expired {
                    key: key.to_vec(),
                    kind,
                });
            }
            match fate {
                Fate::Kept => self.writer.add(key, record, number)?,
                Fate::Buried => self.writer.add(key, Stored::Forgotten, number)?,
                Fate::Dropped => {}
            }
        }
        Ok(None)
    }

    /// What expired in the last piece, in the order of keys.
    pub(crate) fn take_expired(&mut self) -> Vec<Expired> {
        std::mem::take(&mut self.expired)
    }

    /// The rule by which entries are left out.
    pub(crate) fn purge(&self) -> &Purge {
        &self.purge
    }

    /// Gives up: removes what was written. The inputs were never touched.
    pub(crate) fn abandon(mut self) {
        self.writer.abandon();
    }
}
