//! The pieces of packed keys: codes of a dictionary, or bytes.
#![deny(clippy::indexing_slicing)]

use super::super::dictionary::Dictionary;
use super::{Probe, common};
use std::cmp::Ordering;

/// The suffixes of a list, all but their first bytes, in pieces.
pub(in crate::segment) trait Strings {
    /// Compares the string of `count` pieces from the piece `from` on with what the key has
    /// from `at` on. How far into the key the two are equal, and how the string compares.
    fn compare(&self, from: usize, count: usize, probe: &Probe<'_>, at: usize)
    -> (usize, Ordering);

    /// Appends the string; `None` if it is none.
    fn append(&self, from: usize, count: usize, key: &mut Vec<u8>) -> Option<()>;
}

/// Pieces that are bytes.
#[derive(Debug, Clone, Copy)]
pub(in crate::segment) struct Plain<'a>(pub(in crate::segment) &'a [u8]);

impl Plain<'_> {
    #[inline]
    fn get(&self, from: usize, count: usize) -> Option<&[u8]> {
        self.0.get(from..from.checked_add(count)?)
    }
}

impl Strings for Plain<'_> {
    #[inline]
    fn compare(
        &self,
        from: usize,
        count: usize,
        probe: &Probe<'_>,
        at: usize,
    ) -> (usize, Ordering) {
        let theirs = self.get(from, count).unwrap_or_default();
        let ours = probe.key().get(at..).unwrap_or_default();
        let equal = common(theirs, ours);
        let order = theirs.get(equal).cmp(&ours.get(equal));
        (at + equal, order)
    }

    fn append(&self, from: usize, count: usize, key: &mut Vec<u8>) -> Option<()> {
        key.extend_from_slice(self.get(from, count)?);
        Some(())
    }
}

/// Pieces that are codes of a dictionary, in a stream of bits: the lowest bits of the first
/// byte come first.
#[derive(Debug, Clone, Copy)]
pub(in crate::segment) struct Coded<'a> {
    dictionary: &'a Dictionary,
    /// The stream, and at least the three bytes behind it.
    stream: &'a [u8],
}

/// The size of a checksum, say: what lies behind a stream.
pub(in crate::segment) const BEHIND: usize = 4;

impl<'a> Coded<'a> {
    #[inline]
    pub(in crate::segment) fn new(dictionary: &'a Dictionary, stream: &'a [u8]) -> Coded<'a> {
        Coded { dictionary, stream }
    }

    /// The code at a place; 0 behind the end.
    #[inline(always)]
    fn code(&self, place: usize) -> usize {
        code_at(self.stream, place, self.dictionary.bits())
    }

    #[inline]
    pub(in crate::segment) fn bits(&self) -> u32 {
        self.dictionary.bits()
    }

    /// The length of the string of `count` codes from the first on.
    pub(in crate::segment) fn begin_len(&self, count: usize) -> usize {
        (0..count)
            .map(|place| length(self.dictionary.word(self.code(place))))
            .sum()
    }

    /// How many bytes, and how many codes, of the first `count` codes lie within `most`
    /// bytes, counting whole codes only.
    pub(in crate::segment) fn begin_within(&self, count: usize, most: usize) -> (usize, usize) {
        let (mut bytes, mut codes) = (0, 0);
        while codes < count {
            let next = bytes + length(self.dictionary.word(self.code(codes)));
            if next > most {
                break;
            }
            bytes = next;
            codes += 1;
        }
        (bytes, codes)
    }
}

/// The code at a place of a stream; 0 behind the end.
#[inline(always)]
pub(super) fn code_at(stream: &[u8], place: usize, bits: u32) -> usize {
    let bit = place as u64 * u64::from(bits);
    let bytes = usize::try_from(bit / 8)
        .ok()
        .and_then(|at| stream.get(at..));
    let Some(bytes) = bytes.and_then(<[u8]>::first_chunk) else {
        return 0;
    };
    (u32::from_le_bytes(*bytes) >> (bit % 8)) as usize & ((1 << bits) - 1)
}

/// The length of a string, given its word.
#[inline(always)]
fn length(word: u128) -> usize {
    (word >> 120) as usize
}

impl Strings for Coded<'_> {
    #[inline]
    fn compare(
        &self,
        from: usize,
        count: usize,
        probe: &Probe<'_>,
        mut at: usize,
    ) -> (usize, Ordering) {
        for place in from..from + count {
            let word = self.dictionary.word(self.code(place));
            let differ = word ^ probe.word(at);
            let equal = (differ.trailing_zeros() / 8) as usize;
            let len = length(word);
            if equal < len {
                let end = at + equal;
                // Zeros behind the key may have passed for bytes of it.
                let Some(byte) = probe.byte(end) else {
                    return (probe.len(), Ordering::Greater);
                };
                let theirs = (word >> (8 * equal)) as u8;
                return (end, theirs.cmp(&byte));
            }
            at += len;
            if at > probe.len() {
                return (probe.len(), Ordering::Greater);
            }
        }
        let order = if at < probe.len() {
            Ordering::Less
        } else {
            Ordering::Equal
        };
        (at, order)
    }

    #[inline]
    fn append(&self, from: usize, count: usize, key: &mut Vec<u8>) -> Option<()> {
        for place in from..from + count {
            let word = self.dictionary.word(self.code(place));
            let bytes = word.to_le_bytes();
            let string = bytes.get(..length(word)).filter(|s| !s.is_empty())?;
            key.extend_from_slice(string);
        }
        Some(())
    }
}

/// Bytes that a stream of so many codes takes.
pub(in crate::segment) fn stream_len(codes: usize, bits: u32) -> usize {
    let bits = (codes as u64 * u64::from(bits)).div_ceil(8);
    usize::try_from(bits).unwrap_or(usize::MAX / 2)
}

/// Appends a stream of codes of `bits` bits each.
pub(in crate::segment) fn put_codes(out: &mut Vec<u8>, codes: &[u16], bits: u32) {
    let (mut held, mut filled) = (0u32, 0);
    for code in codes {
        held |= u32::from(*code) << filled;
        filled += bits;
        while filled >= 8 {
            out.push(held as u8);
            held >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(held as u8);
    }
}
