//! The footer: what a segment says of itself, and where its parts are.
//!
//! Tagged fields (see `wire`), then the tail, the last 24 bytes of the file:
//!
//! ```text
//! offset  u64     of the footer
//! length  u32     of the footer, which ends where the tail begins
//! crc     u32     of the footer's offset and bytes
//! magic   8       "seenEND\0"
//! ```
//!
//! | tag | value |
//! |---|---|
//! | 1 ! | hash seed, u64 |
//! | 2 ! | the policy's text |
//! | 3 ! | stamps, u8: 1 if entries of the store have times, else 0 |
//! | 4 ! | first key |
//! | 5 ! | last key |
//! | 6 ! | first and last sequence number, u64 each |
//! | 7 ! | position, u64; absent if there is none |
//! | 8 | number of keys, number of blocks, sum of the keys' lengths, u64 each |
//! | 9 | the numbers of the segments that it was merged from, u64 each |
//! | 10 | xxh3-128 of all bytes before the footer, u128 |
//! | 11 ! | index: offset u64, length u64, crc u32 |
//! | 12 ! | filter: offset u64, length u64, crc u32 |
//! | 13 ! | filter: kind u16, probes u8 |
//! | 14 ! | block codecs, u8 each: 1, packed keys coded with a dictionary; up to version 3: 0 |
//! | 15 ! | records, u8: 1 if entries have record codes, else 0; absent: as 3 |
//! | 16 | place in the run, u32, from 0; u8: 1 if it is the last, else 0 |
//! | 17 ! | the dictionary's second part: offset u64, length u64; not up to version 3 |
//! | 18 | codec, u8: how keys were to be coded: 0 plain, 1 standard, 2 dense; absent if the dictionary is one of some keys alone, as after a repair, and up to version 3 |
//!
//! Tags marked `!` have the bit that says that they must be understood: without
//! them a reader would give wrong answers. All but 7 and
//! those from 15 on are always there.
#![deny(clippy::indexing_slicing)]

use super::fields::*;
use super::part::Part;
use super::{CODEC_DICTIONARY, CODEC_NONE, MAX_KEY, Place, bad_checksum, checksum};
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::filter::{FilterKind, Parameters};
use crate::header::{MAX_NUMBER, malformed, unknown_field};
use crate::vfs::{File, read_exact_at};
use crate::wire::{Reader, put_field};
use std::path::Path;

const KNOWN_CODECS: &str = "block codecs 0 (none) and 1 (dictionary)";

const MAGIC: &[u8; 8] = b"seenEND\0";
const TAIL: u64 = 24;

/// The end of the file is read in one request of this size, which holds tail and
/// footer unless keys are very long.
const AT_ONCE: u64 = 4096;

/// Which of its run's segments one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Segments before it.
    pub(crate) place: u32,
    pub(crate) is_last: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) seed: u64,
    pub(crate) policy: String,
    pub(crate) stamps: bool,
    /// Whether entries have records: also tombstones of a store without stamps are some.
    pub(crate) records: bool,
    pub(crate) piece: Option<Piece>,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    pub(crate) sequences: (u64, u64),
    pub(crate) position: Option<u64>,
    pub(super) keys: u64,
    pub(super) blocks: u64,
    pub(super) key_bytes: u64,
    pub(crate) inputs: Vec<u64>,
    pub(crate) content: u128,
    pub(super) index: Part,
    pub(super) filter: Part,
    pub(super) parameters: Parameters,
    /// The second part of the dictionary, if there is one.
    pub(super) dictionary: Option<Place>,
    /// How keys were to be coded, if this build knows it.
    pub(super) codec: Option<Codec>,
}

impl Footer {
    /// Where the footer itself begins: it was checked to follow on the other parts.
    pub(super) fn footer_at(&self) -> u64 {
        let last = self.dictionary.unwrap_or(self.filter.place);
        last.end().unwrap_or_default()
    }

    /// The footer and the tail, which lie at `offset` of the file.
    pub(super) fn encode(&self, offset: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |tag, parts: &[&[u8]]| put_field(&mut out, tag, &parts.concat());
        put(SEED, &[&self.seed.to_le_bytes()]);
        put(POLICY, &[self.policy.as_bytes()]);
        put(STAMPS, &[&[self.stamps.into()]]);
        put(FIRST, &[&self.first]);
        put(LAST, &[&self.last]);
        let (from, to) = self.sequences;
        put(SEQUENCES, &[&from.to_le_bytes(), &to.to_le_bytes()]);
        if let Some(position) = self.position {
            put(POSITION, &[&position.to_le_bytes()]);
        }
        let counts = [self.keys, self.blocks, self.key_bytes].map(u64::to_le_bytes);
        put(COUNTS, &[counts.as_flattened()]);
        let inputs: Vec<_> = self.inputs.iter().map(|n| n.to_le_bytes()).collect();
        put(INPUTS, &[inputs.as_flattened()]);
        put(CONTENT, &[&self.content.to_le_bytes()]);
        for (tag, part) in [(INDEX, self.index), (FILTER, self.filter)] {
            let place = [part.place.offset, part.place.len].map(u64::to_le_bytes);
            put(tag, &[place.as_flattened(), &part.crc.to_le_bytes()]);
        }
        put(FILTER_KIND, &[&self.parameters.encode()]);
        let coded = self.dictionary.is_some();
        put(
            CODECS,
            &[&[if coded { CODEC_DICTIONARY } else { CODEC_NONE }]],
        );
        put(RECORDS, &[&[self.records.into()]]);
        if let Some(piece) = self.piece {
            put(
                PIECE,
                &[&piece.place.to_le_bytes(), &[piece.is_last.into()]],
            );
        }
        if let Some(place) = self.dictionary {
            let place = [place.offset, place.len].map(u64::to_le_bytes);
            put(DICTIONARY, &[place.as_flattened()]);
        }
        if let Some(codec) = self.codec {
            put(CODEC, &[&[codec.number()]]);
        }

        let crc = checksum(offset, &out);
        // Two keys, a policy and the inputs: far below 4 GiB.
        let len = out.len() as u32;
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(MAGIC);
        out
    }

