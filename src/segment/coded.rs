//! Front-coded keys: the form of the entries of a block, and of the index.
//!
//! ```text
//! entries         one after the other
//! restarts  u32 each: offsets of every 16th entry, beginning with the first
//! count     u32   of the restarts
//! ```
//!
//! An entry:
//!
//! ```text
//! shared    varint   bytes that the key has in common with the one before; as
//!                    many as it can be, but 0 at a restart
//! length    varint   of the suffix
//! values    varint   a fixed number of them, known from what the region is for
//! suffix    [u8; length]
//! ```
//!
//! Offsets count from the region's beginning. Keys ascend strictly. That `shared`
//! is the most that it can be is what lets a search decide most entries by two
//! numbers, without looking at their bytes.
#![deny(clippy::indexing_slicing)]

use crate::wire::put_varint;

/// Every how many entries a key is stored whole.
pub(super) const RESTART: usize = 16;

/// The number of bytes that two keys have in common at their beginning.
#[inline]
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    let (wide_a, _) = a.as_chunks::<8>();
    let (wide_b, _) = b.as_chunks::<8>();
    let mut equal = 0;
    for (x, y) in wide_a.iter().zip(wide_b) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return equal + (differ.trailing_zeros() / 8) as usize;
        }
        equal += 8;
    }
    let rest = a.iter().zip(b).skip(equal);
    equal + rest.take_while(|(x, y)| x == y).count()
}

/// Writes a region.
#[derive(Debug, Default)]
pub(super) struct Builder {
    bytes: Vec<u8>,
    restarts: Vec<u8>,
    count: usize,
}

impl Builder {
    /// Adds a key that has `shared` bytes in common with the one before.
    pub(super) fn push(&mut self, key: &[u8], shared: usize, values: &[u64]) {
        let restart = self.count.is_multiple_of(RESTART);
        let shared = if restart { 0 } else { shared };
        if restart {
            // `finish` refuses a region in which this would have been cut.
            let offset = self.bytes.len() as u32;
            self.restarts.extend_from_slice(&offset.to_le_bytes());
        }
        let suffix = key.get(shared..).unwrap_or_default();
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, suffix.len() as u64);
        for &value in values {
            put_varint(&mut self.bytes, value);
        }
        self.bytes.extend_from_slice(suffix);
        self.count += 1;
    }

    /// The size of the region if it ended here.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.restarts.len() + 4
    }

    /// Appends the region to `out` and begins another. False if it is too large
    /// for its offsets; nothing was appended then.
    #[must_use]
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        if u32::try_from(self.len()).is_err() {
            return false;
        }
        let restarts = (self.restarts.len() / 4) as u32;
        out.extend_from_slice(&self.bytes);
        out.extend_from_slice(&self.restarts);
        out.extend_from_slice(&restarts.to_le_bytes());
        self.bytes.clear();
        self.restarts.clear();
        self.count = 0;
        true
    }
}
