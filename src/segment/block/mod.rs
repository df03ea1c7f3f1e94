//! A block: the smallest part that is read.
//!
//! ```text
//! entries   u16      1 to 65,535
//! flags     u8       bit 0: the list is wide; the others are 0
//! width     u8       bits of a value, 0 to 64; 0 without records
//! covered   u16      bytes of the first key, and
//! codes     u16      codes of it behind its first byte, that a search need not look at:
//!                    the block's separator in the index begins with them; 0 and 0 if
//!                    that is empty
//! base      u40      only with records: the earliest time first seen in the block, in
//!                    seconds since 1970; 0 if there is none
//! length    u24      only with records: of the payloads
//! values             a number of `width` bits for each entry, lowest bits first
//! columns            of the keys, see `packed`
//! stream             the codes of the keys, see `dictionary`, lowest bits first
//! payloads  [u8]     payloads of records, see `record::code`
//! crc       u32      of the block's offset in the file and all bytes before
//! ```
//!
//! A value is a record code, see `records`. Values and stream end with zero bits up to a
//! whole byte each.
#![deny(clippy::indexing_slicing)]

mod build;
mod head;
mod records;
#[cfg(test)]
mod tests;

pub(super) use build::Builder;
pub(super) use records::Records;

use head::{FLAGS, HEAD, Head, RECORDS_HEAD, WIDE};

use super::dictionary::Dictionary;
use super::index::Located;
use super::old;
use super::packed::{BEHIND, Coded, Floor, List, Probe, Rows, Spot, Strings, common, stream_len};
use super::{CODEC_NONE, CRC, Fault, Form, checksum};
use crate::record::Stored;
use crate::wire::Malformed;
use std::cmp::Ordering;

/// The stored and the computed checksum of a block, which may differ.
pub(super) fn checksums(bytes: &[u8], offset: u64) -> (u32, u32) {
    match bytes.split_last_chunk::<CRC>() {
        Some((covered, crc)) => (u32::from_le_bytes(*crc), checksum(offset, covered)),
        // The index is checked to name none so short.
        None => (0, 1),
    }
}

/// The length of the block that `bytes` begin with, told from its entries: for files
/// whose index is lost. That it is a block is for its checksum to say.
pub(super) fn measure(bytes: &[u8], form: Form, dictionary: &Dictionary) -> Option<usize> {
    let records = match form {
        Form::Old(form) => return old::measure(bytes, form),
        Form::Packed { records } => records,
    };
    let head = Head::read(bytes, records).ok()?;
    let columns = bytes.get(head.columns_at()..)?;
    let rows = Rows::new(columns, head.entries, head.wide)?;
    // What most other bytes fail at goes before what takes long.
    if head.entries == 0 || rows.shared(0) != 0 || rows.pieces(0) < head.codes {
        return None;
    }
    let stream = stream_len(rows.all_pieces(), dictionary.bits());
    let len = head.columns_at() + head.columns() + stream + head.payloads + CRC;
    (len <= bytes.len()).then_some(len)
}

/// How far the next place is where a block may begin, for files whose index is lost.
pub(super) fn next_candidate(bytes: &[u8], form: Form) -> usize {
    let rest = bytes.get(1..).unwrap_or_default();
    let place = match form {
        Form::Old(_) => rest.iter().position(|&codec| codec == CODEC_NONE),
        Form::Packed { .. } => {
            let flags = rest.get(FLAGS..).unwrap_or_default();
            flags.iter().position(|&flags| flags <= WIDE)
        }
    };
    1 + place.unwrap_or(rest.len())
}

/// Where a block is read: an entry of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum At {
    #[default]
    Start,
    Packed(Spot),
    /// An offset.
    Old(usize),
}

/// A block that is read. Its checksum was verified before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Block<'a> {
    Packed(Packed<'a>),
    Old(old::Block<'a>),
}

impl<'a> Block<'a> {
    #[inline]
    pub(super) fn parse(
        bytes: &'a [u8],
        form: Form,
        dictionary: &'a Dictionary,
    ) -> Result<Block<'a>, Fault> {
        match form {
            Form::Packed { records } => {
                Packed::parse(bytes, records, dictionary).map(Block::Packed)
            }
            Form::Old(form) => old::Block::parse(bytes, form).map(Block::Old),
        }
    }

    /// The record of a key that the index led here, if the block holds it.
    #[inline]
    pub(super) fn find(
        &self,
        probe: &Probe<'_>,
        located: Located,
    ) -> Result<Option<Stored>, Fault> {
        match self {
            Block::Packed(block) => block.find(probe, located),
            Block::Old(block) => block.find(probe.key()),
        }
    }

    /// Reads the entry at `at`, turning `key` from the key before it into its own.
    /// `None` at the end; otherwise the record and where the next entry is.
    #[inline]
    pub(super) fn step(&self, at: At, key: &mut Vec<u8>) -> Result<Option<(Stored, At)>, Fault> {
        match self {
            Block::Packed(block) => block.step(at, key),
            Block::Old(block) => block.step(at, key),
        }
    }

    /// Whether keys share as much as they can with the one before, and all else is what
    /// searches rely on. `separator` is the block's in the index, where that is known.
    pub(super) fn check(&self, separator: Option<usize>) -> Result<(), Fault> {
        match self {
            Block::Packed(block) => block.check(separator),
            Block::Old(block) => block.check(),
        }
    }
}

/// A block of packed keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed<'a> {
    head: Head,
    list: List<'a, Coded<'a>>,
    bytes: &'a [u8],
    /// Where the payloads begin.
    payloads_at: usize,
}

