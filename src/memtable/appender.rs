//! The right to append to a memtable: one writer, behind what readers see.

use super::arena::Tail;
use super::{Entry, Memtable, PLACE, entries, home, tag};
use crate::record::Head;
use crate::sync::atomic::Ordering;
use std::sync::Arc;

/// The right to append to one memtable.
#[derive(Debug)]
pub(crate) struct Appender {
    memtable: Arc<Memtable>,
    tail: Tail,
    /// Slots that are taken.
    used: usize,
    added: u64,
    removed: u64,
    /// Since [`begin`](Appender::begin): entries that replaced another, with their slot
    /// and what was in it.
    undo: Vec<Undo>,
}

#[derive(Debug)]
struct Undo {
    place: u64,
    slot: usize,
    before: u64,
}

/// A point between two appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(super) len: usize,
    pub(super) used: usize,
    pub(super) added: u64,
    pub(super) removed: u64,
}

/// Where an appender has a key.
#[derive(Debug)]
pub(crate) enum Place<'a> {
    /// Nowhere; it can go into this slot.
    Free(usize),
    /// In this slot.
    Taken(usize, Entry<'a>),
    /// In an entry of an earlier batch that is not published yet.
    Hidden(Entry<'a>),
}

impl Appender {
    pub(super) fn new(memtable: Arc<Memtable>, tail: Tail) -> Appender {
        Appender {
            memtable,
            tail,
            used: 0,
            added: 0,
            removed: 0,
            undo: Vec::new(),
        }
    }

    pub(crate) fn memtable(&self) -> &Arc<Memtable> {
        &self.memtable
    }

    /// Whether `count` entries of `bytes` bytes in all, as [`entry_size`] counts
    /// them, find room.
    pub(crate) fn has_room(&self, count: usize, bytes: usize) -> bool {
        let slots = self.memtable.slots.as_slice().len();
        // Counts have 32 bits.
        let counts = self.added.max(self.removed) + count as u64;
        bytes <= self.tail.room()
            && self.used + count <= slots / 5 * 4
            && counts <= u64::from(u32::MAX)
    }

    /// Begins a batch: its entries can be taken back up to this point.
    #[inline]
    pub(crate) fn begin(&mut self) -> Mark {
        self.undo.clear();
        self.mark()
    }

    /// Where `key` is, published or not. `batch` is where the present batch began.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &[u8], batch: Mark) -> Place<'_> {
        let slots = self.memtable.slots.as_slice();
        let bytes = self.tail.bytes();
        let tag = tag(hash);
        let mut at = home(hash, slots.len());
        loop {
            let slot = slots[at].load(Ordering::Relaxed);
            if slot == 0 {
                return Place::Free(at);
            }
            if slot & !PLACE == tag {
                let place = (slot & PLACE) as usize - 1;
                if let Some(entry) = Entry::read(bytes, place)
                    && entry.key == key
                {
                    let hidden = place < batch.len && place >= self.memtable.bytes();
                    return match hidden {
                        true => Place::Hidden(entry),
                        false => Place::Taken(at, entry),
                    };
                }
            }
            at += 1;
            if at == slots.len() {
                at = 0;
            }
        }
    }

    /// Appends an entry for a key that is not here; `slot` is where it can go. The caller
    /// has made sure of room.
    #[inline]
    pub(crate) fn append(&mut self, hash: u64, slot: usize, key: &[u8], record: &[u8]) {
        let place = self.push(key, record);
        self.used += 1;
        self.memtable.slots.as_slice()[slot].store(tag(hash) | (place + 1), Ordering::Release);
    }

    /// Appends another version of a key that is here, in `slot`. The caller has made sure
    /// of room.
    pub(crate) fn replace(&mut self, hash: u64, slot: usize, key: &[u8], record: &[u8]) {
        let place = self.push(key, record);
        let memtable = &*self.memtable;
        let slots = memtable.slots.as_slice();
        let before = slots[slot].load(Ordering::Relaxed);
        self.undo.push(Undo {
            place,
            slot,
            before,
        });
        memtable.replaced.store(true, Ordering::Release);
        if ((before & PLACE) as usize) <= memtable.bytes() {
            memtable.older.as_slice()[slot].store(before & PLACE, Ordering::Release);
        }
        slots[slot].store(tag(hash) | (place + 1), Ordering::Release);
    }

    /// Appends whichever version of a key it is, without a batch.
    pub(crate) fn put(&mut self, hash: u64, key: &[u8], record: &[u8]) {
        let batch = Mark {
            len: 0,
            ..self.mark()
        };
        match self.find(hash, key, batch) {
            Place::Free(slot) => self.append(hash, slot, key, record),
            Place::Taken(slot, _) => self.replace(hash, slot, key, record),
            // Not with a batch that began before everything.
            Place::Hidden(_) => {}
        }
        self.undo.clear();
    }

    #[inline]
    fn push(&mut self, key: &[u8], record: &[u8]) -> u64 {
        let place = self.tail.len() as u64;
        debug_assert!(place < PLACE && key.len() <= usize::from(u16::MAX));
        debug_assert!(record.len() <= usize::from(u8::MAX));
        let [k0, k1] = (key.len() as u16).to_le_bytes();
        self.tail
            .append([&[k0, k1, record.len() as u8], record, key]);
        let head = Head::of(record);
        match (head.replaces(), head.kind()) {
            (None, Some(_)) => self.added += 1,
            (Some(_), None) => self.removed += 1,
            _ => {}
        }
        place
    }

    /// All entries, published or not, in the order of their arrival.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        entries(self.tail.bytes(), 0).map(|(_, entry)| entry)
    }

    /// The entries that were appended since `mark`.
    pub(crate) fn since(&self, mark: Mark) -> impl Iterator<Item = Entry<'_>> {
        entries(self.tail.bytes(), mark.len).map(|(_, entry)| entry)
    }

    /// The entries that were appended when the memtable showed `len` bytes, or since.
    pub(crate) fn since_bytes(&self, len: usize) -> impl Iterator<Item = Entry<'_>> {
        entries(self.tail.bytes(), len).map(|(_, entry)| entry)
    }

    /// The present end.
    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            len: self.tail.len(),
            used: self.used,
            added: self.added,
            removed: self.removed,
        }
    }

    /// Takes back what was appended since `mark`, which [`begin`](Appender::begin) gave,
    /// and not published; `hash` is the function that the entries were appended with.
    pub(crate) fn take_back(&mut self, mark: Mark, hash: impl Fn(&[u8]) -> u64) {
        let added: Vec<(u64, u64)> = entries(self.tail.bytes(), mark.len)
            .map(|(place, entry)| (place as u64, hash(entry.key)))
            .collect();
        let slots = self.memtable.slots.as_slice();
        // Last in, first out: the way to each slot is then still closed.
        for (place, hash) in added.into_iter().rev() {
            if let Some(undo) = self.undo.pop_if(|undo| undo.place == place) {
                slots[undo.slot].store(undo.before, Ordering::Release);
                continue;
            }
            let mut at = home(hash, slots.len());
            while slots[at].load(Ordering::Relaxed) != tag(hash) | (place + 1) {
                at = (at + 1) % slots.len();
            }
            slots[at].store(0, Ordering::Release);
        }
        self.tail.truncate(mark.len);
        self.used = mark.used;
        self.added = mark.added;
        self.removed = mark.removed;
    }
}

impl Mark {
    /// Whether nothing lies between the two.
    pub(crate) fn is_at(&self, other: &Mark) -> bool {
        self.len == other.len
    }
}
