//! A Bloom filter in blocks of one cache line.
//!
//! The high half of a key's hash picks a block of 512 bits; the bits inside it
//! come from products of the whole hash, of which each gives seven positions of
//! nine bits. (Plain double hashing inside a block has a floor of 0.2 %: two keys
//! whose start and step agree modulo 512 are the same key to it.)
//!
//! Position `p` of a block is bit `p & 7` of its byte `p >> 3`.

use super::Size;
use crate::vfs::{HugeBytes, prefetch};
use std::io;

/// A block in bytes: a cache line.
const BLOCK: usize = 64;
/// Blocks are picked by 32 bits.
const MAX_BLOCKS: u64 = 1 << 32;
/// More than any size of `sizing` asks for.
const MAX_PROBES: u8 = 32;
/// Positions that one product gives.
const PER_PRODUCT: u8 = 7;

/// Additions between the lookahead of a build and its place: enough to keep the
/// processor's line buffers busy.
const AHEAD: usize = 16;

#[derive(Debug)]
pub(crate) struct Blocked {
    bits: HugeBytes,
    blocks: u64,
    probes: u8,
}

/// The number of bytes that a filter takes.
pub(super) fn size(keys: u64, size: Size) -> u64 {
    blocks(keys, size) * BLOCK as u64
}

fn blocks(keys: u64, size: Size) -> u64 {
    let bits = keys as f64 * size.bits_per_key;
    // From a float to an integer `as` saturates, and there are far fewer blocks.
    ((bits / (BLOCK * 8) as f64).ceil() as u64).min(MAX_BLOCKS)
}

impl Blocked {
    pub(super) fn build(hashes: &[u64], size: Size) -> io::Result<Blocked> {
        let keys = hashes.len() as u64;
        let blocks = blocks(keys, size);
        let len = usize::try_from(blocks * BLOCK as u64)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let mut filter = Blocked {
            bits: HugeBytes::zeroed(len)?,
            blocks,
            probes: size.probes,
        };
        let mut ahead = hashes.iter().skip(AHEAD);
        for &hash in hashes {
            if let Some(&later) = ahead.next() {
                filter.prefetch(later);
            }
            filter.insert(hash);
        }
        Ok(filter)
    }

    pub(super) fn from_parts(
        bits: HugeBytes,
        len: usize,
        keys: u64,
        probes: u8,
    ) -> Option<Blocked> {
        let blocks = (len / BLOCK) as u64;
        let plausible = len.is_multiple_of(BLOCK)
            && len <= bits.as_slice().len()
            && blocks <= MAX_BLOCKS
            && (blocks == 0) == (keys == 0)
            && (1..=MAX_PROBES).contains(&probes);
        plausible.then_some(Blocked {
            bits,
            blocks,
            probes,
        })
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        // Below `blocks`, which counts blocks in memory.
        (((hash >> 32) * self.blocks) >> 32) as usize
    }

    #[inline]
    fn block(&self, hash: u64) -> Option<&[u8; BLOCK]> {
        if self.blocks == 0 {
            return None;
        }
        self.bits.as_slice().as_chunks().0.get(self.place(hash))
    }

