//! A block: the smallest part that is read.
//!
//! ```text
//! codec   u8       how the rest up to the checksum is compressed; 0: not at all
//! base    varint   only with stamps: the earliest time in the block, in
//!                  milliseconds since 1970; 0 if there is none
//! region           front-coded keys, see `coded`, with one value an entry with
//!                  stamps and none without
//! crc     u32      of the block's offset in the file and all bytes before
//! ```
//!
//! The value is the record code: its low three bits are the record's state.
//!
//! | state | rest of the code |
//! |---|---|
//! | 0 | 0: seen, at a time that is not known |
//! | 1 | seen, this many milliseconds after the base |
//! | others | not known to this version: refused |
#![deny(clippy::indexing_slicing)]

use super::coded::{self, common};
use super::region::{Floor, Region, check_region, measure as measure_region, varint};
use super::{CRC, Fault, checksum};
use crate::record::{MAX_MILLIS, Record};
use crate::wire::{Malformed, put_varint};

/// Blocks are stored as they are.
pub(super) const CODEC_NONE: u8 = 0;
pub(super) const KNOWN_CODECS: &str = "block codec 0 (none)";

const STATE_BITS: u32 = 3;
const SEEN: u64 = 0;
const SEEN_AT: u64 = 1;

#[derive(Debug)]
struct Pending {
    /// Where its key ends in the builder's keys.
    end: usize,
    shared: usize,
    millis: Option<u64>,
}

/// Writes blocks. Entries are held until the block ends, since the base of
/// their times is stored before them.
#[derive(Debug)]
pub(super) struct Builder {
    stamps: bool,
    keys: Vec<u8>,
    pending: Vec<Pending>,
    /// The size that the block will have, to within a few bytes.
    estimate: usize,
    /// Where the last key begins in `keys`.
    last: usize,
    earliest: u64,
    region: coded::Builder,
}

impl Builder {
    pub(super) fn new(stamps: bool) -> Builder {
        Builder {
            stamps,
            keys: Vec::new(),
            pending: Vec::new(),
            estimate: 0,
            last: 0,
            earliest: u64::MAX,
            region: coded::Builder::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn size(&self) -> usize {
        self.estimate
    }

    /// Adds a key, which is above the last one.
    pub(super) fn push(&mut self, key: &[u8], millis: Option<u64>) {
        let last = self.keys.get(self.last..).unwrap_or_default();
        let restart = self.pending.len().is_multiple_of(coded::RESTART);
        let shared = common(last, key);
        if self.pending.is_empty() {
            // Codec, base, number of restarts, checksum.
            self.estimate = 1 + 4 + CRC + if self.stamps { 6 } else { 0 };
        }
        self.estimate += if restart {
            4 + key.len()
        } else {
            key.len() - shared
        };
        self.estimate += 2;
        if self.stamps {
            let above = millis.map_or(0, |m| m.saturating_sub(self.earliest.min(m)));
            self.estimate += varint_len(above << STATE_BITS);
        }
        if let Some(millis) = millis {
            self.earliest = self.earliest.min(millis);
        }
        self.last = self.keys.len();
        self.keys.extend_from_slice(key);
        self.pending.push(Pending {
            end: self.keys.len(),
            shared,
            millis,
        });
    }

    /// Appends the block, which will lie at `offset` of the file, to `out`, and
    /// begins another. False if it is too large.
    #[must_use]
    pub(super) fn finish(&mut self, offset: u64, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let base = if self.earliest == u64::MAX {
            0
        } else {
            self.earliest
        };
        out.push(CODEC_NONE);
        if self.stamps {
            put_varint(out, base);
        }
        let mut at = 0;
        for entry in &self.pending {
            let key = self.keys.get(at..entry.end).unwrap_or_default();
            let code = entry.millis.map_or(SEEN, |millis| {
                (millis.saturating_sub(base) << STATE_BITS) | SEEN_AT
            });
            let values = [code];
            let values: &[u64] = if self.stamps { &values } else { &[] };
            self.region.push(key, entry.shared, values);
            at = entry.end;
        }
        let fits = self.region.finish(out);
        let crc = checksum(offset, out.get(start..).unwrap_or_default());
        out.extend_from_slice(&crc.to_le_bytes());
        self.keys.clear();
        self.pending.clear();
        self.last = 0;
        self.earliest = u64::MAX;
        self.estimate = 0;
        fits
    }
}

fn varint_len(value: u64) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

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
pub(super) fn measure(bytes: &[u8], stamps: bool) -> Option<usize> {
    let mut at = 1;
    if bytes.first() != Some(&CODEC_NONE) {
        return None;
    }
    if stamps {
        varint(bytes, &mut at).ok()?;
    }
    let region = measure_region(bytes.get(at..)?, stamps.into(), false)?;
    let len = at.checked_add(region)?.checked_add(CRC)?;
    (len <= bytes.len()).then_some(len)
}

/// A block that is read. Its checksum was verified before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    region: Region<'a>,
    /// Where the region begins in the block.
    region_at: usize,
    base: u64,
    stamps: bool,
}

impl<'a> Block<'a> {
    #[inline]
    pub(super) fn parse(bytes: &'a [u8], stamps: bool) -> Result<Block<'a>, Fault> {
        let end = bytes.len().saturating_sub(CRC);
        let body = bytes.get(..end).unwrap_or_default();
        match body.first() {
            Some(&CODEC_NONE) => {}
            Some(&codec) => {
                return Err(Fault::Unsupported {
                    what: "block codec",
                    found: codec.into(),
                    supported: KNOWN_CODECS,
                });
            }
            None => {
                return Err(Fault::Malformed(Malformed {
                    at: 0,
                    expected: "a block",
                }));
            }
        }
        let mut at = 1;
        let base = if stamps { varint(body, &mut at)? } else { 0 };
        let region = body.get(at..).unwrap_or_default();
        Ok(Block {
            region: Region::parse(region, stamps.into()).map_err(|m| shift(m, at))?,
            region_at: at,
            base,
            stamps,
        })
    }

    /// The record of a key, if the block holds it.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Record>, Fault> {
        self.region.prefetch_restarts();
        match self.region.floor(key).map_err(|m| self.shift(m))? {
            Some(Floor {
                exact: true,
                values_at,
                ..
            }) => self.record(values_at).map(Some),
            _ => Ok(None),
        }
    }

