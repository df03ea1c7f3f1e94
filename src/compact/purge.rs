//! What a flush or merge may leave out.

use crate::filter;
use crate::record::{Expiry, StateKind, Stored};
use crate::segment::Segment;
use std::sync::Arc;

/// The runs below those that are written: what they may hold must stay forgotten.
#[derive(Debug, Clone, Default)]
pub(crate) struct Older {
    /// In each, segments in the order of keys.
    runs: Vec<Vec<Arc<Segment>>>,
    seed: u64,
}

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    /// It is left out.
    Dropped,
    /// A tombstone takes its place, as an older run may hold its key.
    Buried,
}

/// An entry that a merge left out, or put a tombstone in its place, because it expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) key: Vec<u8>,
    pub(crate) kind: StateKind,
}

/// The rule by which a merge leaves entries out.
#[derive(Debug, Clone)]
pub(crate) struct Purge {
    pub(crate) older: Older,
    pub(crate) expiry: Expiry,
    /// The time by which records expire.
    pub(crate) now: u64,
}

impl Older {
    pub(crate) fn new(runs: Vec<Vec<Arc<Segment>>>, seed: u64) -> Older {
        Older { runs, seed }
    }

    /// Whether an older run may hold `key`.
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        let hash = filter::hash(self.seed, key);
        self.runs.iter().any(|segments| {
            let at = segments.partition_point(|s| s.meta().last.as_slice() < key);
            let segment = segments.get(at);
            segment.is_some_and(|s| s.covers(key) && s.filter().may_contain(hash))
        })
    }

    /// What becomes of an entry: only a tombstone can go.
    pub(crate) fn fate(&self, key: &[u8], stored: &Stored) -> Fate {
        match stored {
            Stored::Forgotten if self.may_hold(key) => Fate::Kept,
            Stored::Forgotten => Fate::Dropped,
            _ => Fate::Kept,
        }
    }
}

impl Purge {
    /// What becomes of an entry, and whether that is because it expired.
    pub(crate) fn fate(&self, key: &[u8], stored: &Stored) -> (Fate, bool) {
        if self.expiry.is_never() || !self.expiry.has_expired(stored, self.now) {
            return (self.older.fate(key, stored), false);
        }
        match self.older.may_hold(key) {
            true => (Fate::Buried, true),
            false => (Fate::Dropped, true),
        }
    }
}
