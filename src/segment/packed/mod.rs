//! Packed keys: the form of the entries of a block, and of a node of the index.
//!
//! Keys ascend strictly. Each is front-coded: of a key, only the suffix is stored, which
//! is what it does not share with the key before it; `shared` is always as much as it can
//! be. The numbers and bytes that a search decides most entries by lie in columns:
//!
//! ```text
//! shared  [u8]  bytes that the key shares with the one before it
//! first   [u8]  the first byte of the suffix
//! pieces  [u8]  pieces that the rest of the suffix consists of
//! ```
//!
//! Where a key shares more than 254 bytes or has more than 255 pieces, the list is wide:
//! `shared` and `pieces` are u16 each.
//!
//! The pieces of all entries follow on each other elsewhere: they are codes in a block,
//! and bytes in the index (see `strings`).
#![deny(clippy::indexing_slicing)]

mod build;
mod probe;
mod rows;
mod strings;
#[cfg(test)]
mod tests;

pub(super) use build::Builder;
pub(super) use probe::Probe;
pub(super) use rows::Rows;
pub(super) use strings::{BEHIND, Coded, Plain, Strings, put_codes, stream_len};

use super::MAX_KEY;
use crate::wire::Malformed;
use std::cmp::Ordering;

/// The number of bytes that two keys have in common at their beginning.
#[inline]
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    let (wide_a, _) = a.as_chunks::<8>();
    let (wide_b, _) = b.as_chunks::<8>();
    let mut equal = 0;
    for (x, y) in wide_a.iter().zip(wide_b) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return equal + (differ.trailing_zeros() / 8) as usize;
        }
        equal += 8;
    }
    let rest = a.iter().zip(b).skip(equal);
    equal + rest.take_while(|(x, y)| x == y).count()
}

/// Packed keys that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<'a, S> {
    pub(super) rows: Rows<'a>,
    pub(super) strings: S,
}

/// An entry, and the pieces of all before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) entry: usize,
    pub(super) pieces: usize,
}

/// The last entry that is not above a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Floor {
    pub(super) entry: usize,
    /// Bytes that it has in common with the key.
    pub(super) matched: usize,
    /// Whether it is the key itself.
    pub(super) exact: bool,
}

impl<S: Strings> List<'_, S> {
    /// The last entry that is not above the key. The entry before `from` is not above it and
    /// has `matched` bytes in common with it.
    ///
    /// No key is put together: what an entry shares with the one before, and its first
    /// byte, decide most of them. The pieces of an entry are looked at only where it goes
    /// on as the key does.
    #[inline]
    pub(super) fn floor(&self, probe: &Probe<'_>, from: Spot, mut matched: usize) -> Floor {
        let Spot {
            mut entry,
            mut pieces,
        } = from;
        loop {
            let below = |matched, exact| Floor {
                entry: entry.saturating_sub(1),
                matched,
                exact,
            };
            let Some(byte) = probe.byte(matched) else {
                return below(matched, true);
            };
            let stop = self.rows.scan(entry, matched, byte);
            entry = stop.entry;
            pieces += stop.pieces;
            let below = Floor {
                entry: entry.saturating_sub(1),
                matched,
                exact: false,
            };
            if entry >= self.rows.entries()
                || self.rows.shared(entry) != matched
                || self.rows.first(entry) != byte
            {
                return below;
            }
            let count = self.rows.pieces(entry);
            let (equal, order) = self.strings.compare(pieces, count, probe, matched + 1);
            match order {
                Ordering::Greater => return below,
                Ordering::Equal => {
                    return Floor {
                        entry,
                        matched: equal,
                        exact: true,
                    };
                }
                Ordering::Less => {
                    matched = equal;
                    entry += 1;
                    pieces += count;
                }
            }
        }
    }

    /// Turns `key` from the key before `spot` into the one there; the spot behind it, or
    /// `None` at the end.
    #[inline]
    pub(super) fn step(&self, spot: Spot, key: &mut Vec<u8>) -> Result<Option<Spot>, Malformed> {
        let Spot { entry, pieces } = spot;
        if entry >= self.rows.entries() {
            return Ok(None);
        }
        let malformed = Malformed {
            at: entry,
            expected: "an entry that continues the one before",
        };
        let shared = self.rows.shared(entry);
        if shared > key.len() || (entry == 0 && shared != 0) {
            return Err(malformed);
        }
        key.truncate(shared);
        key.push(self.rows.first(entry));
        let count = self.rows.pieces(entry);
        let appended = self.strings.append(pieces, count, key);
        if appended.is_none() || key.len() > MAX_KEY {
            return Err(malformed);
        }
        Ok(Some(Spot {
            entry: entry + 1,
            pieces: pieces + count,
        }))
    }
}
