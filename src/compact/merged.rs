//! Several ordered sources as one.

use crate::error::{Error, Result};
use crate::record::Stored;

/// Entries in the order of their keys.
pub(crate) trait Source {
    /// Moves to the next entry; false at the end. Starts before the first.
    fn advance(&mut self) -> Result<bool>;
    /// The present entry's key.
    fn key(&self) -> &[u8];
    /// The present entry's record.
    fn record(&self) -> Stored;
}

/// The entries of several sources in the order of their keys. Where two have the
/// same key, the earlier source, which is the newer one, wins.
///
/// An error of a source ends it for good: entries are never passed over.
#[derive(Debug)]
pub(crate) struct Merged<S> {
    sources: Vec<S>,
    /// A binary heap of indices of sources that have an entry, least first.
    heap: Vec<usize>,
    started: bool,
    failed: Option<Error>,
}

impl<S: Source> Merged<S> {
    /// `sources` from the newest to the oldest.
    pub(crate) fn new(sources: Vec<S>) -> Self {
        Merged {
            heap: Vec::with_capacity(sources.len()),
            sources,
            started: false,
            failed: None,
        }
    }

    /// Moves to the next key; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let moved = self.step();
        if let Err(error) = &moved {
            self.failed = Some(error.clone());
        }
        moved
    }

    fn step(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            for index in 0..self.sources.len() {
                if self.sources[index].advance()? {
                    self.heap.push(index);
                }
            }
            for at in (0..self.heap.len() / 2).rev() {
                self.sift_down(at);
            }
            return Ok(!self.heap.is_empty());
        }
        let Some(&top) = self.heap.first() else {
            return Ok(false);
        };
        // Older sources that have the same key lose it.
        while let Some(same) = self.older_with_same_key(top) {
            self.advance_at(same)?;
        }
        self.advance_at(0)?;
        Ok(!self.heap.is_empty())
    }

    /// The place in the heap of another source at the same key, if there is one:
    /// it can only be right below the top.
    fn older_with_same_key(&self, top: usize) -> Option<usize> {
        let key = self.sources[top].key();
        [1, 2].into_iter().find(|&at| {
            self.heap
                .get(at)
                .is_some_and(|&source| self.sources[source].key() == key)
        })
    }

    fn advance_at(&mut self, at: usize) -> Result<()> {
        if !self.sources[self.heap[at]].advance()? {
            self.heap.swap_remove(at);
        }
        // The new key is larger than the old one was, and what `swap_remove` puts
        // here comes from below: both can only sink.
        self.sift_down(at);
        Ok(())
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn before(&self, a: usize, b: usize) -> bool {
        self.sources[a]
            .key()
            .cmp(self.sources[b].key())
            .then(a.cmp(&b))
            .is_lt()
    }

    /// The present key. Empty before the first and behind the last.
    pub(crate) fn key(&self) -> &[u8] {
        self.heap
            .first()
            .map_or(&[], |&top| self.sources[top].key())
    }

    /// The present record.
    pub(crate) fn record(&self) -> Stored {
        self.heap
            .first()
            .map_or(Stored::Seen(None), |&top| self.sources[top].record())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    struct Listed {
        entries: Vec<(Vec<u8>, u64)>,
        next: usize,
        fails_at: Option<usize>,
    }

    impl Source for Listed {
        fn advance(&mut self) -> Result<bool> {
            if self.fails_at == Some(self.next) {
                return Err(Error::corrupt("x".as_ref(), 0, "a", "b"));
            }
            self.next += 1;
            Ok(self.next <= self.entries.len())
        }
        fn key(&self) -> &[u8] {
            &self.entries[self.next - 1].0
        }
        fn record(&self) -> Stored {
            Stored::Seen(Some(self.entries[self.next - 1].1))
        }
    }

    proptest! {
        #[test]
        fn the_newest_of_equal_keys_wins(maps in proptest::collection::vec(
            proptest::collection::btree_map(0u8..20, any::<u32>(), 0..15), 0..9)
        ) {
            let mut expected = BTreeMap::new();
            for map in maps.iter().rev() {
                for (key, value) in map {
                    expected.insert(vec![*key], u64::from(*value));
                }
            }
            let sources = maps.into_iter().map(|map| Listed {
                entries: map.into_iter().map(|(k, v)| (vec![k], u64::from(v))).collect(),
                next: 0,
                fails_at: None,
            }).collect();
            let mut merged = Merged::new(sources);
            let mut found = BTreeMap::new();
            let mut last = None;
            while merged.advance().unwrap() {
                let key = merged.key().to_vec();
                prop_assert!(last.as_ref() < Some(&key));
                last = Some(key.clone());
                found.insert(key, merged.record().first().unwrap());
            }
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn an_error_ends_it_for_good() {
        let list = |fails_at| Listed {
            entries: (0u8..9).map(|k| (vec![k], 0)).collect(),
            next: 0,
            fails_at,
        };
        let mut merged = Merged::new(vec![list(None), list(Some(4))]);
        let mut count = 0;
        while merged.advance().is_ok_and(|more| more) {
            count += 1;
        }
        assert!(count <= 5);
        assert!(merged.advance().is_err());
        assert!(merged.advance().is_err());
    }
}
