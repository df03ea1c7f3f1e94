//! A block of versions 1 to 3.
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
//! The value is the record code, see `block::records`. Version 1 has states 0 and 1, times in milliseconds, and no payloads.
#![deny(clippy::indexing_slicing)]

use super::super::block::{At, Records};
use super::super::{CODEC_NONE, CRC, Fault};
use super::Form;
use super::region::{Floor, Region, check_region, measure as measure_region, varint};
use crate::record::{STATE_BITS, Stored, tag};
use crate::wire::Malformed;

/// The largest time of version 1, in milliseconds.
const MAX_MILLIS: u64 = (1 << 48) - 1;

/// The length of the block that `bytes` begin with, told from its entries: for files
/// whose index is lost. That it is a block is for its checksum to say.
pub(in crate::segment) fn measure(bytes: &[u8], form: Form) -> Option<usize> {
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
pub(in crate::segment) struct Block<'a> {
    region: Region<'a>,
    /// Where the region begins in the block.
    region_at: usize,
    base: u64,
    payloads: &'a [u8],
    form: Form,
}

impl<'a> Block<'a> {
    #[inline]
    pub(in crate::segment) fn parse(bytes: &'a [u8], form: Form) -> Result<Block<'a>, Fault> {
        let end = bytes.len().saturating_sub(CRC);
        let body = bytes.get(..end).unwrap_or_default();
        match body.first() {
            Some(&CODEC_NONE) => {}
            Some(&codec) => {
                return Err(Fault::Unsupported {
                    what: "block codec",
                    found: codec.into(),
                    supported: "block codec 0 (none)",
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
    pub(in crate::segment) fn find(&self, key: &[u8]) -> Result<Option<Stored>, Fault> {
        match self.region.floor(key).map_err(|m| self.shift(m))? {
            Some(Floor {
                exact: true,
                values_at,
                ..
            }) => self.record(values_at).map(Some),
            _ => Ok(None),
        }
    }

    /// Reads the entry at `at`, turning `key` from the key before it into its
    /// own. `None` at the end; otherwise the record and the next entry's offset.
    #[inline]
    pub(in crate::segment) fn step(
        &self,
        at: At,
        key: &mut Vec<u8>,
    ) -> Result<Option<(Stored, At)>, Fault> {
        let at = match at {
            At::Old(at) => at,
            _ => 0,
        };
        if at >= self.region.end() {
            return Ok(None);
        }
        let entry = self.region.step(at, key).map_err(|m| self.shift(m))?;
        Ok(Some((self.record(entry.values_at)?, At::Old(entry.next))))
    }

    #[inline]
    fn record(&self, at: usize) -> Result<Stored, Fault> {
        if self.form == Form::Bare {
            return Ok(Stored::Seen(None));
        }
        let (code, _) = self.region.value(at).map_err(|m| self.shift(m))?;
        if self.form == Form::Millis {
            return self.millis(at, code);
        }
        let records = Records {
            base: self.base,
            payloads: self.payloads,
        };
        records.read(code).map_err(|fault| match fault {
            // Payloads end where the region begins.
            Fault::Malformed(m) => Fault::Malformed(Malformed {
                at: self.region_at - self.payloads.len() + m.at,
                ..m
            }),
            other => other,
        })
    }

    fn millis(&self, at: usize, code: u64) -> Result<Stored, Fault> {
        let rest = code >> STATE_BITS;
        let state = (code & ((1 << STATE_BITS) - 1)) as u8;
        match state {
            tag::SEEN if rest == 0 => Ok(Stored::Seen(None)),
            tag::SEEN => Err(self.bad(at, "a record without a time")),
            tag::SEEN_AT => match self.base.checked_add(rest) {
                Some(time) if time <= MAX_MILLIS => Ok(Stored::Seen(Some(time / 1000))),
                _ => Err(self.bad(at, "a time of 48 bits")),
            },
            state => Err(Fault::Unsupported {
                what: "record state",
                found: state.into(),
                supported: "record states 0 (seen) and 1 (seen at)",
            }),
        }
    }

    /// Whether restarts are where they should be and keys share as much as they
    /// can with the one before: what searches rely on.
    pub(in crate::segment) fn check(&self) -> Result<(), Fault> {
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
