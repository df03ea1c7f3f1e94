//! Filters: the answer "definitely not in this segment" from one cache line.
//!
//! A filter is a cache of negative answers. It never decides alone: a "maybe"
//! is followed by the read of a block and the comparison of the whole key.
//!
//! Every key is hashed once per operation, with the store's seed; the memtable
//! and all filters use the same 64 bits.
//!
//! In a segment a filter is its bits only; its kind and parameters are a field
//! of the footer (see [`Parameters`]):
//!
//! ```text
//! kind    u16   1: blocked
//! probes  u8    bits set for each key
//! ```

mod blocked;
mod sizing;

use crate::vfs::HugeBytes;
use blocked::Blocked;
pub(crate) use sizing::Size;
use std::io;

/// The hash of a key that memtable, filters and caches use.
#[inline]
pub(crate) fn hash(seed: u64, key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(key, seed)
}

/// How a filter is built. The numbers are those on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum FilterKind {
    /// A Bloom filter whose bits for a key all lie in one cache line.
    Blocked = 1,
}

impl FilterKind {
    /// The kinds that this build reads, for messages.
    pub(crate) const KNOWN: &str = "filter kind 1 (blocked)";

    pub(crate) fn number(self) -> u16 {
        self as u16
    }

    pub(crate) fn from_number(number: u16) -> Option<FilterKind> {
        match number {
            1 => Some(FilterKind::Blocked),
            _ => None,
        }
    }
}

/// What is needed beside the bits to use a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) kind: FilterKind,
    pub(crate) probes: u8,
}

/// A segment's filter.
#[derive(Debug)]
pub(crate) enum Filter {
    Blocked(Blocked),
}

impl Filter {
    /// Brings the line that [`may_contain`](Filter::may_contain) will need closer.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        match self {
            Filter::Blocked(filter) => filter.prefetch(hash),
        }
    }

    /// False only if no key with this hash was added.
    #[inline]
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        match self {
            Filter::Blocked(filter) => filter.may_contain(hash),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.bytes().len()
    }

    /// Bits, of all keys together.
    pub(crate) fn bits(&self) -> u64 {
        self.bytes().len() as u64 * 8
    }

    pub(crate) fn parameters(&self) -> Parameters {
        match self {
            Filter::Blocked(filter) => Parameters {
                kind: FilterKind::Blocked,
                probes: filter.probes(),
            },
        }
    }

    /// The bits as they are stored.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Filter::Blocked(filter) => filter.bytes(),
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
        match parameters.kind {
            FilterKind::Blocked => {
                Blocked::from_parts(bits, len, keys, parameters.probes).map(Filter::Blocked)
            }
        }
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
    /// A builder of filters that say "maybe" to about `rate` of absent keys at most.
    pub(crate) fn new(kind: FilterKind, rate: f64) -> Builder {
        Builder {
            kind,
            size: Size::for_rate(rate),
            hashes: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        self.hashes.push(hash);
    }

    /// The bytes that the filter will take if nothing is added.
    pub(crate) fn size(&self) -> u64 {
        match self.kind {
            FilterKind::Blocked => blocked::size(self.hashes.len() as u64, self.size),
        }
    }

    /// The filter. It fails only if there is no memory for it.
    pub(crate) fn finish(self) -> io::Result<Filter> {
        match self.kind {
            FilterKind::Blocked => Ok(Filter::Blocked(Blocked::build(&self.hashes, self.size)?)),
        }
    }
}