    /// The offset of the entry from which a scan meets the first key that is not
    /// below `key`, if the block holds one.
    pub(super) fn scan_from(&self, key: &[u8]) -> Result<usize, Fault> {
        let restart = self.region.restart_for(key).map_err(|m| self.shift(m))?;
        Ok(self.region.restart(restart.unwrap_or(0)))
    }

    /// Reads the entry at `at`, turning `key` from the key before it into its
    /// own. `None` at the end; otherwise the record and the next entry's offset.
    #[inline]
    pub(super) fn step(
        &self,
        at: usize,
        key: &mut Vec<u8>,
    ) -> Result<Option<(Record, usize)>, Fault> {
        if at >= self.region.end() {
            return Ok(None);
        }
        let entry = self.region.step(at, key).map_err(|m| self.shift(m))?;
        Ok(Some((self.record(entry.values_at)?, entry.next)))
    }

    #[inline]
    fn record(&self, at: usize) -> Result<Record, Fault> {
        if !self.stamps {
            return Ok(Record::seen_at(None));
        }
        let (code, _) = self.region.value(at).map_err(|m| self.shift(m))?;
        let rest = code >> STATE_BITS;
        match code & ((1 << STATE_BITS) - 1) {
            SEEN if rest == 0 => Ok(Record::seen_at(None)),
            SEEN_AT => match self.base.checked_add(rest) {
                Some(millis) if millis <= MAX_MILLIS => Ok(Record::seen_at(Some(millis))),
                _ => Err(self.bad(at, "a time of 48 bits")),
            },
            SEEN => Err(self.bad(at, "a record without a time")),
            state => Err(Fault::Unsupported {
                what: "record state",
                found: state,
                supported: "record states 0 (seen) and 1 (seen at)",
            }),
        }
    }

    /// Whether restarts are where they should be and keys share as much as they
    /// can with the one before: what searches rely on.
    pub(super) fn check(&self) -> Result<(), Fault> {
        check_region(&self.region).map_err(|m| self.shift(m))
    }

    fn bad(&self, at: usize, expected: &'static str) -> Fault {
        self.shift(Malformed { at, expected })
    }

    fn shift(&self, malformed: Malformed) -> Fault {
        shift(malformed, self.region_at)
    }
}

fn shift(malformed: Malformed, by: usize) -> Fault {
    Fault::Malformed(Malformed {
        at: malformed.at + by,
        ..malformed
    })
}
