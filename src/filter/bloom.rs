//! A classic Bloom filter: bits for a key anywhere.
//!
//! The positions come from one 64-bit hash by enhanced double hashing (Dillinger and
//! Manolios, 2004): a start and a step, of which the step grows with each position. So two
//! keys share all positions only if they share both, and keys with related steps do not
//! collide more often than others.
//!
//! Position `p` is bit `p & 7` of byte `p >> 3`.

use super::{Size, reduce, remix};
use crate::vector::prefetch;
use crate::vfs::HugeBytes;
use std::io;

/// Lengths are multiples of this many bytes.
const WORD: u64 = 8;
/// More than any size asks for.
const MAX_HASHES: u8 = 64;
/// Additions between the lookahead of a build and its place.
const AHEAD: usize = 16;

#[derive(Debug)]
pub(crate) struct Bloom {
    bytes: HugeBytes,
    len: usize,
    hashes: u8,
}

/// The number of bytes that a filter takes.
pub(super) fn size(keys: u64, size: Size) -> u64 {
    let bits = keys as f64 * size.bits_per_key;
    // From a float to an integer `as` saturates.
    ((bits / 64.0).ceil() as u64).saturating_mul(WORD)
}

impl Bloom {
    pub(super) fn build(hashes: &[u64], asked: Size) -> io::Result<Bloom> {
        let len = usize::try_from(size(hashes.len() as u64, asked))
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut filter = Bloom {
            bytes: HugeBytes::zeroed(len)?,
            len,
            hashes: asked.probes,
        };
        let bits = filter.bits();
        let mut ahead = hashes.iter().skip(AHEAD);
        for &hash in hashes {
            if let Some(&later) = ahead.next() {
                each_position(later, bits, filter.hashes, |byte, _| {
                    if let Some(byte) = filter.bytes.as_slice().get(byte) {
                        prefetch(byte);
                    }
                    true
                });
            }
            let bytes = filter.bytes.as_mut_slice();
            each_position(hash, bits, asked.probes, |byte, bit| {
                if let Some(byte) = bytes.get_mut(byte) {
                    *byte |= 1 << bit;
                }
                true
            });
        }
        Ok(filter)
    }

    pub(super) fn from_parts(bytes: HugeBytes, len: usize, keys: u64, hashes: u8) -> Option<Bloom> {
        let plausible = (len as u64).is_multiple_of(WORD)
            && len <= bytes.as_slice().len()
            && (len == 0) == (keys == 0)
            && (1..=MAX_HASHES).contains(&hashes);
        plausible.then_some(Bloom { bytes, len, hashes })
    }

    fn bits(&self) -> u64 {
        self.len as u64 * 8
    }

    pub(super) fn bits_per_key(&self, keys: u64) -> f64 {
        self.bits() as f64 / keys as f64
    }

    /// The lines of the first positions: an absent key is usually told by the first two.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        each_position(hash, self.bits(), self.hashes.min(3), |byte, _| {
            if let Some(byte) = self.bytes.as_slice().get(byte) {
                prefetch(byte);
            }
            true
        });
    }

    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        if self.len == 0 {
            return false;
        }
        let bytes = self.bytes.as_slice();
        each_position(hash, self.bits(), self.hashes, |byte, bit| {
            bytes.get(byte).is_some_and(|byte| byte >> bit & 1 == 1)
        })
    }

    pub(super) fn hashes(&self) -> u8 {
        self.hashes
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_slice().get(..self.len).unwrap_or_default()
    }
}

/// Calls `visit` with the byte and the bit in it of each position, until it answers false;
/// whether it never did.
#[inline(always)]
fn each_position(
    hash: u64,
    bits: u64,
    hashes: u8,
    mut visit: impl FnMut(usize, u32) -> bool,
) -> bool {
    let mut at = reduce(hash, bits);
    let mut step = reduce(remix(hash), bits);
    for growth in 0..hashes {
        // Below the number of bits, whose bytes are in memory.
        if !visit((at >> 3) as usize, (at & 7) as u32) {
            return false;
        }
        at += step;
        if at >= bits {
            at -= bits;
        }
        step += u64::from(growth);
        if step >= bits {
            step -= bits;
        }
    }
    true
}
