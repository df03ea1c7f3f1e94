//! What was asked of a store, what it answered, and what may be left of it.

use seendb::Record;
use std::collections::BTreeMap;

pub type Entries = BTreeMap<Vec<u8>, Record>;

/// An insert or batch, all of whose keys were new.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub keys: Vec<Vec<u8>>,
    pub position: Option<u64>,
    pub record: Record,
    /// Whether the store said that it is recorded. Else it answered an error.
    pub accepted: bool,
}

/// What must be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// All that was accepted.
    Accepted,
    /// What was accepted up to some moment, and all that was called durable.
    Durable,
}

/// Attempts in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub struct Model {
    attempts: Vec<Attempt>,
    /// Those before this one were called durable, as far as they were accepted.
    durable: usize,
}

impl Model {
    pub fn add(&mut self, attempt: Attempt) {
        self.attempts.push(attempt);
    }

    /// Everything accepted so far was called durable.
    pub fn all_durable(&mut self) {
        self.durable = self.attempts.len();
    }

    /// The batch with this position was called durable.
    pub fn durable_position(&mut self, position: Option<u64>) {
        let carries = |attempt: &Attempt| attempt.accepted && attempt.position == position;
        if position.is_some() {
            let place = self.attempts.iter().rposition(carries);
            let place = place.expect("a durable position that no accepted batch had");
            self.durable = self.durable.max(place + 1);
        }
    }

    fn accepted(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| attempt.accepted)
    }

    /// What is recorded.
    pub fn entries(&self) -> Entries {
        self.accepted()
            .flat_map(|attempt| attempt.keys.iter().map(|key| (key.clone(), attempt.record)))
            .collect()
    }

    /// A key of the last attempt that was accepted.
    pub fn last_key(&self) -> Option<Vec<u8>> {
        self.accepted().last()?.keys.first().cloned()
    }

    /// The last position.
    pub fn position(&self) -> Option<u64> {
        self.accepted()
            .filter_map(|attempt| attempt.position)
            .last()
    }

    /// The keys of attempts that failed.
    pub fn failed(&self) -> Vec<Vec<u8>> {
        let failed = self.attempts.iter().filter(|attempt| !attempt.accepted);
        failed.flat_map(|attempt| attempt.keys.clone()).collect()
    }

    /// Forgets attempts that failed, for them to be made again.
    pub fn forget_failed(&mut self) {
        let (before, after) = self.attempts.split_at(self.durable);
        self.durable = before.iter().filter(|attempt| attempt.accepted).count();
        self.attempts = [before, after]
            .concat()
            .into_iter()
            .filter(|attempt| attempt.accepted)
            .collect();
    }

    /// Checks what a new handle knows. From then on that is what was accepted.
    pub fn settle(&mut self, found: &Entries, position: Option<u64>, left: Left) {
        let mut gone: Option<&Attempt> = None;
        let mut last_position = None;
        let mut count = 0;
        let mut kept = Vec::new();
        let mut durable = 0;
        for (place, attempt) in self.attempts.iter().enumerate() {
            let there = attempt.keys.iter().filter_map(|key| found.get(key));
            let there: Vec<&Record> = there.collect();
            assert!(
                there.is_empty() || there.len() == attempt.keys.len(),
                "a part of an attempt is there: {}",
                attempt.name()
            );
            if there.is_empty() {
                let needed = match left {
                    Left::Accepted => attempt.accepted,
                    Left::Durable => attempt.accepted && place < self.durable,
                };
                assert!(!needed, "lost: {}", attempt.name());
                gone = gone.or(attempt.accepted.then_some(attempt));
                continue;
            }
            if let Some(gone) = gone {
                panic!("{} is there without {}", attempt.name(), gone.name());
            }
            assert!(
                there.iter().all(|record| **record == attempt.record),
                "another record than was given: {} {there:?}",
                attempt.name()
            );
            last_position = attempt.position.or(last_position);
            count += there.len();
            durable += usize::from(place < self.durable);
            kept.push(Attempt {
                accepted: true,
                ..attempt.clone()
            });
        }
        assert_eq!(found.len(), count, "keys that nobody inserted");
        assert_eq!(position, last_position, "the position");
        self.attempts = kept;
        self.durable = durable;
    }
}

impl Attempt {
    fn name(&self) -> String {
        let first = self.keys.first().map_or_else(String::new, |key| {
            String::from_utf8_lossy(key.get(..24).unwrap_or(key)).into_owned()
        });
        let Attempt {
            position, accepted, ..
        } = self;
        format!("{first}.. (position {position:?}, accepted: {accepted})")
    }
}
