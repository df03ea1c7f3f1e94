//! Dictionaries, blocks and indexes for the fuzzers.

use super::coder::Coder;
use super::dictionary::{Dictionary, Sample, train};
use super::index::Located;
use super::packed::Probe;
use super::{Form, Place, block, index, old};
use crate::record::{Record, Stored};
use crate::vfs::HugeBytes;
use crate::wire::Malformed;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What the keys of a block are coded with.
#[derive(Debug)]
pub struct Codes(Dictionary);

impl Codes {
    /// Codes that are bytes.
    pub fn plain() -> Codes {
        Codes(Dictionary::plain())
    }

    /// A dictionary as a segment has it.
    pub fn decode(bytes: &[u8]) -> std::result::Result<Codes, String> {
        Dictionary::decode(bytes).map(Codes).map_err(words)
    }

    /// One made for byte strings such as these, with codes of 8 to 16 bits.
    pub fn train(strings: &[&[u8]], bits: u32) -> Codes {
        let mut sample = Sample::default();
        strings.iter().for_each(|string| sample.push(string));
        Codes(train(&sample, bits))
    }

    /// The string of a code, with zeros behind it, and its length; 0 if it has none.
    pub fn string(&self, code: usize) -> ([u8; 15], usize) {
        let [string @ .., len] = self.0.word(code).to_le_bytes();
        (string, len.into())
    }

    /// The codes of a string.
    pub fn codes(&self, string: &[u8]) -> Vec<u16> {
        let mut codes = Vec::new();
        super::dictionary::Encoder::new(&self.0).encode(string, &mut codes);
        codes
    }

    /// As a segment has it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.0.encode(&mut out);
        out
    }
}

/// A block behind its checksum.
#[derive(Debug)]
pub struct Block<'a>(block::Block<'a>);

/// Where a block is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct At(block::At);

/// Why not, in words.
type Result<T> = std::result::Result<T, String>;

fn words(Malformed { at, expected }: Malformed) -> String {
    format!("at {at}: {expected}")
}

fn told<T>(result: std::result::Result<T, super::Fault>) -> Result<T> {
    result.map_err(|fault| match fault {
        super::Fault::Malformed(malformed) => words(malformed),
        super::Fault::Unsupported { what, found, .. } => format!("{what} {found}"),
    })
}

impl<'a> Block<'a> {
    /// A block whose last four bytes are its checksum, which is not looked at.
    pub fn parse(
        bytes: &'a [u8],
        version: u32,
        records: bool,
        codes: &'a Codes,
    ) -> Result<Block<'a>> {
        told(block::Block::parse(
            bytes,
            Form::of(version, records),
            &codes.0,
        ))
        .map(Block)
    }

    /// The bytes of a block at the beginning of a file, whose separator is of so many bytes.
    /// Records are as logs have them; those that are none are plain.
    pub fn build(
        entries: &[(Vec<u8>, Vec<u8>)],
        records: bool,
        separator: usize,
        codes: &Codes,
    ) -> Vec<u8> {
        let dictionary = Dictionary::decode(&codes.encode());
        let coder = Arc::new(Coder::new(dictionary.unwrap_or(Dictionary::plain())));
        let mut builder = block::Builder::new(coder, records, usize::MAX / 2);
        for (key, record) in entries {
            let plain = Stored::Seen(None);
            let record = crate::record::read(record).unwrap_or(plain.clone());
            builder.push(key, if records { record } else { plain });
        }
        let mut out = Vec::new();
        let fits = builder.finish(entries.len(), separator, 0, &mut out);
        debug_assert!(fits);
        out
    }

    /// Whether it is what searches rely on.
    pub fn check(&self) -> Result<()> {
        told(self.0.check(None))
    }

    /// The record of a key: `Some(None)` is a tombstone. The block's separator has so many
    /// bytes, and the key begins with as many of them as `matched`.
    pub fn find(
        &self,
        key: &[u8],
        separator: usize,
        matched: usize,
    ) -> Result<Option<Option<Record>>> {
        let located = Located {
            ordinal: 0,
            place: Place { offset: 0, len: 0 },
            separator,
            matched,
        };
        Ok(told(self.0.find(&Probe::new(key), located))?.map(Stored::record))
    }

    /// The entry at `at`: its record and the place of the next.
    pub fn step(&self, at: At, key: &mut Vec<u8>) -> Result<Option<(Option<Record>, At)>> {
        let step = told(self.0.step(at.0, key))?;
        Ok(step.map(|(stored, next)| (stored.record(), At(next))))
    }
}

/// A block's offset and length.
pub type BlockPlace = (u64, u64);

/// An index behind its checksum.
#[derive(Debug)]
pub struct Index(index::Index);

/// Where an index leads for a key.
#[derive(Debug, PartialEq, Eq)]
pub struct Led {
    /// Which block it is.
    pub ordinal: usize,
    /// Where that is.
    pub place: BlockPlace,
    /// Bytes of its separator.
    pub separator: usize,
    /// Those of them that the key begins with.
    pub matched: usize,
}

impl Index {
    /// An index of so many blocks that fill the part of a file at `room`.
    pub fn parse(bytes: &[u8], version: u32, blocks: u64, room: BlockPlace) -> Result<Index> {
        let converted = match Form::of(version, true) {
            Form::Old(_) => old::convert(bytes).map_err(words)?,
            Form::Packed { .. } => bytes.to_vec(),
        };
        let mut huge = HugeBytes::zeroed(converted.len()).map_err(|e| e.to_string())?;
        let to = huge.as_mut_slice().iter_mut();
        to.zip(&converted).for_each(|(to, byte)| *to = *byte);
        let room = Place {
            offset: room.0,
            len: room.1,
        };
        let index = index::Index::new(huge, converted.len(), blocks, room);
        index.map(Index).map_err(words)
    }

    /// The bytes of an index of blocks with these separators; `None` if it is too large.
    pub fn build(blocks: &[(Vec<u8>, BlockPlace)]) -> Option<Vec<u8>> {
        let mut builder = index::Builder::default();
        for (separator, (offset, len)) in blocks {
            let (offset, len) = (*offset, *len);
            builder.push(separator, Place { offset, len });
        }
        let mut out = Vec::new();
        builder.finish(&mut out).then_some(out)
    }

    /// Whether these are taken for an index of blocks that begin in `begin` and end at `end`,
    /// where those of `found` were found.
    pub fn is_known(
        bytes: &[u8],
        version: u32,
        found: &[BlockPlace],
        begin: RangeInclusive<u64>,
        end: u64,
    ) -> bool {
        let place = |&(offset, len): &BlockPlace| Place { offset, len };
        let found: Vec<_> = found.iter().map(place).collect();
        match Form::of(version, true) {
            Form::Old(_) => old::begins_index(bytes, begin) && old::is_index_of(bytes, &found, end),
            Form::Packed { .. } => {
                index::begins_index(bytes, begin) && index::is_index_of(bytes, &found, end)
            }
        }
    }

    /// Where a key is, if it is anywhere.
    pub fn locate(&self, key: &[u8]) -> Result<Option<Led>> {
        let located = self.0.locate(&Probe::new(key)).map_err(words)?;
        Ok(located.map(|located| Led {
            ordinal: located.ordinal,
            place: (located.place.offset, located.place.len),
            separator: located.separator,
            matched: located.matched,
        }))
    }

    /// The block of that number.
    pub fn nth(&self, ordinal: usize) -> Result<Option<BlockPlace>> {
        let place = self.0.nth(ordinal).map_err(words)?;
        Ok(place.map(|place| (place.offset, place.len)))
    }
}
