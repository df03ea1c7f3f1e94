//! One merge of runs, done in bounded pieces.

use super::{Merged, RunCursor, RunWriter, Target};
use crate::error::Result;
use crate::segment::Meta;

/// Entries that one piece takes at most.
const PIECE: usize = 20_000;

/// A merge in progress.
#[derive(Debug)]
pub(crate) struct Merge {
    entries: Merged<RunCursor>,
    writer: RunWriter,
}

impl Merge {
    /// Merges runs, given from the newest to the oldest, into one at `target`.
    pub(crate) fn new(runs: Vec<RunCursor>, target: Target) -> Merge {
        Merge {
            entries: Merged::new(runs),
            writer: RunWriter::new(target),
        }
    }

    /// Merges a piece. The finished run's segments at the end, else `None`.
    pub(crate) fn step(&mut self, number: &mut dyn FnMut() -> u64) -> Result<Option<Vec<Meta>>> {
        for _ in 0..PIECE {
            if !self.entries.advance()? {
                return self.writer.finish().map(Some);
            }
            let record = self.entries.record();
            self.writer.add(self.entries.key(), &record, number)?;
        }
        Ok(None)
    }

    /// Gives up: removes what was written. The inputs were never touched.
    pub(crate) fn abandon(mut self) {
        self.writer.abandon();
    }
}
