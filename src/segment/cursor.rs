//! The entries of a segment in order.
#![deny(clippy::indexing_slicing)]

use super::Place;
use super::block::{At, Block};
use super::packed::Probe;
use super::reader::Segment;
use crate::error::{Error, Result};
use crate::record::Stored;
use std::ops::Range;
use std::sync::Arc;

/// The most that is read at once.
const READ_AHEAD: u64 = 256 << 10;
/// What the second read after a seek takes; the first takes one block.
const FIRST_AHEAD: u64 = 16 << 10;

/// Walks over a segment with reads that are verified, holding a piece of at
/// most 256 KiB (or one larger block) in memory.
///
/// It begins before the first entry. An error ends it: every further call gives
/// the same error, so that no entry can be passed over.
#[derive(Debug)]
pub(crate) struct Cursor {
    segment: Arc<Segment>,
    /// A piece of the file, and its offset there.
    buffer: Vec<u8>,
    buffer_at: u64,
    /// How much the next read takes beside its first block.
    ahead: u64,
    /// The block after the current one.
    next_block: usize,
    /// The current block, and its bytes in the buffer.
    block: Place,
    bytes: Range<usize>,
    /// The next entry in the block.
    at: At,
    key: Vec<u8>,
    record: Stored,
    /// A seek has read the entry that `advance` is to give.
    waiting: bool,
    failed: Option<Error>,
}

impl Cursor {
    pub(super) fn new(segment: Arc<Segment>) -> Cursor {
        Cursor {
            segment,
            buffer: Vec::new(),
            buffer_at: 0,
            ahead: 0,
            next_block: 0,
            block: Place { offset: 0, len: 0 },
            bytes: 0..0,
            at: At::Start,
            key: Vec::new(),
            record: Stored::Seen(None),
            waiting: false,
            failed: None,
        }
    }

    /// Goes before the first entry whose key is not below `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.guard(|cursor| cursor.try_seek(key))
    }

    /// Goes to the next entry; false if there is none.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.guard(Cursor::try_advance)
    }

    /// The key of the entry that the last `advance` went to.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its record.
    pub(crate) fn record(&self) -> &Stored {
        &self.record
    }

    fn guard<T>(&mut self, run: impl FnOnce(&mut Cursor) -> Result<T>) -> Result<T> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        run(self).inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn try_seek(&mut self, key: &[u8]) -> Result<()> {
        self.waiting = false;
        self.ahead = 0;
        let located = self.segment.index.locate(&Probe::new(key));
        let Some(located) = located.map_err(|m| self.segment.bad_index(m))? else {
            return Ok(());
        };
        self.next_block = located.ordinal;
        self.load_next()?;
        while self.try_advance()? {
            if self.key.as_slice() >= key {
                self.waiting = true;
                break;
            }
        }
        Ok(())
    }

    fn try_advance(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.waiting) {
            return Ok(true);
        }
        loop {
            let at = self.at;
            let step = if self.bytes.is_empty() {
                None
            } else {
                self.with_block(|block, key| block.step(at, key))?
            };
            if let Some((record, next)) = step {
                self.record = record;
                self.at = next;
                return Ok(true);
            }
            if !self.load_next()? {
                return Ok(false);
            }
        }
    }

    /// Calls `use_block` with the current block and the key.
    #[inline]
    fn with_block<T>(
        &mut self,
        use_block: impl FnOnce(Block<'_>, &mut Vec<u8>) -> Result<T, super::Fault>,
    ) -> Result<T> {
        let bytes = self.buffer.get(self.bytes.clone()).unwrap_or_default();
        self.segment
            .parse(bytes)
            .and_then(|block| use_block(block, &mut self.key))
            .map_err(|fault| self.segment.bad_block(fault, self.block))
    }

    /// Goes before the first entry of the next block; false if there is none.
    fn load_next(&mut self) -> Result<bool> {
        let place = self.segment.index.nth(self.next_block);
        let Some(place) = place.map_err(|m| self.segment.bad_index(m))? else {
            return Ok(false);
        };
        let bytes = match self.in_buffer(place) {
            Some(bytes) => bytes,
            None => {
                // The index was checked against the file: sums do not overflow,
                // and the blocks end where the index begins.
                let room = self.segment.footer.index.place.offset - place.offset;
                let piece = Place {
                    offset: place.offset,
                    len: place.len.max(self.ahead).min(room),
                };
                self.bytes = 0..0;
                self.segment.read(piece, &mut self.buffer)?;
                self.buffer_at = place.offset;
                self.ahead = (self.ahead * 4).clamp(FIRST_AHEAD, READ_AHEAD);
                self.in_buffer(place).unwrap_or_default()
            }
        };
        let block = self.buffer.get(bytes.clone()).unwrap_or_default();
        self.segment.check_block(block, place.offset)?;
        self.bytes = bytes;
        self.block = place;
        self.next_block += 1;
        self.at = At::Start;
        self.key.clear();
        Ok(true)
    }

    /// Where a block's bytes are in the buffer, if it holds them all.
    fn in_buffer(&self, place: Place) -> Option<Range<usize>> {
        let start = usize::try_from(place.offset.checked_sub(self.buffer_at)?).ok()?;
        let end = start.checked_add(usize::try_from(place.len).ok()?)?;
        (end <= self.buffer.len()).then_some(start..end)
    }
}
