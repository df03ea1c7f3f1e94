//! Lines that the policy rejects: the first few by name, then a count.

use super::lines::{Chunk, Line};
use super::progress::Progress;
use crate::InvalidUrl;

/// So many are shown.
const SHOWN: u64 = 10;

/// The rejected lines of one run.
#[derive(Debug, Default)]
pub(super) struct Rejects(u64);

impl Rejects {
    /// Counts a line, and tells about it if it is among the first.
    pub(super) fn add(
        &mut self,
        chunk: &Chunk,
        line: &Line,
        reason: &InvalidUrl,
        progress: &Progress,
    ) {
        self.0 += 1;
        if self.0 <= SHOWN {
            progress.note(format_args!(
                "{}:{}: rejected: {reason}",
                chunk.source, line.number
            ));
        }
    }

    /// Tells the count, if there is something to count.
    pub(super) fn finish(&self, progress: &Progress) {
        match self.0 {
            0 => {}
            1 => progress.note("1 line was rejected"),
            n @ 2..=SHOWN => progress.note(format_args!("{n} lines were rejected")),
            n => progress.note(format_args!(
                "{n} lines were rejected; the first {SHOWN} are shown"
            )),
        }
    }

    pub(super) fn any(&self) -> bool {
        self.0 > 0
    }
}
