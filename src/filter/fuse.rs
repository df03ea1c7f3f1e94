//! A binary fuse filter: three fingerprint slots a key, whose exclusive or is the key's
//! fingerprint.
//!
//! After T. M. Graf and D. Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters",
//! ACM Journal of Experimental Algorithmics 27, 2022. The slots lie in segments of a power of
//! two; a key's three are in neighbouring segments, so that a build moves through memory in
//! one direction, and solvable systems need few slots more than keys: 1.125 a key for many
//! keys, more for few.
//!
//! Fingerprints have the bits that the rate asks for, and lie bit by bit one after the other:
//! slot `s` of width `w` is bits `s * w` and following, counted from the lowest bit of the
//! first byte on. Seven bytes of zeros follow, so that eight can be read at any slot.

use super::{Size, peel, reduce, remix};
use crate::vector::prefetch;
use crate::vfs::HugeBytes;
use std::io;

/// Slots a key, for many keys.
pub(super) const SLOTS_PER_KEY: f64 = 1.125;
/// The widest fingerprints: with the bits before them in a byte, they fit eight bytes.
const MAX_WIDTH: u8 = 32;
/// Segments have at most 2^18 slots.
const MAX_SEGMENT_BITS: u8 = 18;
/// Bytes behind the slots.
const PADDING: u64 = 7;
/// Tries to find a hash under which the slots can be solved; one mostly does.
pub(super) const ATTEMPTS: u8 = 100;

/// Where the slots of keys are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Slots in all: a multiple of the segments' length, of at least three segments.
    pub(crate) slots: u64,
    /// The logarithm of a segment's length.
    pub(crate) segment_bits: u8,
    /// Which hash of the keys' hashes is taken.
    pub(crate) attempt: u8,
}

impl Shape {
    /// For that many keys.
    pub(super) fn for_keys(keys: u64) -> Shape {
        let keys = keys.max(2) as f64;
        let segment_bits = (keys.ln() / 3.33f64.ln() + 2.25)
            .floor()
            .clamp(1.0, f64::from(MAX_SEGMENT_BITS)) as u8;
        let per_key = (0.875 + 0.25 * 1e6f64.ln() / keys.ln()).max(SLOTS_PER_KEY);
        let length = 1u64 << segment_bits;
        // From a float to an integer `as` saturates.
        let segments = ((keys * per_key) as u64).div_ceil(length).max(3);
        Shape {
            slots: segments.saturating_mul(length),
            segment_bits,
            attempt: 0,
        }
    }

    fn is_plausible(self) -> bool {
        let length = 1u64 << self.segment_bits.min(MAX_SEGMENT_BITS);
        self.segment_bits <= MAX_SEGMENT_BITS
            && self.attempt < ATTEMPTS
            && self.slots.is_multiple_of(length)
            && self.slots / length >= 3
    }

    /// The key's hash in this attempt.
    #[inline]
    pub(super) fn mix(self, hash: u64) -> u64 {
        let mut mixed = Shape::mix_again(hash);
        for _ in 0..self.attempt {
            mixed = Shape::mix_again(mixed);
        }
        mixed
    }

