//! Lines that the policy rejects: the first few by name, then a count.

use super::lines::{Chunk, Line, SHOWN as SHOWN_BYTES};
use super::progress::Progress;
use std::fmt::Display;

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
        reason: impl Display,
        progress: &Progress,
    ) {
        self.0 += 1;
        if self.0 <= SHOWN {
            let text = chunk.text(line);
            let shown = text.get(..SHOWN_BYTES).unwrap_or(text).escape_ascii();
            let cut = if text.len() > SHOWN_BYTES { "..." } else { "" };
            progress.note(format_args!(
                "{}:{}: rejected: {reason}: {shown}{cut}",
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

    pub(super) fn count(&self) -> u64 {
        self.0
    }

    pub(super) fn any(&self) -> bool {
        self.0 > 0
    }
}
