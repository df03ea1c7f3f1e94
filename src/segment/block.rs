//! A block: the smallest part that is read.
//!
//! ```text
//! codec     u8       how the rest up to the checksum is compressed; 0: not at all
//! base      varint   only with records: the earliest time first seen in the block, in
//!                    seconds since 1970; 0 if there is none
//! payloads  varint   only with records: the length of what follows
//!           [u8]     payloads of records, see `record::code`
//! region             front-coded keys, see `coded`, with one value an entry with
//!                    records and none without
//! crc       u32      of the block's offset in the file and all bytes before
//! ```
//!
//! The value is the record code: its low three bits are the record's state.
//!
//! | state | rest of the code |
//! |---|---|
//! | 0 | 0: seen, at a time that is not known |
//! | 1 | seen, this many seconds after the base |
//! | 2 | 0: forgotten |
//! | 3 to 6 | where the payload begins, counted from the first |
//! | 7 | not known to this version: refused |
//!
//! Version 1 has states 0 and 1, times in milliseconds, and no payloads.
#![deny(clippy::indexing_slicing)]

use super::coded::{self, common};
use super::region::{Floor, Region, check_region, measure as measure_region, varint};
use super::{CRC, Fault, Form, checksum};
use crate::record::{
    KNOWN_STATES, MAX_SECONDS, Stored, Unreadable, number, read_payload, tag, write_payload,
};
use crate::wire::{Malformed, Reader, put_varint};

/// Blocks are stored as they are.
pub(super) const CODEC_NONE: u8 = 0;
pub(super) const KNOWN_CODECS: &str = "block codec 0 (none)";

const STATE_BITS: u32 = 3;
/// The largest time of version 1, in milliseconds.
const MAX_MILLIS: u64 = (1 << 48) - 1;

#[derive(Debug)]
struct Pending {
    /// Where its key ends in the builder's keys.
    end: usize,
    shared: usize,
    record: Stored,
}

/// Writes blocks. Entries are held until the block ends, since the base of
/// their times is stored before them.
#[derive(Debug)]
pub(super) struct Builder {
    records: bool,
    keys: Vec<u8>,
    pending: Vec<Pending>,
    /// The size that the block will have, to within a few bytes.
    estimate: usize,
    /// Where the last key begins in `keys`.
    last: usize,
    earliest: u64,
    payloads: Vec<u8>,
    region: coded::Builder,
}

