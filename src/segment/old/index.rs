//! The index of versions 1 to 3.
//!
//! A front-coded region (see `coded`) with one entry a block. The entry's key is
//! a separator: the shortest that is above the last key of the block before and
//! not above the first key of this one; that of the first block is empty. Its
//! values are the block's offset in the file and its length, checksum included.
//!
//! It is turned into the form of later versions when a segment is opened.
#![deny(clippy::indexing_slicing)]

use super::super::{CRC, Place, index};
use super::region::{Region, check_region, measure, varint};
use crate::wire::Malformed;
use std::ops::RangeInclusive;

/// A block's offset and length.
const VALUES: u8 = 2;

/// The same index in the form that is searched, after checking that it can be trusted. That
/// its blocks fill the file is left to whoever reads that.
pub(in crate::segment) fn convert(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let region = Region::parse(bytes, VALUES)?;
    check_region(&region)?;
    let mut builder = index::Builder::default();
    let (mut at, mut separator, mut last) = (0, Vec::new(), None);
    let malformed = |at| Malformed {
        at,
        expected: "a block that begins where the one before ends",
    };
    while at < region.end() {
        let entry = region.step(at, &mut separator)?;
        if last.is_none() && !separator.is_empty() {
            // The form that it is turned into would not tell.
            return Err(Malformed {
                at,
                expected: "an empty first separator",
            });
        }
        let place = place(&region, entry.values_at)?;
        if last.is_some_and(|last| last != Some(place.offset)) {
            return Err(malformed(at));
        }
        last = Some(place.end());
        builder.push(&separator, place);
        at = entry.next;
    }
    let mut out = Vec::new();
    builder.finish(&mut out).then_some(out).ok_or(malformed(at))
}

/// Whether `bytes` begin with the first entry of an index whose first block begins in
/// `room`: its separator is empty.
pub(in crate::segment) fn begins_index(bytes: &[u8], room: RangeInclusive<u64>) -> bool {
    let mut at = 0;
    let mut number = || varint(bytes, &mut at).ok();
    (number(), number()) == (Some(0), Some(0))
        && number().is_some_and(|offset| room.contains(&offset))
        && number().is_some_and(|len| len > CRC as u64)
}

/// Whether `bytes` begin with an index of blocks that end at `end`, among them all of
/// `found`. Its checksum need not be known: theirs say what they are, and that it names
/// them, that it is the index.
pub(in crate::segment) fn is_index_of(bytes: &[u8], found: &[Place], end: u64) -> bool {
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