    /// Reads and checks the footer of a file of `size` bytes. Blocks begin at
    /// `blocks_at`.
    pub(super) fn read(file: &dyn File, path: &Path, size: u64, blocks_at: u64) -> Result<Footer> {
        let io = |e| Error::io("read", path, e);
        let corrupt = |at, expected: &str, found: String| Error::corrupt(path, at, expected, found);
        let Some(tail_at) = size.checked_sub(TAIL).filter(|&at| at >= blocks_at) else {
            let expected = "a segment with a footer";
            return Err(corrupt(
                size,
                expected,
                format!("the end after {size} bytes"),
            ));
        };
        let got = AT_ONCE.min(size - blocks_at);
        let mut end = vec![0; got as usize];
        read_exact_at(file, &mut end, size - got).map_err(io)?;
        let tail = end.get((got - TAIL) as usize..).unwrap_or_default();

        let mut reader = Reader::new(tail);
        let bad = |m| malformed(path, tail_at, m);
        let offset = reader.u64("an offset").map_err(bad)?;
        let len = reader.u32("a length").map_err(bad)?;
        let stored = reader.u32("a checksum").map_err(bad)?;
        let magic = reader.take(MAGIC.len(), "magic bytes").map_err(bad)?;
        if magic != MAGIC {
            return Err(corrupt(
                tail_at + 16,
                "the magic bytes \"seenEND\\0\" of a finished segment",
                format!("\"{}\"", magic.escape_ascii()),
            ));
        }
        let fits = offset >= blocks_at && offset.checked_add(len.into()) == Some(tail_at);
        if !fits {
            return Err(corrupt(
                tail_at,
                "a footer that ends where the tail begins",
                format!("one of {len} bytes at {offset}"),
            ));
        }
        let in_end = (got - TAIL).checked_sub(u64::from(len));
        let bytes = match in_end {
            Some(start) => end
                .get(start as usize..(got - TAIL) as usize)
                .unwrap_or_default()
                .to_vec(),
            None => {
                let mut bytes = vec![0; len as usize];
                read_exact_at(file, &mut bytes, offset).map_err(io)?;
                bytes
            }
        };
        let computed = checksum(offset, &bytes);
        if computed != stored {
            return Err(bad_checksum(path, offset, "a footer", stored, computed));
        }
        let footer = Footer::decode(&bytes, path, offset)?;
        footer.check_layout(path, offset, blocks_at)?;
        Ok(footer)
    }

    fn decode(bytes: &[u8], path: &Path, base: u64) -> Result<Footer> {
        let mut fields = Fields::default();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let (tag, value) = reader.field().map_err(|m| malformed(path, base, m))?;
            let at = (reader.offset() - value.len()) as u64;
            if fields
                .set(tag, value)
                .map_err(|m| malformed(path, base + at, m))?
            {
                continue;
            }
            unknown_field(path, tag, KNOWN_FIELDS)?;
        }
        let known = |codec| [CODEC_NONE, CODEC_DICTIONARY].contains(codec);
        if let Some(&codec) = fields.codecs.iter().flatten().find(|&codec| !known(codec)) {
            return Err(unsupported(path, "block codec", codec.into(), KNOWN_CODECS));
        }
        if let Some(number) = fields.unknown_filter {
            return Err(unsupported(path, "filter kind", number, FilterKind::KNOWN));
        }
        fields.complete().ok_or_else(|| {
            Error::corrupt(
                path,
                base,
                "a footer with all of its fields",
                "one that lacks some",
            )
        })
    }

    /// Blocks, index, filter, dictionary and footer follow on each other.
    fn check_layout(&self, path: &Path, footer_at: u64, blocks_at: u64) -> Result<()> {
        let filter_end = self.filter.place.end();
        let end = match self.dictionary {
            Some(place) if filter_end == Some(place.offset) => place.end(),
            Some(_) => None,
            None => filter_end,
        };
        let fits = self.index.place.offset >= blocks_at
            && self.index.place.end() == Some(self.filter.place.offset)
            && end == Some(footer_at)
            && self.first <= self.last
            && self.last.len() <= MAX_KEY
            && self.first.is_empty() == (self.keys == 0)
            && self.sequences.1 < MAX_NUMBER
            && self.blocks <= self.keys
            // Each takes a byte at least.
            && self.keys <= self.index.place.offset - blocks_at
            && (self.blocks == 0) == (self.keys == 0);
        if fits {
            return Ok(());
        }
        Err(Error::corrupt(
            path,
            footer_at,
            "a footer whose parts and counts fit each other and the file",
            format!(
                "an index at {} (+{}), a filter at {} (+{}), {} blocks, {} keys, frames {:?}",
                self.index.place.offset,
                self.index.place.len,
                self.filter.place.offset,
                self.filter.place.len,
                self.blocks,
                self.keys,
                self.sequences,
            ),
        ))
    }
}

fn unsupported(path: &Path, what: &'static str, found: u16, supported: &'static str) -> Error {
    Error::UnsupportedFormat {
        path: path.to_path_buf(),
        what,
        found: found.to_string(),
        supported: supported.to_string(),
    }
}
