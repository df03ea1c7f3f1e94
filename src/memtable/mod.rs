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
//! u8    length of the record
//! [u8]  the record, see `record::code`; none is a plain entry without a time
//! [u8]  the key
//! ```
//!
//! A slot is zero, or 24 bits of the key's hash above 40 bits of the entry's
//! place plus one. Collisions go to the next slot.
//!
//! # Versions
//!
//! A key that changes gets another entry, whose place takes that of the one before in
//! the slot. A reader that must not see the new entry yet finds the last published one
//! in a second table, `older`, at the same slot: it is put there first. As long as an
//! entry is not published, no later batch may replace it ([`Place::Hidden`]), so that one
//! older version is all that a reader can need. If that was published after the reader
//! loaded the published length, it loads it again.

mod appender;
mod arena;
mod sort;

pub(crate) use appender::{Appender, Mark, Place};

use crate::record::{Counts, Head, Stored};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::vector::prefetch;
use arena::{Arena, Slots};
use std::io;
use std::sync::Arc;

/// Bytes of an entry beside its key and record.
const ENTRY: usize = 3;
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
    /// For slots whose key has several versions: one more than the place of the last that
    /// was published when it was replaced. Memory is taken only where that happened.
    older: Slots,
    /// Keys that came with entries which readers may see, in the upper 32 bits, and those
    /// that went, in the lower: both only grow.
    changes: AtomicU64,
    /// Whether a key has several versions.
    replaced: AtomicBool,
    memory: usize,
}

/// An entry, borrowed from a memtable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a [u8],
    /// Its record's bytes.
    pub(crate) record: &'a [u8],
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
            older: Slots::new(slots)?,
            changes: AtomicU64::new(0),
            replaced: AtomicBool::new(false),
            memory,
        });
        Ok((memtable.clone(), Appender::new(memtable, tail)))
    }

    /// By how many keys the entries that readers can see change the number of keys:
    /// those that came, and those that went.
    pub(crate) fn changes(&self) -> (u64, u64) {
        let changes = self.changes.load(Ordering::Acquire);
        (changes >> 32, changes & u64::from(u32::MAX))
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
    #[inline(always)]
    pub(crate) fn get(&self, hash: u64, key: &[u8]) -> Option<Stored> {
        // The published length is loaded before any slot: a place below it was
        // put there for good, whatever is taken back meanwhile.
        let bytes = self.arena.bytes();
        if bytes.is_empty() {
            return None;
        }
        let slots = self.slots.as_slice();
        let tag = tag(hash);
        let mut at = home(hash, slots.len());
        // Bounded: the appender leaves a fifth of the slots free.
        loop {
            let slot = slots[at].load(Ordering::Acquire);
            if slot == 0 {
                return None;
            }
            if slot & !PLACE == tag {
                let place = (slot & PLACE) as usize - 1;
                match Entry::read(bytes, place) {
                    Some(entry) if entry.key == key => return Some(entry.stored()),
                    Some(_) => {}
                    // Not to be seen yet. Is there a version before?
                    None => {
                        let older = self.older(at, key, bytes.len());
                        if let Some(entry) = older {
                            return Some(entry.stored());
                        }
                    }
                }
            }
            at += 1;
            if at == slots.len() {
                at = 0;
            }
        }
    }

    /// The last published version of `key`, if `slot` is its slot, whose newest was not
    /// published when `shown` bytes were.
    #[cold]
    fn older(&self, slot: usize, key: &[u8], shown: usize) -> Option<Entry<'_>> {
        let mut bytes = self.arena.bytes();
        let newest = self.slots.as_slice()[slot].load(Ordering::Acquire) & PLACE;
        let older = self.older.as_slice()[slot].load(Ordering::Acquire);
        let mut place = older;
        if newest as usize > shown && newest as usize <= bytes.len() {
            // Published meanwhile.
            place = newest;
        }
        if place as usize > bytes.len() {
            // So was this, before it was replaced.
            bytes = self.arena.bytes();
        }
        let entry = Entry::read(bytes, (place as usize).checked_sub(1)?)?;
        (entry.key == key).then_some(entry)
    }

    /// Whether readers can see no entry.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.arena.bytes().is_empty()
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

    /// The places of the published entries whose keys begin with `prefix`, each key's
    /// newest, in the order of the keys.
    pub(crate) fn sorted(&self, prefix: &[u8]) -> Vec<u64> {
        let bytes = self.arena.bytes();
        let replaced = self.replaced.load(Ordering::Acquire);
        let mut places = Vec::new();
        if prefix.is_empty() {
            places.reserve(self.changes().0 as usize);
        }
        places.extend(
            entries(bytes, 0)
                .filter(|(_, entry)| entry.key.starts_with(prefix))
                .map(|(place, _)| place as u64),
        );
        let key = |place: u64| Entry::read(bytes, place as usize).map_or(&[][..], |e| e.key);
        sort::by_key(&mut places, key);
        if replaced {
            places.dedup_by(|next, kept| {
                let same = key(*next) == key(*kept);
                if same {
                    *kept = (*kept).max(*next);
                }
                same
            });
        }
        places
    }

    /// Calls `each` with the entries between two lengths that the memtable showed.
    pub(crate) fn between(&self, from: usize, to: usize, mut each: impl FnMut(Entry<'_>)) {
        let bytes = self.arena.bytes();
        let bytes = bytes.get(..to).unwrap_or(bytes);
        entries(bytes, from).for_each(|(_, entry)| each(entry));
    }

    /// How the published entries change the numbers of keys by state; counts wrap.
    pub(crate) fn count_moves(&self) -> Counts {
        let mut counts = Counts::default();
        for (_, entry) in entries(self.arena.bytes(), 0) {
            let head = Head::of(entry.record);
            counts.moved(head.replaces(), head.kind());
        }
        counts
    }

    /// Whether some entries are tombstones.
    pub(crate) fn has_tombstones(&self) -> bool {
        self.changes().1 > 0
    }

    /// The published entry at a place that [`sorted`](Memtable::sorted) gave.
    pub(crate) fn entry(&self, place: u64) -> Option<Entry<'_>> {
        Entry::read(self.arena.bytes(), place as usize)
    }

    /// Makes everything up to `mark` visible.
    pub(crate) fn publish(&self, mark: Mark) {
        let changes = mark.added << 32 | mark.removed;
        self.changes.fetch_max(changes, Ordering::AcqRel);
        arena::publish(&self.arena, mark.len);
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
        Some(Entry { key, record })
    }

    /// What its record says.
    #[inline]
    pub(crate) fn stored(&self) -> Stored {
        // The bytes were written by this process, from a record.
        let stored = crate::record::read(self.record);
        debug_assert!(stored.is_ok(), "{:?}", self.record);
        stored.unwrap_or(Stored::Seen(None))
    }

    fn size(&self) -> usize {
        ENTRY + self.record.len() + self.key.len()
    }
}

/// The entries of `bytes` from `place` on, each with its place.
fn entries(bytes: &[u8], mut place: usize) -> impl Iterator<Item = (usize, Entry<'_>)> {
    std::iter::from_fn(move || {
        let entry = Entry::read(bytes, place)?;
        let at = place;
        place += entry.size();
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
