//! What a block begins with: see `block`.
#![deny(clippy::indexing_slicing)]

use super::super::Fault;
use super::Rows;
use crate::wire::Malformed;

/// Bytes before the values: without records, and what these add.
pub(super) const HEAD: usize = 8;
pub(super) const RECORDS_HEAD: usize = 8;

/// Where the flags are.
pub(super) const FLAGS: usize = 2;
pub(super) const WIDE: u8 = 1;

/// What a block begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) entries: usize,
    pub(super) wide: bool,
    pub(super) width: u32,
    pub(super) covered: usize,
    pub(super) codes: usize,
    pub(super) records: bool,
    pub(super) base: u64,
    pub(super) payloads: usize,
}

impl Head {
    #[inline]
    pub(super) fn read(bytes: &[u8], records: bool) -> Result<Head, Fault> {
        let short = Fault::Malformed(Malformed {
            at: 0,
            expected: "a block",
        });
        let Some(head) = bytes.first_chunk::<HEAD>() else {
            return Err(short);
        };
        let head = u64::from_le_bytes(*head);
        let part = |shift: u32, bits: u32| (head >> shift & ((1 << bits) - 1)) as usize;
        let flags = part(16, 8);
        if flags > usize::from(WIDE) {
            return Err(Fault::Unsupported {
                what: "block flags",
                found: flags as u64,
                supported: "block flag 1 (wide)",
            });
        }
        let (base, payloads) = if records {
            let Some(more) = bytes
                .get(HEAD..)
                .and_then(<[u8]>::first_chunk::<RECORDS_HEAD>)
            else {
                return Err(short);
            };
            let more = u64::from_le_bytes(*more);
            (more & ((1 << 40) - 1), (more >> 40) as usize)
        } else {
            (0, 0)
        };
        let head = Head {
            entries: part(0, 16),
            wide: flags != 0,
            width: part(24, 8) as u32,
            covered: part(32, 16),
            codes: part(48, 16),
            records,
            base,
            payloads,
        };
        if head.entries == 0 {
            return Err(Fault::Malformed(Malformed {
                at: 0,
                expected: "a block with entries",
            }));
        }
        if head.width > if records { u64::BITS } else { 0 } {
            return Err(Fault::Malformed(Malformed {
                at: 3,
                expected: "values of 0 to 64 bits, of 0 without records",
            }));
        }
        Ok(head)
    }

    #[inline]
    pub(super) fn values_at(&self) -> usize {
        HEAD + if self.records { RECORDS_HEAD } else { 0 }
    }

    #[inline]
    pub(super) fn columns_at(&self) -> usize {
        self.values_at() + (self.entries * self.width as usize).div_ceil(8)
    }

    #[inline]
    pub(super) fn columns(&self) -> usize {
        Rows::size(self.entries, self.wide)
    }
}
