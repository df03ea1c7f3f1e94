//! The newest entries, in memory, exact.
//!
//! A memtable is an arena of entries in the order of their arrival and a hash
//! table of places in it. It has one [`Appender`], which the store keeps behind
//! its commit lock, and readers that take no lock at all:
//!
//! - the appender writes an entry behind the published length and puts its place
//!   into a slot; readers pass over places at or above the length they loaded,
//!   so that an entry is invisible until it is published;
//! - [`Memtable::publish`] makes everything up to a length visible, in the order
//!   of arrival: what readers see is always a prefix of what was appended;
//! - what was appended and not published can be taken back.
//!
//! An entry is
//!
//! ```text
//! u16   length of the key
//! u8    length of the record: 0, or 6 for the time first seen
//! [u8]  the record: milliseconds since 1970, u48
//! [u8]  the key
//! ```
//!
//! A slot is zero, or 24 bits of the key's hash above 40 bits of the entry's
//! place plus one. Collisions go to the next slot.

mod arena;
mod sort;

use crate::record::Record;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::vfs::prefetch;
use arena::{Arena, Slots, Tail};
use std::io;
use std::sync::Arc;

/// Bytes of an entry beside its key and record.
const ENTRY: usize = 3;
/// Bytes of a record with a time.
const STAMP: usize = 6;
/// The bits of a slot that hold the place.
const PLACE: u64 = (1 << 40) - 1;

/// What an entry is counted with beside its key: more than it takes, so that no
/// batch can have more entries than a memtable has slots. A quarter of the memory
/// holds entries of at least 25 bytes, and there is a slot for each 80 bytes.
pub(crate) const OVERHEAD: usize = 24;

/// The bytes that a key of `len` bytes counts with.
pub(crate) const fn entry_size(len: usize) -> usize {
    OVERHEAD + len
}

/// The shared side: lookups.
#[derive(Debug)]
pub(crate) struct Memtable {
    arena: Arc<Arena>,
    slots: Slots,
    /// Entries that readers may see.
    entries: AtomicU64,
    memory: usize,
}

/// The right to append to one memtable.
#[derive(Debug)]
pub(crate) struct Appender {
    memtable: Arc<Memtable>,
    tail: Tail,
    entries: u64,
}

/// A point between two appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    len: usize,
    entries: u64,
}

/// An entry, borrowed from a memtable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) record: Record,
    size: usize,
}

impl Memtable {
    /// A memtable that takes `memory` bytes when it is full: an eighth for the
    /// slots, the rest for entries.
    pub(crate) fn new(memory: usize) -> io::Result<(Arc<Memtable>, Appender)> {
        let slots = (memory / 8 / size_of::<u64>()).max(64);
        let (arena, tail) = Arena::new(memory - memory / 8)?;
        let memtable = Arc::new(Memtable {
            arena,
            slots: Slots::new(slots)?,
            entries: AtomicU64::new(0),
            memory,
        });
        let appender = Appender {
            memtable: memtable.clone(),
            tail,
            entries: 0,
        };
        Ok((memtable, appender))
    }

    /// Entries that readers can see.
    pub(crate) fn len(&self) -> u64 {
        self.entries.load(Ordering::Acquire)
    }

    /// Bytes of memory when full.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Bytes of the entries that readers can see.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.bytes().len()
    }

    /// The record of `key`, if it is here and published.
    #[inline]
    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Option<Record> {
        // The published length is loaded before any slot: a place below it was
        // put there for good, whatever is taken back meanwhile.
        let bytes = self.arena.bytes();
        if bytes.is_empty() {
            return None;
        }
        self.probe(hash, key, bytes).ok().map(|entry| entry.record)
    }

    /// Starts loading the slot of `hash`.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let slots = self.slots.as_slice();
        if let Some(slot) = slots.get(home(hash, slots.len())) {
            prefetch(slot);
        }
    }

    /// Starts loading the entry that the slot of `hash` names; the slot should
    /// have been prefetched before.
    #[inline]
    pub(crate) fn prefetch_entry(&self, hash: u64) {
        let slots = self.slots.as_slice();
        let slot = slots
            .get(home(hash, slots.len()))
            .map_or(0, |slot| slot.load(Ordering::Relaxed));
        if slot != 0 && slot & !PLACE == tag(hash) {
            prefetch(self.arena.address((slot & PLACE) as usize - 1));
        }
    }

    /// The entry of `key` within `bytes`, or the slot where it would go.
    #[inline]
    fn probe<'a>(&self, hash: u64, key: &[u8], bytes: &'a [u8]) -> Result<Entry<'a>, usize> {
        let slots = self.slots.as_slice();
        let tag = tag(hash);
        let mut at = home(hash, slots.len());
        // Bounded: the appender leaves a fifth of the slots free.
        loop {
            let slot = slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return Err(at);
            }
            if slot & !PLACE == tag {
                let place = (slot & PLACE) as usize - 1;
                if let Some(entry) = Entry::read(bytes, place)
                    && entry.key == key
                {
                    return Ok(entry);
                }
            }
            at += 1;
            if at == slots.len() {
                at = 0;
            }
        }
    }

    /// The places of the published entries whose keys begin with `prefix`, in the
    /// order of the keys.
    pub(crate) fn sorted(&self, prefix: &[u8]) -> Vec<u64> {
        let bytes = self.arena.bytes();
        let mut places = Vec::new();
        if prefix.is_empty() {
            places.reserve(self.len() as usize);
        }
        places.extend(
            entries(bytes, 0)
                .filter(|(_, entry)| entry.key.starts_with(prefix))
                .map(|(place, _)| place as u64),
        );
        sort::by_key(&mut places, |place| {
            Entry::read(bytes, place as usize).map_or(&[], |entry| entry.key)
        });
        places
    }

    /// The published entry at a place that [`sorted`](Memtable::sorted) gave.
    pub(crate) fn entry(&self, place: u64) -> Option<Entry<'_>> {
        Entry::read(self.arena.bytes(), place as usize)
    }

    /// Makes everything up to `mark` visible.
    pub(crate) fn publish(&self, mark: Mark) {
        self.entries.fetch_max(mark.entries, Ordering::AcqRel);
        arena::publish(&self.arena, mark.len);
    }
}

