//! Which URLs are in a store: those of the first so many batches of each lane.

use crate::urls;

/// Threads of a writer.
pub(crate) const LANES: usize = 2;
/// URLs in a batch. All are there or none, so that a store always holds a multiple.
pub(crate) const BATCH: u64 = 100;

/// The number of batches of each lane.
pub(crate) type Ends = [u64; LANES];

/// The URLs of one store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence {
    pub(crate) seed: u64,
}

impl Sequence {
    /// Batch `n` of a lane.
    pub(crate) fn batch(self, lane: usize, n: u64) -> Vec<String> {
        let first = (n * LANES as u64 + lane as u64) * BATCH;
        let urls = first..first + BATCH;
        urls.map(|index| urls::url(self.seed, index)).collect()
    }

    /// Some URL of batch `n`, and one that is never inserted and looks alike.
    pub(crate) fn pair(self, lane: usize, n: u64, place: u64) -> (String, String) {
        let index = (n * LANES as u64 + lane as u64) * BATCH + place % BATCH;
        let near_miss = urls::near_miss(self.seed, index);
        (urls::url(self.seed, index), near_miss)
    }
}

pub(crate) fn entries(ends: Ends) -> u64 {
    ends.iter().sum::<u64>() * BATCH
}

/// The position when the first lane stands there: it has one in each batch.
pub(crate) fn position(ends: Ends) -> Option<u64> {
    (ends[0] > 0).then_some(ends[0])
}
