//! A dictionary of strings that often occur in keys: the code of what a front-coded key does
//! not share with the key before it.
//!
//! A string has 1 to 15 bytes, its code `bits` bits, 8 to 16. Codes 0 to 255 are the single
//! bytes, so that everything can be coded; the strings behind them were found in a sample of
//! what is to be coded, see `train`. What was coded is decoded code by code, from any of them
//! on, with one copy of 16 bytes each.
//!
//! Stored:
//!
//! ```text
//! bits      u8    8 to 16
//! count     u32   of the strings behind the single bytes, at most 2^bits - 256
//! strings         one after the other, ascending
//! ```
//!
//! A string:
//!
//! ```text
//! lengths   u8         low four bits: of the string, 2 to 15
//!                      high four bits: how many bytes it has in common with the
//!                      string before it, as many as it can be; 0 for the first
//! rest      [u8; ...]  the bytes behind those
//! ```
//!
//! The first string has the code 256, and so on. They ascend strictly, so no two are equal.
#![deny(clippy::indexing_slicing)]

mod encoder;
mod sample;
mod tally;
#[cfg(test)]
mod tests;
mod train;
mod trie;

pub(super) use encoder::Encoder;
pub(crate) use sample::Sample;
pub(super) use train::train;

use crate::wire::{Malformed, Reader};

/// The longest string: its length and its bytes fit 16 bytes.
const MAX_LEN: usize = 15;
/// The codes of single bytes.
const BYTES: usize = 256;
/// The widths of codes.
const MIN_BITS: u32 = 8;
const MAX_BITS: u32 = 16;

/// A string: its bytes from the lowest up, zeros behind, and its length in the top byte.
/// Zero is none.
type Word = u128;

/// The word of at most 15 bytes.
fn word(bytes: &[u8]) -> Word {
    debug_assert!(bytes.len() <= MAX_LEN);
    let mut word = [0; 16];
    for (to, from) in word.iter_mut().take(MAX_LEN).zip(bytes) {
        *to = *from;
    }
    u128::from_le_bytes(word) | (bytes.len() as u128) << 120
}

/// The number of bytes of a word's string.
#[inline]
fn len(word: Word) -> usize {
    (word >> 120) as usize
}

/// The bytes of a word's string, and how many of them there are.
#[inline]
fn bytes(word: Word) -> ([u8; 16], usize) {
    (word.to_le_bytes(), len(word))
}

/// Two strings compare as these do: their bytes first, and a beginning of another is less.
#[inline]
fn order(word: Word) -> u128 {
    (word << 8).swap_bytes() << 8 | word >> 120
}

/// The number of bytes that two different strings have in common at their beginning.
fn common(a: Word, b: Word) -> usize {
    let differ = ((a ^ b).trailing_zeros() / 8) as usize;
    differ.min(len(a)).min(len(b))
}

/// Strings by their codes.
pub(super) struct Dictionary {
    bits: u32,
    /// The strings, the single bytes among them.
    len: usize,
    /// By code: as many as there can be codes, zeros behind the strings.
    words: Box<[Word]>,
}

impl Dictionary {
    /// The single bytes alone.
    pub(super) fn plain() -> Dictionary {
        Dictionary::new(MIN_BITS, &[])
    }

    /// Of the strings of different words, sorted by `order`; there are at most
    /// 2^`bits` - 256.
    fn new(bits: u32, strings: &[Word]) -> Dictionary {
        debug_assert!((MIN_BITS..=MAX_BITS).contains(&bits));
        debug_assert!(strings.is_sorted_by(|a, b| order(*a) < order(*b)));
        let mut words = Dictionary::singles(bits);
        words.extend_from_slice(strings);
        Dictionary::of(bits, words)
    }

    /// The words of the single bytes, with room for all: at most a MiB.
    fn singles(bits: u32) -> Vec<Word> {
        let mut words = Vec::with_capacity(1 << bits);
        words.extend((0..=u8::MAX).map(|byte| word(&[byte])));
        words
    }

    /// Of all words, those of the single bytes among them.
    fn of(bits: u32, mut words: Vec<Word>) -> Dictionary {
        let len = words.len();
        words.resize(1 << bits, 0);
        Dictionary {
            bits,
            len,
            words: words.into_boxed_slice(),
        }
    }

    /// The width of a code.
    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// How many strings it has, the 256 bytes among them.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The string of a code as a little-endian word: its bytes from the lowest up, zeros behind,
    /// and its length in the top byte. 0 for a code without a string.
    #[inline(always)]
    pub(super) fn word(&self, code: usize) -> u128 {
        self.words.get(code).copied().unwrap_or(0)
    }

    /// The bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        size_of::<Dictionary>() + size_of_val(&*self.words)
    }

    /// The strings behind the single bytes.
    fn strings(&self) -> &[Word] {
        self.words.get(BYTES..self.len).unwrap_or_default()
    }

    /// Appends the stored form.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.bits as u8);
        out.extend_from_slice(&(self.strings().len() as u32).to_le_bytes());
        let mut before = 0;
        for &word in self.strings() {
            let (bytes, len) = bytes(word);
            let shared = common(before, word);
            out.push((shared << 4 | len) as u8);
            out.extend_from_slice(bytes.get(shared..len).unwrap_or_default());
            before = word;
        }
    }

    /// Of its stored form and nothing else.
    pub(super) fn decode(bytes: &[u8]) -> Result<Dictionary, Malformed> {
        let mut reader = Reader::new(bytes);
        let malformed = |at, expected| Malformed { at, expected };
        let bits = u32::from(reader.u8("the width of a dictionary's codes")?);
        if !(MIN_BITS..=MAX_BITS).contains(&bits) {
            return Err(malformed(0, "codes of 8 to 16 bits"));
        }
        let count = reader.length_u32("the number of a dictionary's strings")?;
        if count > (1 << bits) - BYTES {
            return Err(malformed(1, "as many strings as there are codes, or fewer"));
        }
        let mut words = Dictionary::singles(bits);
        let mut before = 0;
        for _ in 0..count {
            let at = reader.offset();
            let lengths = reader.u8("the lengths of a dictionary's string")?;
            let (shared, len) = (usize::from(lengths >> 4), usize::from(lengths & 15));
            if len < 2 || shared >= len {
                return Err(malformed(at, "a string of 2 to 15 bytes"));
            }
            let rest = reader.take(len - shared, "the bytes of a dictionary's string")?;
            let mut whole = u128::to_le_bytes(before);
            for (to, from) in whole.iter_mut().skip(shared).zip(rest) {
                *to = *from;
            }
            let next = word(whole.get(..len).unwrap_or_default());
            // Bytes behind the end of the one before are never counted as shared.
            if order(next) <= order(before) || common(before, next) != shared {
                return Err(malformed(at, "strings that ascend"));
            }
            words.push(next);
            before = next;
        }
        if !reader.is_empty() {
            return Err(malformed(reader.offset(), "the end of a dictionary"));
        }
        Ok(Dictionary::of(bits, words))
    }
}

impl PartialEq for Dictionary {
    fn eq(&self, other: &Dictionary) -> bool {
        self.bits == other.bits && self.words == other.words
    }
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary")
            .field("bits", &self.bits)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