    fn insert(&mut self, hash: u64) {
        let place = self.place(hash);
        let (blocks, _) = self.bits.as_mut_slice().as_chunks_mut::<BLOCK>();
        if let Some(block) = blocks.get_mut(place) {
            each_position(hash, self.probes, |byte, bit| {
                if let Some(byte) = block.get_mut(byte) {
                    *byte |= 1 << bit;
                }
            });
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        if let Some(block) = self.block(hash) {
            prefetch(block);
        }
    }

    #[inline]
    pub(super) fn may_contain(&self, hash: u64) -> bool {
        let Some(block) = self.block(hash) else {
            return false;
        };
        // All probes are made: they cost a cycle each once the line is there,
        // and a branch that goes either way costs twenty.
        let mut all = 1u8;
        each_position(hash, self.probes, |byte, bit| {
            all &= block.get(byte).map_or(0, |byte| byte >> bit);
        });
        all & 1 == 1
    }

    pub(super) fn probes(&self) -> u8 {
        self.probes
    }

    pub(super) fn bytes(&self) -> &[u8] {
        let len = self.blocks as usize * BLOCK;
        self.bits.as_slice().get(..len).unwrap_or_default()
    }
}

/// Calls `visit` with the byte and the bit in it of every position of a key.
#[inline(always)]
fn each_position(hash: u64, probes: u8, mut visit: impl FnMut(usize, u32)) {
    // The high bits of a product depend on all bits of its factor; the shift
    // brings them down again, so that the next product differs in all of its bits.
    const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
    const NEXT: u64 = 0xd6e8_feb8_6659_fd93;
    let mut mixed = hash.wrapping_mul(FIRST);
    mixed = (mixed ^ (mixed >> 32)).wrapping_mul(NEXT);
    let mut left = probes;
    loop {
        let mut slices = mixed;
        for _ in 0..left.min(PER_PRODUCT) {
            // The nine highest bits: six for the byte, three for the bit.
            visit((slices >> 58) as usize, ((slices >> 55) & 7) as u32);
            slices <<= 9;
        }
        left = left.saturating_sub(PER_PRODUCT);
        if left == 0 {
            return;
        }
        mixed = (mixed ^ (mixed >> 32)).wrapping_mul(NEXT);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash;
    use super::*;

    fn hashes(seed: u64, from: u64, count: u64) -> Vec<u64> {
        (from..from + count)
            .map(|i| hash(seed, format!("https://example.com/page/{i}").as_bytes()))
            .collect()
    }

    fn rate(filter: &Blocked, absent: &[u64]) -> f64 {
        let yes = absent.iter().filter(|&&h| filter.may_contain(h)).count();
        yes as f64 / absent.len() as f64
    }

    #[test]
    fn every_key_that_was_added_is_found() {
        for count in [1, 2, 10, 1000, 200_000] {
            for (seed, asked) in [(0, 0.3), (1, 0.01), (u64::MAX, 0.001), (99, 1e-6)] {
                let added = hashes(seed, 0, count);
                let filter = Blocked::build(&added, Size::for_rate(asked)).unwrap();
                assert!(added.iter().all(|&h| filter.may_contain(h)));
            }
        }
    }

    #[test]
    fn a_filter_of_no_keys_says_no() {
        let filter = Blocked::build(&[], Size::for_rate(0.01)).unwrap();
        assert_eq!(filter.bytes().len(), 0);
        for hash in hashes(5, 0, 1000) {
            filter.prefetch(hash);
            assert!(!filter.may_contain(hash));
        }
    }

    #[test]
    fn the_rate_is_the_one_asked_for() {
        let added = hashes(7, 0, 200_000);
        let absent = hashes(7, 1 << 40, 2_000_000);
        for asked in [0.2, 0.05, 0.02326, 0.01, 0.004, 0.001, 0.0003, 0.0001] {
            let filter = Blocked::build(&added, Size::for_rate(asked)).unwrap();
            let got = rate(&filter, &absent);
            // Four standard deviations of the count, and 3 % for the table.
            let noise = 4.0 * (asked / absent.len() as f64).sqrt();
            assert!(got <= asked * 1.03 + noise, "{asked}: {got}");
        }
        let filter = Blocked::build(&added, Size::for_rate(0.01)).unwrap();
        assert_eq!(
            filter.bytes().len(),
            (200_000 * 10_usize).div_ceil(512) * 64
        );
        let got = rate(&filter, &absent);
        assert!((0.0090..0.0102).contains(&got), "{got}");
    }

    #[test]
    fn parts_that_cannot_be_a_filter_are_refused() {
        let parts = |len, keys, probes| {
            Blocked::from_parts(HugeBytes::zeroed(128).unwrap(), len, keys, probes).is_some()
        };
        assert!(parts(128, 5, 6));
        assert!(parts(0, 0, 6));
        assert!(!parts(100, 5, 6));
        assert!(!parts(0, 5, 6));
        assert!(!parts(64, 0, 6));
        assert!(!parts(64, 5, 0));
        assert!(!parts(64, 5, 33));
        assert!(!parts(1 << 30, 5, 6));
    }
}
