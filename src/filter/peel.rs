//! Solving the slots of a fuse filter: an order in which every key has a slot that no key
//! before it needs.
//!
//! A slot that only one key falls on can be that key's; without the key, others of its slots
//! may be left with one key, and so on, until no key is left. If some are, another hash is
//! tried.

use super::fuse::{ATTEMPTS, Shape};
use std::io;

/// Keys by their mixed hashes, and which of its three slots is each one's own, in the order
/// in which they were peeled off.
pub(super) type Order = Vec<(u64, u8)>;

/// What falls on the slots.
struct Slots {
    /// The exclusive or of the hashes.
    hashes: Vec<u64>,
    /// Four times the number of keys, and in the lowest two bits the exclusive or of which
    /// of a key's slots it is.
    counts: Vec<u8>,
}

/// Peels all keys off. `hashes` are mixed on the way, and equal ones count as one.
pub(super) fn peel(hashes: &mut Vec<u64>, mut shape: Shape) -> io::Result<(Shape, Order)> {
    let slots =
        usize::try_from(shape.slots).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let mut on = Slots {
        hashes: vec![0; slots],
        counts: vec![0; slots],
    };
    let mut order = Order::with_capacity(hashes.len());
    for attempt in 0..ATTEMPTS {
        shape.attempt = attempt;
        for hash in hashes.iter_mut() {
            *hash = Shape::mix_again(*hash);
        }
        // In the order of their slots, and so through memory in one direction.
        hashes.sort_unstable();
        hashes.dedup();
        if on.fill(hashes, shape) && on.peel(shape, &mut order) == hashes.len() {
            return Ok((shape, order));
        }
        order.clear();
        on.hashes.fill(0);
        on.counts.fill(0);
    }
    Err(io::Error::other(
        "no hash solves the slots of a fuse filter",
    ))
}

impl Slots {
    /// Puts all keys on their slots; false if there are too many on one.
    fn fill(&mut self, mixed: &[u64], shape: Shape) -> bool {
        mixed.iter().all(|&hash| {
            shape
                .places(hash)
                .into_iter()
                .zip(0..)
                .all(|(slot, which)| {
                    let (Some(hashes), Some(count)) =
                        (self.hashes.get_mut(slot), self.counts.get_mut(slot))
                    else {
                        return false;
                    };
                    *hashes ^= hash;
                    *count ^= which;
                    let added = count.checked_add(4);
                    *count = added.unwrap_or(*count);
                    added.is_some()
                })
        })
    }

    /// The number of keys that could be peeled off.
    fn peel(&mut self, shape: Shape, order: &mut Order) -> usize {
        let mut alone = Vec::new();
        for slot in 0..self.counts.len() {
            alone.push(slot);
            while let Some(slot) = alone.pop() {
                if let Some((hash, which)) = self.take(slot, shape, &mut alone) {
                    order.push((hash, which));
                }
            }
        }
        order.len()
    }

    /// Takes the key that is alone on a slot off all of its slots. Slots where another one
    /// is alone now are added to `alone`.
    fn take(&mut self, slot: usize, shape: Shape, alone: &mut Vec<usize>) -> Option<(u64, u8)> {
        let count = *self.counts.get(slot)?;
        if count >> 2 != 1 {
            return None;
        }
        let hash = *self.hashes.get(slot)?;
        for (slot, which) in shape.places(hash).into_iter().zip(0u8..) {
            let (hashes, count) = (self.hashes.get_mut(slot)?, self.counts.get_mut(slot)?);
            *hashes ^= hash;
            *count = (*count ^ which).wrapping_sub(4);
            if *count >> 2 == 1 {
                alone.push(slot);
            }
        }
        Some((hash, count & 3))
    }
}
