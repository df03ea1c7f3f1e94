//! Cuts what was read into batches that a store takes.

use super::feed::BATCH_LINES;
use crate::{Batch, Seen};

/// A batch's bytes: enough for one write to be cheap, little to repeat after a kill.
pub(super) const BATCH_BYTES: usize = 1 << 20;

/// More than the record of a claim or an outcome takes beside its key.
const RECORD: usize = 256;

/// Cuts `items`, whose keys `key` tells, into batches for `store`.
pub(super) fn batches<'a, T>(
    store: &Seen,
    items: &'a [T],
    key: impl Fn(&T) -> &[u8],
) -> impl Iterator<Item = &'a [T]> {
    let limit = store.batch_limit().min(BATCH_BYTES);
    let mut rest = items;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |item: &&T| {
            bytes += key(item).len() + Batch::ITEM_OVERHEAD + RECORD;
            bytes <= limit
        };
        let count = rest.iter().take(BATCH_LINES).take_while(fits).count();
        // Any one item fits.
        let (batch, after) = rest.split_at_checked(count.max(1))?;
        rest = after;
        Some(batch)
    })
}
