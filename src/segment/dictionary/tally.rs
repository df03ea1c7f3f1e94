//! Counts of what a sample was coded with.
// No index comes from a file.
#![allow(clippy::indexing_slicing)]

/// What a use counts.
const USE: u32 = 4;
/// What it counts if the one before it was in the same part of the sample.
const AGAIN: u32 = 1;
/// The least that two uses count.
pub(super) const TWICE: u32 = USE + AGAIN;
/// The logarithm of the size of a part.
const PART_BITS: u32 = 12;

/// How much something is used: neighbours in a sample are alike, and what only they have in
/// common is of little use elsewhere, so uses close to each other count less.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    uses: u32,
    /// The part of the last use, counted from one.
    part: u32,
}

impl Tally {
    pub(super) fn uses(self) -> u32 {
        self.uses
    }

    /// Counts a use in a string that begins at `offset` of the sample.
    #[inline]
    pub(super) fn count(&mut self, offset: usize) {
        let part = (offset >> PART_BITS) as u32 + 1;
        let again = self.part == part;
        self.uses = self.uses.saturating_add(if again { AGAIN } else { USE });
        self.part = part;
    }
}

/// Tallies of pairs of codes: a table with open addressing.
#[derive(Debug)]
pub(super) struct Pairs {
    /// A pair's first code is in the upper half; no uses are no pair.
    places: Vec<(u32, Tally)>,
    used: usize,
}

impl Pairs {
    pub(super) fn new() -> Pairs {
        Pairs {
            places: vec![Default::default(); 1 << 12],
            used: 0,
        }
    }

    #[inline]
    pub(super) fn count(&mut self, first: u16, second: u16, offset: usize) {
        let pair = u32::from(first) << 16 | u32::from(second);
        let place = Pairs::place(&self.places, pair);
        let (found, tally) = &mut self.places[place];
        *found = pair;
        let is_new = tally.uses == 0;
        tally.count(offset);
        if is_new {
            self.used += 1;
            if self.used * 2 > self.places.len() {
                self.grow();
            }
        }
    }

    /// Where a pair is, or where it would be.
    #[inline]
    fn place(places: &[(u32, Tally)], pair: u32) -> usize {
        // A Fibonacci hash: the upper bits of the product are the mixed ones.
        let hash = u64::from(pair).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (hash >> (64 - places.len().trailing_zeros())) as usize;
        while places[place].1.uses != 0 && places[place].0 != pair {
            place = (place + 1) & (places.len() - 1);
        }
        place
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = vec![Default::default(); self.places.len() * 4];
        for &(pair, tally) in self.places.iter().filter(|(_, tally)| tally.uses != 0) {
            let place = Pairs::place(&places, pair);
            places[place] = (pair, tally);
        }
        self.places = places;
    }

    /// The pairs and their uses, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, u16, u32)> {
        let used = self.places.iter().filter(|(_, tally)| tally.uses != 0);
        used.map(|&(pair, tally)| ((pair >> 16) as u16, pair as u16, tally.uses))
    }
}
