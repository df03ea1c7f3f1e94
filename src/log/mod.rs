//! The append-only file behind one memtable.
//!
//! # Bytes
//!
//! A log begins with the header that all files share (see `header`), with these
//! fields:
//!
//! ```text
//! 1   u64   the log's random id; must be understood
//! 2   u64   sequence number of its first frame; must be understood
//! 3   u8    1 if its writer shows entries only when they are durable, else 0
//! ```
//!
//! Zeros follow up to a multiple of 8, then frames, each beginning at a multiple
//! of 8:
//!
//! ```text
//! 0    4   CRC-32 of the log's id, then of all bytes of the frame from 4 on
//! 4    4   length of the body in bytes, u32
//! 8    8   sequence number, u64: one more than that of the frame before
//! 16   8   offset in this log below which everything was known to be synced
//!          when this frame was written, u64
//! 24   n   body
//!          zeros up to a multiple of 8
//! ```
//!
//! A frame holds one batch, whole:
//!
//! ```text
//! u8       flags: 1 a time follows; 2 a position follows; others are refused
//! u64      time of the batch, seconds since 1970, if flag 1 is set
//! u64      position, if flag 2 is set
//! ...      operations up to the end of the body:
//!          u8      kind: 1 insert, 2 put; others are refused by number
//!          varint  length of the key
//!          [u8]    the key
//!          varint  of a put: length of the record
//!          [u8]    of a put: the record, see `record::code`
//! ```
//!
//! Behind the last frame the file may be zero: room that was allocated ahead.
//!
//! # Where a log ends
//!
//! A frame is good if its checksum fits (with the log's id in it, so that bytes
//! of an older file in the same blocks, or bytes of a key, cannot pass), its
//! number is the next one, and its synced offset is not above its own. The first
//! frame that is not good ends the log, unless the log's length was recorded in
//! the manifest and is larger, or a good frame further on says that this place
//! had been synced: then it is damage, and an error.

mod behind;
mod body;
mod head;
mod header;
mod reader;
mod salvage;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use body::{BodyWriter, Operation};
pub(crate) use reader::{LogReader, Tail};
pub(crate) use salvage::{Known, Salvage, Step};
pub(crate) use writer::{AppendError, LogWriter, NewLog};

/// Bytes of a frame before its body.
const FRAME: usize = 24;
/// The longest body: a batch is limited to 16 MiB, as keys with more than the bytes
/// that stand before each of them here.
const MAX_BODY: usize = (16 << 20) + 64;
/// The longest that a log without frames and without room ahead is: its header.
pub(crate) const EMPTY: u64 = 88;
/// Frames begin at multiples of this.
const ALIGN: usize = 8;

/// The name of log number `number` in the store's directory.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:06}.log")
}

/// The frame's size in the file for a body of `len` bytes.
const fn frame_size(len: usize) -> usize {
    (FRAME + len).next_multiple_of(ALIGN)
}

/// What the checksums of a log's frames begin with: that of its random id.
#[derive(Debug, Clone, Copy)]
struct Salt(u32);

impl Salt {
    fn new(id: u64) -> Salt {
        Salt(crc32fast::hash(&id.to_le_bytes()))
    }

    /// The checksum of a frame, given everything from its length field on.
    fn checksum(self, rest: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(rest);
        hasher.finalize()
    }

    /// The stored and the computed checksum of a whole frame, if they differ.
    fn differs(self, frame: &[u8]) -> Option<(u32, u32)> {
        let (stored, rest) = frame.split_first_chunk::<4>()?;
        let stored = u32::from_le_bytes(*stored);
        let computed = self.checksum(rest);
        (stored != computed).then_some((stored, computed))
    }
}

/// Tags of the header's fields.
mod tag {
    use crate::wire::MUST_UNDERSTAND;

    pub(super) const ID: u16 = 1 | MUST_UNDERSTAND;
    pub(super) const FIRST_SEQUENCE: u16 = 2 | MUST_UNDERSTAND;
    pub(super) const IMMEDIATE: u16 = 3;
}
