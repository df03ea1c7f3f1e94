//! Filters: the answer "definitely not in this segment" from a few lines of memory.
//!
//! A filter is a cache of negative answers. It never decides alone: a "maybe"
//! is followed by the read of a block and the comparison of the whole key. So its kind
//! ([`FilterKind`]) and the rate that it is built for decide how many reads are needless, and
//! how much memory that takes; [`sizing`] reckons with both.
//!
//! ```
//! # use seendb::{FilterKind, Seen};
//! # let dir = tempfile::tempdir()?;
//! let seen = Seen::builder(dir.path().join("crawl.seen"))
//!     .filter(FilterKind::Fuse)
//!     .false_positive_rate(0.001) // of all runs together
//!     .open()?;
//! assert_eq!(seen.stats().filter.asked, 0.001);
//! # seen.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Every key is hashed once per operation, with the store's seed; the memtable and all filters
// use the same 64 bits.
//
// In a segment a filter is its bits only; its kind and parameters are a field of the footer
// (see `Parameters`):
//
//     kind          u16   1: blocked, 2: bloom, 3: fuse, 4: none
//     blocked, bloom:
//     probes        u8    bits set for each key
//     fuse:
//     width         u8    bits of a fingerprint
//     segment bits  u8    the logarithm of the number of slots in a segment
//     attempt       u8    which hash of the keys' hashes is taken
//     slots         u64

mod blocked;
mod bloom;
mod budget;
mod choice;
mod fuse;
mod kind;
mod peel;
mod size;
pub mod sizing;
#[cfg(test)]
mod tests;

use crate::vfs::HugeBytes;
use crate::wire::{Malformed, Reader};
use blocked::Blocked;
use bloom::Bloom;
pub(crate) use budget::{FilterPlan, Room, fitting_rate, share};
pub(crate) use choice::FilterChoice;
use fuse::{Fuse, Shape};
pub use kind::{FilterKind, UnknownFilter};
pub(crate) use size::Size;
use std::io;

/// The hash of a key that memtable, filters and caches use.
#[inline]
pub(crate) fn hash(seed: u64, key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(key, seed)
}

/// A number below `bound` that grows with the hash: its high half after a multiplication,
/// which is cheaper than a remainder and as even.
#[inline]
fn reduce(hash: u64, bound: u64) -> u64 {
    ((u128::from(hash) * u128::from(bound)) >> 64) as u64
}

/// Another hash, one to one, of which every bit depends on all of the first's (the finalizer
/// of MurmurHash3 with the constants of Stafford's thirteenth variant).
#[inline]
fn remix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// What is needed beside the bits to use a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameters {
    None,
    Bloom { hashes: u8 },
    Blocked { probes: u8 },
    Fuse { width: u8, shape: Shape },
}

impl Parameters {
    pub(crate) fn kind(&self) -> FilterKind {
        match self {
            Parameters::None => FilterKind::None,
            Parameters::Bloom { .. } => FilterKind::Bloom,
            Parameters::Blocked { .. } => FilterKind::Blocked,
            Parameters::Fuse { .. } => FilterKind::Fuse,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.kind().number().to_le_bytes().to_vec();
        match *self {
            Parameters::None => {}
            Parameters::Bloom { hashes: probes } | Parameters::Blocked { probes } => {
                out.push(probes);
            }
            Parameters::Fuse { width, shape } => {
                out.extend_from_slice(&[width, shape.segment_bits, shape.attempt]);
                out.extend_from_slice(&shape.slots.to_le_bytes());
            }
        }
        out
    }

    /// The parameters that follow a kind.
    pub(crate) fn decode(
        kind: FilterKind,
        reader: &mut Reader<'_>,
    ) -> Result<Parameters, Malformed> {
        Ok(match kind {
            FilterKind::None => Parameters::None,
            FilterKind::Bloom => Parameters::Bloom {
                hashes: reader.u8("a number of hashes")?,
            },
            FilterKind::Blocked => Parameters::Blocked {
                probes: reader.u8("a number of probes")?,
            },
            FilterKind::Fuse => Parameters::Fuse {
                width: reader.u8("the width of fingerprints")?,
                shape: Shape {
                    segment_bits: reader.u8("the logarithm of a segment's length")?,
                    attempt: reader.u8("an attempt")?,
                    slots: reader.u64("a number of slots")?,
                },
            },
        })
    }
}

/// A segment's filter.
#[derive(Debug)]
pub(crate) struct Filter {
    bits: Bits,
    rate: f64,
}

#[derive(Debug)]
enum Bits {
    None,
    Bloom(Bloom),
    Blocked(Blocked),
    Fuse(Fuse),
}

impl Bits {
    /// Out of line: the default kind is cheap enough to stand where it is asked for.
    #[inline(never)]
    fn prefetch(&self, hash: u64) {
        match self {
            Bits::None => {}
            Bits::Bloom(filter) => filter.prefetch(hash),
            Bits::Blocked(filter) => filter.prefetch(hash),
            Bits::Fuse(filter) => filter.prefetch(hash),
        }
    }