impl<'a> Packed<'a> {
    #[inline]
    fn parse(bytes: &'a [u8], records: bool, dictionary: &'a Dictionary) -> Result<Self, Fault> {
        const _: () = assert!(BEHIND <= CRC);
        let head = Head::read(bytes, records)?;
        let malformed = Malformed {
            at: 0,
            expected: "a block that has room for its entries",
        };
        let at = head.columns_at();
        let stream_at = at + head.columns();
        let end = bytes.len().checked_sub(CRC + head.payloads);
        let payloads_at = end.filter(|&end| stream_at <= end).ok_or(malformed)?;
        let columns = bytes.get(at..).ok_or(malformed)?;
        let rows = Rows::new(columns, head.entries, head.wide).ok_or(malformed)?;
        let stream = bytes.get(stream_at..).ok_or(malformed)?;
        Ok(Packed {
            head,
            list: List {
                rows,
                strings: Coded::new(dictionary, stream),
            },
            bytes,
            payloads_at,
        })
    }

    #[inline]
    fn find(&self, probe: &Probe<'_>, located: Located) -> Result<Option<Stored>, Fault> {
        let first = self.list.rows.pieces(0);
        let behind_first = Spot {
            entry: 1,
            pieces: first,
        };
        let matched = if located.matched < located.separator {
            // The first key begins with the separator, and so differs from the key where
            // that does.
            located.matched
        } else {
            // The key begins with the separator, and so with what that covers.
            let (equal, order) = if self.head.covered > 0 && self.head.covered <= located.separator
            {
                let Head { covered, codes, .. } = self.head;
                let rest = first.saturating_sub(codes);
                self.list.strings.compare(codes, rest, probe, covered)
            } else {
                match probe.byte(0).map(|byte| self.list.rows.first(0).cmp(&byte)) {
                    Some(Ordering::Equal) => self.list.strings.compare(0, first, probe, 1),
                    Some(other) => (0, other),
                    None => return Ok(None),
                }
            };
            match order {
                Ordering::Less => equal,
                Ordering::Equal => return self.record(0).map(Some),
                Ordering::Greater => return Ok(None),
            }
        };
        match self.list.floor(probe, behind_first, matched) {
            Floor {
                exact: true, entry, ..
            } => self.record(entry).map(Some),
            _ => Ok(None),
        }
    }

    #[inline]
    fn step(&self, at: At, key: &mut Vec<u8>) -> Result<Option<(Stored, At)>, Fault> {
        let spot = match at {
            At::Packed(spot) => spot,
            _ => Spot::default(),
        };
        match self.list.step(spot, key)? {
            Some(next) => Ok(Some((self.record(spot.entry)?, At::Packed(next)))),
            None => Ok(None),
        }
    }

    #[inline]
    fn record(&self, entry: usize) -> Result<Stored, Fault> {
        if !self.head.records {
            return Ok(Stored::Seen(None));
        }
        let value = self.value(entry);
        let end = self.payloads_at + self.head.payloads;
        let records = Records {
            base: self.head.base,
            payloads: self.bytes.get(self.payloads_at..end).unwrap_or_default(),
        };
        records.read(value).map_err(|fault| match fault {
            Fault::Malformed(m) => Fault::Malformed(Malformed {
                at: m.at + self.payloads_at,
                ..m
            }),
            other => other,
        })
    }

    #[inline]
    fn value(&self, entry: usize) -> u64 {
        let width = self.head.width;
        let bit = entry * width as usize;
        let rest = self.bytes.get(self.head.values_at() + bit / 8..);
        let rest = rest.unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let bytes = rest.iter().rev();
                bytes.fold(0, |word, &byte| word << 8 | u128::from(byte))
            }
        };
        ((word >> (bit % 8)) & ((1 << width) - 1)) as u64
    }

    fn check(&self, separator: Option<usize>) -> Result<(), Fault> {
        let (rows, strings) = (&self.list.rows, &self.list.strings);
        let malformed = |at, expected| Err(Fault::Malformed(Malformed { at, expected }));
        let (mut spot, mut key, mut last) = (Spot::default(), Vec::new(), Vec::new());
        while let Some(next) = self.list.step(spot, &mut key)? {
            let shared = rows.shared(spot.entry);
            if spot.entry > 0 && key <= last {
                return malformed(spot.entry, "a key above the one before");
            }
            if common(&last, &key) != shared {
                return malformed(spot.entry, "an entry that shares as much as it can");
            }
            last.clone_from(&key);
            spot = next;
        }
        if spot.entry == 0 {
            return malformed(0, "a block with entries");
        }
        if rows.is_too_narrow() {
            return malformed(FLAGS, "a wide list, as an entry shares much");
        }
        let stream = self.payloads_at - self.head.columns_at() - self.head.columns();
        if stream != stream_len(spot.pieces, strings.bits()) {
            return malformed(
                self.payloads_at,
                "a stream as long as the codes of all entries",
            );
        }
        let first = rows.pieces(0);
        let covered = match separator {
            Some(separator) => covered(strings, first, separator),
            None if self.head.covered == 0 => (0, 0),
            None => {
                let codes = self.head.codes.min(first);
                (1 + strings.begin_len(codes), codes)
            }
        };
        if covered != (self.head.covered, self.head.codes) {
            return malformed(4, "as much of the first key as its separator covers");
        }
        Ok(())
    }
}

/// How many bytes of the first key, and how many codes behind its first byte, lie within a
/// separator of so many bytes.
fn covered(strings: &Coded<'_>, first: usize, separator: usize) -> (usize, usize) {
    let Some(most) = separator.checked_sub(1) else {
        return (0, 0);
    };
    let (bytes, codes) = strings.begin_within(first, most);
    (1 + bytes, codes)
}
