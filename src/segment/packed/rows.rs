//! The columns of packed keys.
#![deny(clippy::indexing_slicing)]

use crate::vector::{Columns, Stop};

/// The most bytes that an entry of a narrow list shares.
pub(super) const MOST_SHARED: u8 = 254;

/// What all entries of a list have in columns.
#[derive(Debug, Clone, Copy)]
pub(in crate::segment) enum Rows<'a> {
    Narrow(Columns<'a>),
    Wide(Wide<'a>),
}

/// The columns of a wide list.
#[derive(Debug, Clone, Copy)]
pub(in crate::segment) struct Wide<'a> {
    shared: &'a [[u8; 2]],
    first: &'a [u8],
    pieces: &'a [[u8; 2]],
}

impl<'a> Rows<'a> {
    /// Bytes that the columns of so many entries take.
    #[inline]
    pub(in crate::segment) fn size(entries: usize, wide: bool) -> usize {
        entries * if wide { 5 } else { Columns::WIDTH }
    }

    /// The columns that `bytes` begin with; `None` if there are not as many.
    #[inline]
    pub(in crate::segment) fn new(bytes: &'a [u8], entries: usize, wide: bool) -> Option<Rows<'a>> {
        if !wide {
            return Columns::new(bytes, entries).map(Rows::Narrow);
        }
        let (shared, bytes) = bytes.split_at_checked(entries.checked_mul(2)?)?;
        let (first, bytes) = bytes.split_at_checked(entries)?;
        let pieces = bytes.get(..entries.checked_mul(2)?)?;
        Some(Rows::Wide(Wide {
            shared: shared.as_chunks().0,
            first,
            pieces: pieces.as_chunks().0,
        }))
    }

    #[inline]
    pub(super) fn entries(&self) -> usize {
        match self {
            Rows::Narrow(columns) => columns.entries(),
            Rows::Wide(wide) => wide.first.len(),
        }
    }

    #[inline]
    pub(in crate::segment) fn shared(&self, entry: usize) -> usize {
        match self {
            Rows::Narrow(columns) => columns.shared(entry).into(),
            Rows::Wide(wide) => number(wide.shared, entry),
        }
    }

    #[inline]
    pub(in crate::segment) fn first(&self, entry: usize) -> u8 {
        match self {
            Rows::Narrow(columns) => columns.first(entry),
            Rows::Wide(wide) => wide.first.get(entry).copied().unwrap_or(0),
        }
    }

    #[inline]
    pub(in crate::segment) fn pieces(&self, entry: usize) -> usize {
        match self {
            Rows::Narrow(columns) => columns.pieces(entry).into(),
            Rows::Wide(wide) => number(wide.pieces, entry),
        }
    }

    /// The pieces of all entries.
    pub(in crate::segment) fn all_pieces(&self) -> usize {
        (0..self.entries()).map(|entry| self.pieces(entry)).sum()
    }

    /// Whether an entry shares more than a search of a narrow list can tell.
    pub(in crate::segment) fn is_too_narrow(&self) -> bool {
        match self {
            Rows::Narrow(columns) => {
                (0..columns.entries()).any(|entry| columns.shared(entry) > MOST_SHARED)
            }
            Rows::Wide(_) => false,
        }
    }

    /// See [`Columns::scan`].
    #[inline]
    pub(super) fn scan(&self, from: usize, matched: usize, byte: u8) -> Stop {
        match self {
            // Entries of a narrow list share at most 254 bytes: with 255, all of them share
            // less.
            Rows::Narrow(columns) => {
                let matched = u8::try_from(matched).unwrap_or(u8::MAX);
                columns.scan(from, matched, byte)
            }
            Rows::Wide(_) => self.scan_wide(from, matched, byte),
        }
    }

    #[cold]
    fn scan_wide(&self, from: usize, matched: usize, byte: u8) -> Stop {
        let (mut entry, mut pieces) = (from, 0);
        while entry < self.entries() {
            let shared = self.shared(entry);
            if shared < matched || (shared == matched && self.first(entry) >= byte) {
                break;
            }
            pieces += self.pieces(entry);
            entry += 1;
        }
        Stop { entry, pieces }
    }
}

fn number(column: &[[u8; 2]], entry: usize) -> usize {
    let bytes = column.get(entry).copied().unwrap_or_default();
    u16::from_le_bytes(bytes).into()
}
