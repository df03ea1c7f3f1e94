//! The index: which block a key belongs to.
//!
//! A front-coded region (see `coded`) with one entry a block. The entry's key is
//! a separator: the shortest that is above the last key of the block before and
//! not above the first key of this one; that of the first block is empty. Its
//! values are the block's offset in the file and its length, checksum included.
//!
//! It is kept in memory as it is stored: a search goes over the restarts and
//! then over at most 16 entries.
#![deny(clippy::indexing_slicing)]

use super::coded::{self, RESTART, common};
use super::region::{Region, check_region, measure, varint};
use super::{CRC, Place};
use crate::vfs::HugeBytes;
use crate::wire::Malformed;
use std::ops::RangeInclusive;

/// A block's offset and length.
const VALUES: u8 = 2;

/// Writes the index.
#[derive(Debug, Default)]
pub(super) struct Builder {
    region: coded::Builder,
    last: Vec<u8>,
    blocks: u64,
}

impl Builder {
    /// Adds a block. `before` is the last key of the block before.
    pub(super) fn push(&mut self, before: &[u8], first: &[u8], place: Place) {
        let separator = if self.blocks == 0 {
            &[]
        } else {
            // `first` is above `before`, so it is longer than what they share.
            let len = common(before, first) + 1;
            first.get(..len).unwrap_or(first)
        };
        let shared = common(&self.last, separator);
        self.region
            .push(separator, shared, &[place.offset, place.len]);
        self.last.clear();
        self.last.extend_from_slice(separator);
        self.blocks += 1;
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(super) fn size(&self) -> usize {
        self.region.len()
    }

    /// Appends the index to `out`. False if it is too large.
    #[must_use]
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        self.region.finish(out)
    }
}

/// The index of an open segment.
#[derive(Debug)]
pub(super) struct Index {
    bytes: HugeBytes,
    blocks: usize,
}

/// Where a key's block is, and which one it is, counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(super) ordinal: usize,
    pub(super) place: Place,
}

impl Index {
    /// Takes the index as it was read, after checking that it names exactly
    /// `blocks` blocks that fill the part of the file at `room`.
    pub(super) fn new(bytes: HugeBytes, blocks: u64, room: Place) -> Result<Index, Malformed> {
        let region = Region::parse(bytes.as_slice(), VALUES)?;
        check_region(&region)?;
        let (mut at, mut count, mut next) = (0, 0, room.offset);
        while at < region.end() {
            let entry = region.entry(at)?;
            if count == 0 && !entry.suffix.is_empty() {
                return Err(Malformed {
                    at,
                    expected: "an empty first separator",
                });
            }
            let place = place(&region, entry.values_at)?;
            let end = place.end().filter(|_| place.offset == next);
            match end {
                Some(end) if place.len > CRC as u64 => next = end,
                _ => {
                    return Err(Malformed {
                        at,
                        expected: "a block that begins where the one before ends",
                    });
                }
            }
            at = entry.next;
            count += 1;
        }
        if Some(next) != room.end() || count as u64 != blocks {
            return Err(Malformed {
                at,
                expected: "as many blocks as the footer says, up to the index",
            });
        }
        Ok(Index {
            bytes,
            blocks: count,
        })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.as_slice().len()
    }

    fn region(&self) -> Result<Region<'_>, Malformed> {
        Region::parse(self.bytes.as_slice(), VALUES)
    }

    /// The block that holds `key` if any does: the last whose separator is not
    /// above it. `None` only if there are no blocks.
    #[inline]
    pub(super) fn locate(&self, key: &[u8]) -> Result<Option<Located>, Malformed> {
        let region = self.region()?;
        let Some(floor) = region.floor(key)? else {
            return Ok(None);
        };
        Ok(Some(Located {
            ordinal: floor.ordinal,
            place: place(&region, floor.values_at)?,
        }))
    }

    /// The block of that number. `None` behind the last.
    pub(super) fn nth(&self, ordinal: usize) -> Result<Option<Place>, Malformed> {
        if ordinal >= self.blocks {
            return Ok(None);
        }
        let region = self.region()?;
        let mut entry = region.entry(region.restart(ordinal / RESTART))?;
        for _ in 0..ordinal % RESTART {
            entry = region.entry(entry.next)?;
        }
        place(&region, entry.values_at).map(Some)
    }
}

/// Whether `bytes` begin with the first entry of an index whose first block begins in
/// `room`: its separator is empty.
pub(super) fn begins_index(bytes: &[u8], room: RangeInclusive<u64>) -> bool {
    let mut at = 0;
    let mut number = || varint(bytes, &mut at).ok();
    (number(), number()) == (Some(0), Some(0))
        && number().is_some_and(|offset| room.contains(&offset))
        && number().is_some_and(|len| len > CRC as u64)
}

/// Whether `bytes` begin with an index of blocks that end at `end`, among them all of
/// `found`. Its checksum need not be known: theirs say what they are, and that it names
/// them, that it is the index.
pub(super) fn is_index_of(bytes: &[u8], found: &[Place], end: u64) -> bool {
    let region = measure(bytes, VALUES, true)
        .and_then(|len| bytes.get(..len))
        .and_then(|bytes| Region::parse(bytes, VALUES).ok());
    let Some(region) = region else {
        return false;
    };
    let (mut at, mut last, mut found) = (0, None, found.iter().peekable());
    while at < region.end() {
        let Ok(entry) = region.entry(at) else {
            return false;
        };
        let Ok(place) = place(&region, entry.values_at) else {
            return false;
        };
        found.next_if_eq(&&place);
        last = place.end();
        at = entry.next;
    }
    found.peek().is_none() && last == Some(end)
}

#[inline]
fn place(region: &Region<'_>, at: usize) -> Result<Place, Malformed> {
    let (offset, at) = region.value(at)?;
    let (len, _) = region.value(at)?;
    Ok(Place { offset, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_beyond_4_gib_are_found() {
        let (mut builder, mut at) = (Builder::default(), 52);
        let mut places = Vec::new();
        for i in 0..100u32 {
            // The largest block, and others.
            let len = u64::from(u32::MAX) >> (i % 4 * 9);
            let place = Place { offset: at, len };
            let before = i.saturating_sub(1).to_be_bytes();
            builder.push(&before, &i.to_be_bytes(), place);
            places.push(place);
            at += len;
        }
        assert!(at > 20 << 32);
        let mut stored = Vec::new();
        assert!(builder.finish(&mut stored));
        let index = |len| {
            let mut bytes = HugeBytes::zeroed(stored.len()).unwrap();
            let room = bytes.as_mut_slice().iter_mut();
            room.zip(&stored).for_each(|(to, byte)| *to = *byte);
            Index::new(bytes, 100, Place { offset: 52, len })
        };
        let good = index(at - 52).unwrap();
        for (i, place) in (0..100u32).zip(places) {
            let located = good.locate(&i.to_be_bytes()).unwrap().unwrap();
            assert_eq!((located.ordinal, located.place), (i as usize, place));
            assert_eq!(good.nth(i as usize).unwrap(), Some(place));
        }
        // Another number of bytes that is the same in 32 bits.
        assert!(index(at - 52 - (1 << 32)).is_err());
    }
}
