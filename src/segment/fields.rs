//! The fields of a footer while they are read: see `footer` for what they are.
#![deny(clippy::indexing_slicing)]

use super::Place;
use super::footer::{Footer, Piece};
use super::part::Part;
use super::{CODEC_DICTIONARY, CODEC_NONE};
use crate::codec::Codec;
use crate::filter::{FilterKind, Parameters};
use crate::wire::{MUST_UNDERSTAND, Malformed, Reader};

pub(super) const SEED: u16 = 1 | MUST_UNDERSTAND;
pub(super) const POLICY: u16 = 2 | MUST_UNDERSTAND;
pub(super) const STAMPS: u16 = 3 | MUST_UNDERSTAND;
pub(super) const FIRST: u16 = 4 | MUST_UNDERSTAND;
pub(super) const LAST: u16 = 5 | MUST_UNDERSTAND;
pub(super) const SEQUENCES: u16 = 6 | MUST_UNDERSTAND;
pub(super) const POSITION: u16 = 7 | MUST_UNDERSTAND;
pub(super) const COUNTS: u16 = 8;
pub(super) const INPUTS: u16 = 9;
pub(super) const CONTENT: u16 = 10;
pub(super) const INDEX: u16 = 11 | MUST_UNDERSTAND;
pub(super) const FILTER: u16 = 12 | MUST_UNDERSTAND;
pub(super) const FILTER_KIND: u16 = 13 | MUST_UNDERSTAND;
pub(super) const CODECS: u16 = 14 | MUST_UNDERSTAND;
pub(super) const RECORDS: u16 = 15 | MUST_UNDERSTAND;
pub(super) const PIECE: u16 = 16;
pub(super) const DICTIONARY: u16 = 17 | MUST_UNDERSTAND;
pub(super) const CODEC: u16 = 18;
pub(super) const KNOWN_FIELDS: &str = "footer fields 1 to 18";

/// The fields that were met so far.
#[derive(Debug, Default)]
pub(super) struct Fields {
    seed: Option<u64>,
    policy: Option<String>,
    stamps: Option<bool>,
    records: Option<bool>,
    piece: Option<Piece>,
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
    sequences: Option<(u64, u64)>,
    position: Option<u64>,
    counts: Option<(u64, u64, u64)>,
    inputs: Option<Vec<u64>>,
    content: Option<u128>,
    index: Option<Part>,
    filter: Option<Part>,
    parameters: Option<Parameters>,
    /// The number of a filter kind that this build does not know.
    pub(super) unknown_filter: Option<u16>,
    pub(super) codecs: Option<Vec<u8>>,
    dictionary: Option<Place>,
    codec: Option<Codec>,
}

impl Fields {
    /// Takes a field; false if the tag is not known.
    pub(super) fn set(&mut self, tag: u16, value: &[u8]) -> Result<bool, Malformed> {
        let r = &mut Reader::new(value);
        match tag {
            SEED => self.seed = Some(r.u64("a hash seed")?),
            POLICY => {
                let text = r.take(value.len(), "a policy")?;
                let text = std::str::from_utf8(text).map_err(|e| Malformed {
                    at: e.valid_up_to(),
                    expected: "a policy in UTF-8",
                })?;
                self.policy = Some(text.to_owned());
            }
            STAMPS => self.stamps = Some(flag(r, "stamps, 0 or 1")?),
            RECORDS => self.records = Some(flag(r, "records, 0 or 1")?),
            PIECE => {
                self.piece = Some(Piece {
                    place: r.u32("a place in the run")?,
                    is_last: flag(r, "whether it is the last, 0 or 1")?,
                });
            }
            FIRST => self.first = Some(r.take(value.len(), "a key")?.to_vec()),
            LAST => self.last = Some(r.take(value.len(), "a key")?.to_vec()),
            SEQUENCES => self.sequences = Some((r.u64("a sequence")?, r.u64("a sequence")?)),
            POSITION => self.position = Some(r.u64("a position")?),
            COUNTS => {
                let mut count = || r.u64("a count");
                self.counts = Some((count()?, count()?, count()?));
            }
            INPUTS => {
                let mut inputs = Vec::new();
                while !r.is_empty() {
                    inputs.push(r.u64("the number of a segment")?);
                }
                self.inputs = Some(inputs);
            }
            CONTENT => self.content = Some(u128::from_le_bytes(r.array("a content hash")?)),
            INDEX => self.index = Some(part(r)?),
            FILTER => self.filter = Some(part(r)?),
            FILTER_KIND => {
                let number = r.u16("a filter kind")?;
                // Only the kind is known to come first in all kinds' parameters.
                let Some(kind) = FilterKind::from_number(number) else {
                    self.unknown_filter = Some(number);
                    return Ok(true);
                };
                self.parameters = Some(Parameters::decode(kind, r)?);
            }
            DICTIONARY => {
                let offset = r.u64("an offset")?;
                let len = r.u64("a length")?;
                self.dictionary = Some(Place { offset, len });
            }
            CODEC => self.codec = Codec::from_number(r.u8("a codec")?),
            CODECS => self.codecs = Some(r.take(value.len(), "codecs")?.to_vec()),
            _ => return Ok(false),
        }
        if r.is_empty() {
            return Ok(true);
        }
        Err(Malformed {
            at: r.offset(),
            expected: "the end of the field",
        })
    }

    /// The footer, if no field is missing.
    pub(super) fn complete(self) -> Option<Footer> {
        let (keys, blocks, key_bytes) = self.counts?;
        let codec = match self.dictionary {
            Some(_) => CODEC_DICTIONARY,
            None => CODEC_NONE,
        };
        self.codecs?.iter().all(|&one| one == codec).then_some(())?;
        Some(Footer {
            seed: self.seed?,
            policy: self.policy?,
            stamps: self.stamps?,
            // In version 1, the two are one.
            records: self.records.or(self.stamps)?,
            piece: self.piece,
            first: self.first?,
            last: self.last?,
            sequences: self.sequences?,
            position: self.position,
            keys,
            blocks,
            key_bytes,
            inputs: self.inputs?,
            content: self.content?,
            index: self.index?,
            filter: self.filter?,
            parameters: self.parameters?,
            dictionary: self.dictionary,
            codec: self.codec,
        })
    }
}

fn flag(r: &mut Reader<'_>, expected: &'static str) -> Result<bool, Malformed> {
    let at = r.offset();
    match r.u8(expected)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed { at, expected }),
    }
}

fn part(r: &mut Reader<'_>) -> Result<Part, Malformed> {
    let offset = r.u64("an offset")?;
    let len = r.u64("a length")?;
    Ok(Part {
        place: Place { offset, len },
        crc: r.u32("a checksum")?,
    })
}
