//! One file: what processes read, what is durable, and what lies between.

use super::{Random, SECTOR};
use std::collections::BTreeMap;

/// A moment: changes have the number of changes before them.
pub(super) type Tick = u64;
/// What a sector holds.
pub(super) type Sector = [u8; SECTOR];

/// Blocks are allocated in pages of this size.
const PAGE: usize = 4096;

/// A file's bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    cache: Vec<u8>,
    durable: Vec<u8>,
    /// Whether a page's block is allocated.
    allocated: Vec<bool>,
    /// The states that sectors had since the last sync, oldest first.
    sectors: BTreeMap<usize, Vec<(Tick, Sector)>>,
    /// The lengths since the last sync, oldest first.
    lengths: Vec<(Tick, usize)>,
    /// How many syncs have failed.
    failures: u64,
}

impl Content {
    /// A file that is durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Content {
        Content {
            allocated: vec![true; bytes.len().div_ceil(PAGE)],
            cache: bytes.clone(),
            durable: bytes,
            ..Content::default()
        }
    }

    pub(super) fn cache(&self) -> &[u8] {
        &self.cache
    }

    /// Bytes that are durable, in a file of that length.
    pub(super) fn durable_len(&self) -> usize {
        self.durable.len()
    }

    pub(super) fn sectors(&self) -> &BTreeMap<usize, Vec<(Tick, Sector)>> {
        &self.sectors
    }

    /// Whether what is read is what is on the disk.
    pub(super) fn is_durable(&self) -> bool {
        self.sectors.is_empty() && self.lengths.is_empty() && self.cache == self.durable
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    pub(super) fn lengths(&self) -> &[(Tick, usize)] {
        &self.lengths
    }

    pub(super) fn read(&self, buf: &mut [u8], offset: u64) -> usize {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.cache.get(from..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        for (to, byte) in buf.iter_mut().zip(rest) {
            *to = *byte;
        }
        count
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64, tick: Tick) {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = from.saturating_add(bytes.len());
        if end > self.cache.len() {
            self.cache.resize(end, 0);
            self.lengths.push((tick, end));
        }
        self.allocated
            .resize(self.cache.len().div_ceil(PAGE), false);
        for page in from / PAGE..end.div_ceil(PAGE) {
            if let Some(allocated) = self.allocated.get_mut(page) {
                *allocated = true;
            }
        }
        self.put(bytes, from, tick);
    }

    /// A store through a map. The disk can catch it when its first bytes only are
    /// there.
    pub(super) fn store(
        &mut self,
        bytes: &[u8],
        offset: u64,
        ticks: [Tick; 2],
        random: &mut Random,
    ) {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = from.saturating_add(bytes.len());
        let mut pages = from / PAGE..end.div_ceil(PAGE);
        assert!(
            pages.all(|page| self.allocated.get(page) == Some(&true)),
            "a store to a map where no block is allocated: {from}..{end}"
        );
        let (first, _) = bytes.split_at(random.below(bytes.len() + 1));
        self.put(first, from, ticks[0]);
        self.put(bytes, from, ticks[1]);
    }

    /// Changes bytes that are within the file.
    fn put(&mut self, bytes: &[u8], from: usize, tick: Tick) {
        if bytes.is_empty() {
            return;
        }
        let end = from + bytes.len();
        if let Some(room) = self.cache.get_mut(from..end) {
            room.copy_from_slice(bytes);
        }
        // A sync that failed left the file short: bytes behind its end take it with
        // them when they get to the disk.
        if self.lengths.is_empty() && end > self.durable.len() {
            self.lengths.push((tick, self.cache.len()));
        }
        self.dirty(from, end, tick);
    }

    /// Notes the state of the sectors from `from` to `end`.
    fn dirty(&mut self, from: usize, end: usize, tick: Tick) {
        for number in from / SECTOR..end.div_ceil(SECTOR) {
            let state = sector(&self.cache, number);
            let states = self.sectors.entry(number).or_default();
            let before = states
                .last()
                .map_or_else(|| sector(&self.durable, number), |(_, state)| *state);
            // Zeros over what reads as zeros change nothing that could be told.
            if before != state {
                states.push((tick, state));
            }
        }
    }

    pub(super) fn set_len(&mut self, len: u64, tick: Tick) {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let before = self.cache.len();
        if len == before {
            return;
        }
        self.cache.resize(len, 0);
        self.allocated.resize(len.div_ceil(PAGE), false);
        self.lengths.push((tick, len));
        // What is cut off is gone, also if the file grows again.
        if len < before {
            self.dirty(len, before, tick);
        }
    }

    /// Everything dirty becomes durable.
    pub(super) fn sync(&mut self) {
        let length = self.lengths.len();
        self.settle(length, |_, states| states.len());
    }

    /// A sync that failed: what it wrote is anybody's guess, and the rest is lost.
    pub(super) fn lose(&mut self, random: &mut Random) {
        self.failures += 1;
        let length = random.below(self.lengths.len() + 1);
        self.settle(length, |_, states| random.below(states.len() + 1));
    }

    fn settle(&mut self, length: usize, choose: impl FnMut(usize, &[(Tick, Sector)]) -> usize) {
        self.durable = self.surviving(length, choose);
        self.sectors.clear();
        self.lengths.clear();
    }

    /// What is on the disk if of each sector the state survives that `choose` says, 0
    /// for the durable one, and of the lengths likewise the one of that number.
    pub(super) fn surviving(
        &self,
        length: usize,
        mut choose: impl FnMut(usize, &[(Tick, Sector)]) -> usize,
    ) -> Vec<u8> {
        let length = nth(&self.lengths, length).map_or(self.durable.len(), |&(_, len)| len);
        let mut bytes = self.durable.clone();
        bytes.resize(length, 0);
        for (&number, states) in &self.sectors {
            if let Some((_, state)) = nth(states, choose(number, states)) {
                put_sector(&mut bytes, number, state);
            }
        }
        bytes
    }

    /// Clean pages leave the cache.
    pub(super) fn evict(&mut self) {
        if self.sectors.is_empty() && self.lengths.is_empty() {
            // The length is the inode's, which stays.
            let length = self.cache.len();
            self.cache.clone_from(&self.durable);
            self.cache.resize(length, 0);
        }
    }
}

/// The state of a choice: 0 for none of them.
pub(super) fn nth<T>(states: &[T], choice: usize) -> Option<&T> {
    choice.checked_sub(1).and_then(|at| states.get(at))
}

/// A sector of a file; what is behind the file's end is zero.
pub(super) fn sector(bytes: &[u8], number: usize) -> Sector {
    let mut state = [0; SECTOR];
    let rest = bytes.get(number * SECTOR..).unwrap_or_default();
    for (to, byte) in state.iter_mut().zip(rest) {
        *to = *byte;
    }
    state
}

/// Puts a sector where the bytes reach.
pub(super) fn put_sector(bytes: &mut [u8], number: usize, state: &Sector) {
    let rest = bytes.get_mut(number * SECTOR..).unwrap_or_default();
    for (to, byte) in rest.iter_mut().zip(state) {
        *to = *byte;
    }
}