    /// From the hash of one attempt to that of the next: one to one, so that different keys
    /// stay different.
    #[inline]
    pub(super) fn mix_again(hash: u64) -> u64 {
        remix(hash.wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    /// The three slots of a mixed hash, in ascending segments.
    #[inline]
    pub(super) fn places(self, mixed: u64) -> [usize; 3] {
        let length = 1u64 << self.segment_bits;
        let mask = length - 1;
        let first = reduce(mixed, self.slots - 2 * length);
        let second = (first + length) ^ (mixed >> 18 & mask);
        let third = (first + 2 * length) ^ (mixed & mask);
        // Slots are in memory.
        [first as usize, second as usize, third as usize]
    }
}

#[derive(Debug)]
pub(crate) struct Fuse {
    bytes: HugeBytes,
    len: usize,
    shape: Shape,
    width: u8,
}

/// The number of bytes that a filter takes.
pub(super) fn size(keys: u64, size: Size) -> u64 {
    match keys {
        0 => 0,
        _ => bytes(Shape::for_keys(keys).slots, size.probes),
    }
}

fn bytes(slots: u64, width: u8) -> u64 {
    slots.saturating_mul(width.into()).div_ceil(8) + PADDING
}

/// A fingerprint of `width` bits.
#[inline]
fn fingerprint(mixed: u64, width: u8) -> u64 {
    // Of a product, whose high bits depend on all of the factor's: the places take bits of
    // the factor itself.
    mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> (64 - u32::from(width))
}

impl Fuse {
    /// The filter; the hashes are lost. Beside them and the filter it takes 26 bytes a key
    /// while it works.
    pub(super) fn build(mut hashes: Vec<u64>, asked: Size) -> io::Result<Fuse> {
        let width = asked.probes.clamp(1, MAX_WIDTH);
        if hashes.is_empty() {
            let shape = Shape::for_keys(0);
            return Ok(Fuse {
                bytes: HugeBytes::zeroed(0)?,
                len: 0,
                shape,
                width,
            });
        }
        let keys = hashes.len() as u64;
        let (shape, order) = peel::peel(&mut hashes, Shape::for_keys(keys))?;
        let len = usize::try_from(bytes(shape.slots, width))
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut filter = Fuse {
            bytes: HugeBytes::zeroed(len)?,
            len,
            shape,
            width,
        };
        // The last that was peeled off is set first: each slot is then one that no key set
        // before depends on.
        for (mixed, which) in order.into_iter().rev() {
            let places = shape.places(mixed);
            let others = places
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != usize::from(which));
            let value = others.fold(fingerprint(mixed, width), |value, (_, &slot)| {
                value ^ filter.slot(slot)
            });
            if let Some(&slot) = places.get(usize::from(which)) {
                filter.set(slot, value);
            }
        }
        Ok(filter)
    }

    pub(super) fn from_parts(
        held: HugeBytes,
        len: usize,
        keys: u64,
        width: u8,
        shape: Shape,
    ) -> Option<Fuse> {
        let plausible = (1..=MAX_WIDTH).contains(&width)
            && shape.is_plausible()
            && len <= held.as_slice().len()
            && match keys {
                0 => len == 0,
                _ => len as u64 == bytes(shape.slots, width),
            };
        plausible.then_some(Fuse {
            bytes: held,
            len,
            shape,
            width,
        })
    }

    /// Eight bytes from the one on in which a slot begins, and the bits before it in that.
    #[inline]
    fn word(&self, slot: usize) -> (usize, u32) {
        let bit = slot as u64 * u64::from(self.width);
        ((bit >> 3) as usize, (bit & 7) as u32)
    }

    #[inline]
    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    #[inline]
    fn slot(&self, slot: usize) -> u64 {
        let (at, shift) = self.word(slot);
        let bytes = self
            .bytes
            .as_slice()
            .get(at..)
            .and_then(|b| b.first_chunk());
        bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes) >> shift & self.mask())
    }

    /// Sets a slot that is zero.
    fn set(&mut self, slot: usize, value: u64) {
        let (at, shift) = self.word(slot);
        let mut bytes = self.bytes.as_mut_slice().get_mut(at..);
        if let Some(bytes) = bytes.as_mut().and_then(|b| b.first_chunk_mut::<8>()) {
            *bytes = (u64::from_le_bytes(*bytes) | value << shift).to_le_bytes();
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        if self.len == 0 {
            return;
        }
        for slot in self.shape.places(self.shape.mix(hash)) {
            if let Some(byte) = self.bytes.as_slice().get(self.word(slot).0) {
                prefetch(byte);
            }
        }
    }

    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        if self.len == 0 {
            return false;
        }
        let mixed = self.shape.mix(hash);
        let [first, second, third] = self.shape.places(mixed);
        fingerprint(mixed, self.width) == self.slot(first) ^ self.slot(second) ^ self.slot(third)
    }

    pub(super) fn width(&self) -> u8 {
        self.width
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_slice().get(..self.len).unwrap_or_default()
    }
}
