//! A node of the index.
//!
//! ```text
//! entries   u8      1 to 64
//! flags     u8      bit 0: the list is wide; the others are 0
//! level     u8      0: a leaf, whose entries are blocks; else they are nodes a level below
//! zero      u8
//! strings   u32     the length of the separators' rest
//! before    u64     blocks of the segment before those of this node
//! base      u64     in a leaf: the offset of its first block in the file; else 0
//! places    u32     an entry: in a leaf, where the block ends, counted from the base;
//!                   else the offset of the node in the index
//! columns           of the separators, see `packed`; a piece is a byte
//! strings   [u8]    the pieces
//! ```
//!
//! The separator of the first entry is that of the node in the node above it, and empty in
//! the root: its columns are 0.
#![deny(clippy::indexing_slicing)]

use super::super::Place;
use super::super::packed::{List, Plain, Rows};
use crate::vector::prefetch_lines;
use crate::wire::Malformed;

/// The most entries of a node.
pub(super) const FANOUT: usize = 64;
/// Bytes before the places.
pub(super) const HEAD: usize = 24;
pub(super) const WIDE: u8 = 1;

/// Cache lines of a node that are asked for before it is searched: most have no more.
const PREFETCH_LINES: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) level: u8,
    pub(super) before: u64,
    pub(super) base: u64,
    places: &'a [[u8; 4]],
    pub(super) list: List<'a, Plain<'a>>,
    /// Of the node, in bytes.
    pub(super) len: usize,
}

impl<'a> Node<'a> {
    /// The node that lies at an offset of the index.
    #[inline]
    pub(super) fn read(index: &'a [u8], at: usize) -> Result<Node<'a>, Malformed> {
        let malformed = Malformed {
            at,
            expected: "a node of the index",
        };
        let bytes = index.get(at..).ok_or(malformed)?;
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(malformed)?;
        let &[
            entries,
            flags,
            level,
            zero,
            s0,
            s1,
            s2,
            s3,
            ref rest_of_head @ ..,
        ] = head;
        let entries = usize::from(entries);
        let strings = u32::from_le_bytes([s0, s1, s2, s3]);
        let strings = usize::try_from(strings).map_err(|_| malformed)?;
        let ([before, base], _) = rest_of_head.as_chunks::<8>() else {
            return Err(malformed);
        };
        let (before, base) = (u64::from_le_bytes(*before), u64::from_le_bytes(*base));
        if !(1..=FANOUT).contains(&entries) || flags > WIDE || zero != 0 {
            return Err(malformed);
        }
        let (places, rest) = rest.split_at_checked(4 * entries).ok_or(malformed)?;
        let wide = flags == WIDE;
        let rows = Rows::new(rest, entries, wide).ok_or(malformed)?;
        let columns = Rows::size(entries, wide);
        let pieces = rest.get(columns..).and_then(|rest| rest.get(..strings));
        Ok(Node {
            level,
            before,
            base,
            places: places.as_chunks().0,
            list: List {
                rows,
                strings: Plain(pieces.ok_or(malformed)?),
            },
            len: HEAD + 4 * entries + columns + strings,
        })
    }

    #[inline]
    pub(super) fn entries(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.level == 0
    }

    #[inline]
    fn number(&self, entry: usize) -> Option<u32> {
        self.places
            .get(entry)
            .map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Where the node of an entry is.
    #[inline]
    pub(super) fn child(&self, entry: usize) -> Option<usize> {
        usize::try_from(self.number(entry)?).ok()
    }

    /// Where the block of an entry is.
    #[inline]
    pub(super) fn block(&self, entry: usize) -> Option<Place> {
        let start = match entry.checked_sub(1) {
            Some(before) => self.number(before)?,
            None => 0,
        };
        let len = self.number(entry)?.checked_sub(start)?;
        Some(Place {
            offset: self.base.checked_add(start.into())?,
            len: len.into(),
        })
    }
}

/// Asks for the node at an offset, before it is read.
#[inline]
pub(super) fn prefetch_node(index: &[u8], at: usize) {
    prefetch_lines(index.get(at..).unwrap_or_default(), PREFETCH_LINES);
}