impl Appender {
    pub(crate) fn memtable(&self) -> &Arc<Memtable> {
        &self.memtable
    }

    /// Whether `count` entries of `bytes` bytes in all, as [`entry_size`] counts
    /// them, find room.
    pub(crate) fn has_room(&self, count: usize, bytes: usize) -> bool {
        let slots = self.memtable.slots.as_slice().len();
        bytes <= self.tail.room() && self.entries as usize + count <= slots / 5 * 4
    }

    /// Appends `key` unless it is here already, published or not. True if it was
    /// appended. The caller has made sure of room.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, key: &[u8], millis: Option<u64>) -> bool {
        let Err(at) = self.memtable.probe(hash, key, self.tail.bytes()) else {
            return false;
        };
        let place = self.tail.len() as u64;
        debug_assert!(place < PLACE && key.len() <= usize::from(u16::MAX));
        let [k0, k1] = (key.len() as u16).to_le_bytes();
        let stamp = millis.unwrap_or(0).to_le_bytes();
        let (record_len, record) = match millis {
            Some(_) => (STAMP as u8, &stamp[..STAMP]),
            None => (0, &[][..]),
        };
        self.tail.append([&[k0, k1, record_len], record, key]);
        self.entries += 1;
        self.memtable.slots.as_slice()[at].store(tag(hash) | (place + 1), Ordering::Release);
        true
    }

    /// Entries, published or not.
    pub(crate) fn len(&self) -> u64 {
        self.entries
    }

    /// All entries, published or not, in the order of their arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        entries(self.tail.bytes(), 0).map(|(_, entry)| entry)
    }

    /// The present end.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            len: self.tail.len(),
            entries: self.entries,
        }
    }

    /// Takes back what was appended since `mark` and not published; `hash` is the
    /// function that the entries were inserted with.
    pub(crate) fn take_back(&mut self, mark: Mark, hash: impl Fn(&[u8]) -> u64) {
        let added: Vec<(u64, u64)> = entries(self.tail.bytes(), mark.len)
            .map(|(place, entry)| (place as u64, hash(entry.key)))
            .collect();
        let slots = self.memtable.slots.as_slice();
        // Last in, first out: the way to each slot is then still closed.
        for (place, hash) in added.into_iter().rev() {
            let mut at = home(hash, slots.len());
            while slots[at].load(Ordering::Relaxed) != tag(hash) | (place + 1) {
                at = (at + 1) % slots.len();
            }
            slots[at].store(0, Ordering::Release);
        }
        self.tail.truncate(mark.len);
        self.entries = mark.entries;
    }
}

impl<'a> Entry<'a> {
    /// The entry at `place`, or `None` if `bytes` end before it does.
    #[inline]
    fn read(bytes: &'a [u8], place: usize) -> Option<Entry<'a>> {
        let (head, rest) = bytes.get(place..)?.split_first_chunk::<ENTRY>()?;
        let [k0, k1, record_len] = *head;
        let (record, rest) = rest.split_at_checked(usize::from(record_len))?;
        let key = rest.get(..usize::from(u16::from_le_bytes([k0, k1])))?;
        let millis = record.first_chunk::<STAMP>().map(|stamp| {
            let mut millis = [0; 8];
            millis[..STAMP].copy_from_slice(stamp);
            u64::from_le_bytes(millis)
        });
        Some(Entry {
            key,
            record: Record::seen_at(millis),
            size: ENTRY + record.len() + key.len(),
        })
    }
}

/// The entries of `bytes` from `place` on, each with its place.
fn entries(bytes: &[u8], mut place: usize) -> impl Iterator<Item = (usize, Entry<'_>)> {
    std::iter::from_fn(move || {
        let entry = Entry::read(bytes, place)?;
        let at = place;
        place += entry.size;
        Some((at, entry))
    })
}

/// The first slot to try, from the upper bits of the hash.
#[inline]
fn home(hash: u64, slots: usize) -> usize {
    ((u128::from(hash) * slots as u128) >> 64) as usize
}

/// The lower bits of the hash, where a slot keeps them.
#[inline]
fn tag(hash: u64) -> u64 {
    hash << 40
}

#[cfg(test)]
mod tests;
