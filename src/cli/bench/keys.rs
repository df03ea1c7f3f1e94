//! Keys one after the other in memory, so that walking through them costs no cache miss a
//! key.

use super::super::feed::BATCH_LINES;
use super::super::lines::Ready;
use crate::Batch;

/// A batch's bytes: half of what the smallest memtable takes at once.
const BATCH_BYTES: usize = 128 << 10;

/// One key by itself.
pub(super) type OwnedKey = Box<[u8]>;

/// Packed keys.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether it is as much as a store is given at once.
    pub(super) fn is_batch(&self) -> bool {
        self.len() >= BATCH_LINES
            || self.bytes.len() + self.len() * Batch::ITEM_OVERHEAD >= BATCH_BYTES
    }

    pub(super) fn get(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let start = match place.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(start..end)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let key = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            key
        })
    }

    /// All of them, as the store takes them.
    pub(super) fn ready(&self) -> Vec<Ready<'_>> {
        self.iter().map(Ready).collect()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}
