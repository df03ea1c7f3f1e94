//! What is behind the place where a log seems to end.

use super::head::{self, Next};
use super::reader::LogReader;
use super::{ALIGN, FRAME, frame_size};
use crate::error::Result;

/// Bytes that are read at a time.
const CHUNK: u64 = 1 << 20;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The end of the file, or zeros up to it.
    Nothing,
    /// Something other than zeros, and no frame that says that the place was synced.
    Bytes { at: u64 },
    /// A good frame that says so.
    Synced,
}

impl LogReader {
    /// Looks for good frames behind the last one that was read, which say that what
    /// should follow it had been synced.
    ///
    /// Candidates are looked for at every place where a frame can begin: the length
    /// of a bad frame cannot be trusted to lead to the next.
    pub(super) fn behind(&self, end: u64) -> Result<Behind> {
        let smallest = frame_size(1) as u64;
        let mut found = Behind::Nothing;
        let mut at = self.offset + ALIGN as u64;
        while at < end {
            let chunk = self.chunk(at, CHUNK, end)?;
            if found == Behind::Nothing
                && let Some(place) = chunk.iter().position(|&byte| byte != 0)
            {
                found = Behind::Bytes {
                    at: at + place as u64,
                };
            }
            if chunk.len() < FRAME {
                break;
            }
            let places = chunk.windows(FRAME).step_by(ALIGN);
            let looked_at = places.len();
            for (i, head) in places.enumerate() {
                // Most of what is allocated ahead is zeros, which no number is.
                if head.get(8..16) == Some(&[0; 8]) {
                    continue;
                }
                let offset = at + (i * ALIGN) as u64;
                // Cheap checks first: the number must be one that frames between
                // here and there can have used up.
                let most = (offset - self.offset) / smallest + 1;
                let Next::Frame {
                    size,
                    sequence,
                    synced,
                } = head::read(head, offset, end)
                else {
                    continue;
                };
                if synced <= self.offset
                    || sequence < self.next_sequence
                    || sequence > self.next_sequence.saturating_add(most)
                {
                    continue;
                }
                let frame = self.chunk(offset, size as u64, end)?;
                if frame.len() == size && self.salt.differs(&frame).is_none() {
                    return Ok(Behind::Synced);
                }
            }
            at += (looked_at * ALIGN) as u64;
        }
        Ok(found)
    }
}