    #[inline(never)]
    fn may_contain(&self, hash: u64) -> bool {
        match self {
            Bits::None => true,
            Bits::Bloom(filter) => filter.may_contain(hash),
            Bits::Blocked(filter) => filter.may_contain(hash),
            Bits::Fuse(filter) => filter.may_contain(hash),
        }
    }
}

impl Filter {
    /// What stands for a filter that is not in memory.
    pub(crate) fn absent() -> Filter {
        Filter::new(Bits::None, 1)
    }

    fn new(bits: Bits, keys: u64) -> Filter {
        let rate = match &bits {
            _ if keys == 0 => 0.0,
            Bits::None => 1.0,
            Bits::Bloom(filter) => size::bloom_rate(filter.bits_per_key(keys), filter.hashes()),
            Bits::Blocked(filter) => size::blocked_rate(filter.bits_per_key(keys), filter.probes()),
            Bits::Fuse(filter) => size::fuse_rate(filter.width()),
        };
        Filter { bits, rate }
    }

    /// Brings the lines closer that [`may_contain`](Filter::may_contain) will need.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        match &self.bits {
            Bits::Blocked(filter) => filter.prefetch(hash),
            other => other.prefetch(hash),
        }
    }

    /// False only if no key with this hash was added.
    #[inline]
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        match &self.bits {
            Bits::Blocked(filter) => filter.may_contain(hash),
            other => other.may_contain(hash),
        }
    }

    /// The share of absent keys that [`may_contain`](Filter::may_contain) is expected not to
    /// rule out, by the theory of its kind.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.bytes().len()
    }

    pub(crate) fn kind(&self) -> FilterKind {
        self.parameters().kind()
    }

    pub(crate) fn parameters(&self) -> Parameters {
        match &self.bits {
            Bits::None => Parameters::None,
            Bits::Bloom(filter) => Parameters::Bloom {
                hashes: filter.hashes(),
            },
            Bits::Blocked(filter) => Parameters::Blocked {
                probes: filter.probes(),
            },
            Bits::Fuse(filter) => Parameters::Fuse {
                width: filter.width(),
                shape: filter.shape(),
            },
        }
    }

    /// The bits as they are stored.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bits {
            Bits::None => &[],
            Bits::Bloom(filter) => filter.bytes(),
            Bits::Blocked(filter) => filter.bytes(),
            Bits::Fuse(filter) => filter.bytes(),
        }
    }

    /// A filter from its stored bits: the first `len` of `bits`. `None` if they
    /// cannot be a filter for that many keys.
    pub(crate) fn decode(
        parameters: Parameters,
        keys: u64,
        bits: HugeBytes,
        len: usize,
    ) -> Option<Filter> {
        let bits = match parameters {
            Parameters::None if len == 0 => Bits::None,
            Parameters::None => return None,
            Parameters::Bloom { hashes } => {
                Bits::Bloom(Bloom::from_parts(bits, len, keys, hashes)?)
            }
            Parameters::Blocked { probes } => {
                Bits::Blocked(Blocked::from_parts(bits, len, keys, probes)?)
            }
            Parameters::Fuse { width, shape } => {
                Bits::Fuse(Fuse::from_parts(bits, len, keys, width, shape)?)
            }
        };
        Some(Filter::new(bits, keys))
    }
}

/// Collects the hashes of a segment's keys, 8 bytes a key, so that the filter
/// is built for exactly their number.
#[derive(Debug)]
pub(crate) struct Builder {
    kind: FilterKind,
    size: Size,
    hashes: Vec<u64>,
}

impl Builder {
    /// A builder of filters of one size a key.
    pub(crate) fn new(kind: FilterKind, size: Size) -> Builder {
        let kind = match size {
            Size::NOTHING => FilterKind::None,
            _ => kind,
        };
        Builder {
            kind,
            size,
            hashes: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        if self.kind != FilterKind::None {
            self.hashes.push(hash);
        }
    }

    /// The bytes that the filter will take if nothing is added.
    pub(crate) fn size(&self) -> u64 {
        self.kind.bytes(self.hashes.len() as u64, self.size)
    }

    /// The filter. It fails only if there is no memory for it.
    pub(crate) fn finish(self) -> io::Result<Filter> {
        let keys = self.hashes.len() as u64;
        let bits = match self.kind {
            FilterKind::None => return Ok(Filter::absent()),
            FilterKind::Bloom => Bits::Bloom(Bloom::build(&self.hashes, self.size)?),
            FilterKind::Blocked => Bits::Blocked(Blocked::build(&self.hashes, self.size)?),
            FilterKind::Fuse => Bits::Fuse(Fuse::build(self.hashes, self.size)?),
        };
        Ok(Filter::new(bits, keys))
    }
}

impl FilterKind {
    /// The bytes of a filter for that many keys.
    pub(crate) fn bytes(self, keys: u64, size: Size) -> u64 {
        match self {
            FilterKind::None => 0,
            FilterKind::Bloom => bloom::size(keys, size),
            FilterKind::Blocked => blocked::size(keys, size),
            FilterKind::Fuse => fuse::size(keys, size),
        }
    }
}
