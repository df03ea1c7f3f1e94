//! A Bloom filter in blocks of one cache line.
//!
//! The high half of a key's hash picks a block of 512 bits; the bits inside it
//! come from products of the whole hash, of which each gives seven positions of
//! nine bits. (Plain double hashing inside a block has a floor of 0.2 %: two keys
//! whose start and step agree modulo 512 are the same key to it.)
//!
//! Position `p` of a block is bit `p & 7` of its byte `p >> 3`.

use super::Size;
use crate::vector::prefetch;
use crate::vfs::HugeBytes;
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

    pub(super) fn bits_per_key(&self, keys: u64) -> f64 {
        (self.blocks * BLOCK as u64 * 8) as f64 / keys as f64
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