impl Builder {
    pub(super) fn new(records: bool) -> Builder {
        Builder {
            records,
            keys: Vec::new(),
            pending: Vec::new(),
            estimate: 0,
            last: 0,
            earliest: u64::MAX,
            payloads: Vec::new(),
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
    pub(super) fn push(&mut self, key: &[u8], record: Stored) {
        let last = self.keys.get(self.last..).unwrap_or_default();
        let restart = self.pending.len().is_multiple_of(coded::RESTART);
        let shared = common(last, key);
        if self.pending.is_empty() {
            // Codec, base, payloads, number of restarts, checksum.
            self.estimate = 1 + 4 + CRC + if self.records { 7 } else { 0 };
        }
        self.estimate += if restart {
            4 + key.len()
        } else {
            key.len() - shared
        };
        self.estimate += 2;
        if let Some(first) = record.first() {
            self.earliest = self.earliest.min(first);
        }
        if self.records {
            self.estimate += match &record {
                Stored::Seen(Some(at)) => varint_len((at - self.earliest) << STATE_BITS),
                Stored::Seen(None) | Stored::Forgotten => 1,
                // Its size, and the place of the payload.
                Stored::Full(details) => {
                    self.payloads.clear();
                    write_payload(details, self.earliest, &mut self.payloads);
                    2 + self.payloads.len()
                }
            };
        }
        self.last = self.keys.len();
        self.keys.extend_from_slice(key);
        self.pending.push(Pending {
            end: self.keys.len(),
            shared,
            record,
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
        self.payloads.clear();
        let mut at = 0;
        for entry in &self.pending {
            let key = self.keys.get(at..entry.end).unwrap_or_default();
            let rest = match &entry.record {
                Stored::Seen(Some(first)) => first.saturating_sub(base),
                Stored::Seen(None) | Stored::Forgotten => 0,
                Stored::Full(details) => {
                    let place = self.payloads.len() as u64;
                    write_payload(details, base, &mut self.payloads);
                    place
                }
            };
            let values = [rest << STATE_BITS | u64::from(number(&entry.record))];
            let values: &[u64] = if self.records { &values } else { &[] };
            self.region.push(key, entry.shared, values);
            at = entry.end;
        }
        if self.records {
            put_varint(out, base);
            put_varint(out, self.payloads.len() as u64);
            out.extend_from_slice(&self.payloads);
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
pub(super) fn measure(bytes: &[u8], form: Form) -> Option<usize> {
    let mut at = 1;
    if bytes.first() != Some(&CODEC_NONE) {
        return None;
    }
    if form != Form::Bare {
        varint(bytes, &mut at).ok()?;
    }
    if form == Form::Records {
        payloads(bytes, &mut at).ok()?;
    }
    let region = measure_region(bytes.get(at..)?, form.values(), false)?;
    let len = at.checked_add(region)?.checked_add(CRC)?;
    (len <= bytes.len()).then_some(len)
}

/// The payloads that a block has at `at`.
#[inline]
fn payloads<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], Malformed> {
    let length = varint(bytes, at)?;
    let malformed = Malformed {
        at: *at,
        expected: "payloads within the block",
    };
    let end = usize::try_from(length)
        .ok()
        .and_then(|len| at.checked_add(len));
    let payloads = end.and_then(|end| bytes.get(*at..end)).ok_or(malformed)?;
    *at += payloads.len();
    Ok(payloads)
}

/// A block that is read. Its checksum was verified before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a> {
    region: Region<'a>,
    /// Where the region begins in the block.
    region_at: usize,
    base: u64,
    payloads: &'a [u8],
    form: Form,
}

impl<'a> Block<'a> {
    #[inline]
    pub(super) fn parse(bytes: &'a [u8], form: Form) -> Result<Block<'a>, Fault> {
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
        let base = match form {
            Form::Bare => 0,
            _ => varint(body, &mut at)?,
        };
        let payloads = match form {
            Form::Records => payloads(body, &mut at)?,
            _ => &[],
        };
        let region = body.get(at..).unwrap_or_default();
        Ok(Block {
            region: Region::parse(region, form.values()).map_err(|m| shift(m, at))?,
            region_at: at,
            base,
            payloads,
            form,
        })
    }

    /// The record of a key, if the block holds it.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Stored>, Fault> {
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
    ) -> Result<Option<(Stored, usize)>, Fault> {
        if at >= self.region.end() {
            return Ok(None);
        }
        let entry = self.region.step(at, key).map_err(|m| self.shift(m))?;
        Ok(Some((self.record(entry.values_at)?, entry.next)))
    }

    #[inline]
    fn record(&self, at: usize) -> Result<Stored, Fault> {
        if self.form == Form::Bare {
            return Ok(Stored::Seen(None));
        }
        let (code, _) = self.region.value(at).map_err(|m| self.shift(m))?;
        let rest = code >> STATE_BITS;
        let state = (code & ((1 << STATE_BITS) - 1)) as u8;
        if state == tag::SEEN_AT {
            let (most, unit, expected) = match self.form {
                Form::Millis => (MAX_MILLIS, 1000, "a time of 48 bits"),
                _ => (MAX_SECONDS, 1, "a time of 40 bits"),
            };
            return match self.base.checked_add(rest) {
                Some(time) if time <= most => Ok(Stored::Seen(Some(time / unit))),
                _ => Err(self.bad(at, expected)),
            };
        }
        self.other_record(at, state, rest)
    }

    #[cold]
    fn other_record(&self, at: usize, state: u8, rest: u64) -> Result<Stored, Fault> {
        let unsupported = |state, supported| Fault::Unsupported {
            what: "record state",
            found: u64::from(state),
            supported,
        };
        if self.form == Form::Millis && state > tag::SEEN_AT {
            let known = "record states 0 (seen) and 1 (seen at)";
            return Err(unsupported(state, known));
        }
        match state {
            tag::SEEN if rest == 0 => return Ok(Stored::Seen(None)),
            tag::FORGOTTEN if rest == 0 => return Ok(Stored::Forgotten),
            tag::SEEN | tag::FORGOTTEN => return Err(self.bad(at, "a record without a time")),
            _ => {}
        }
        if state > tag::SEEN_CHANGED {
            return Err(unsupported(state, KNOWN_STATES));
        }
        let payload = usize::try_from(rest).ok();
        let Some(payload) = payload.and_then(|place| self.payloads.get(place..)) else {
            return Err(self.bad(at, "the place of a payload within the block"));
        };
        match read_payload(state, self.base, &mut Reader::new(payload)) {
            Ok(details) => Ok(Stored::Full(Box::new(details))),
            Err(Unreadable::State(state)) => Err(unsupported(state, KNOWN_STATES)),
            Err(Unreadable::Malformed(m)) => {
                // Payloads end where the region begins.
                let from = self.region_at - payload.len();
                Err(Fault::Malformed(Malformed {
                    at: from + m.at,
                    expected: m.expected,
                }))
            }
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
