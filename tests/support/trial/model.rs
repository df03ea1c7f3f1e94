//! What was asked of a store, what it answered, and what may be left of it.

use seendb::{Record, State, StateKind, Token};
use std::collections::{BTreeMap, BTreeSet};

pub type Entries = BTreeMap<Vec<u8>, Record>;

/// What a key becomes; `None`: forgotten.
pub type Change = (Vec<u8>, Option<Record>);

/// Of a claim that was answered with an error, and may be on the disk.
pub const UNKNOWN: Token = Token {
    epoch: 0,
    counter: 0,
};

/// An insert or batch.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// New ones, which never change: they tell whether it is there.
    pub keys: Vec<Vec<u8>>,
    /// Other keys: of each, the last change counts.
    pub changes: Vec<Change>,
    /// Keys that have expired before they are recorded.
    pub expired: u64,
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
    /// All that were given.
    tokens: BTreeSet<Token>,
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
        entries(self.accepted())
    }

    /// Keys that were forgotten.
    pub fn gone(&self) -> Vec<Vec<u8>> {
        let entries = self.entries();
        let changes = self.accepted().flat_map(|attempt| &attempt.changes);
        let keys: BTreeSet<_> = changes.map(|(key, _)| key).collect();
        let gone = keys.into_iter().filter(|key| !entries.contains_key(*key));
        gone.cloned().collect()
    }

    /// Whether a store of so many keys is right: those that have expired count until they are
    /// merged away.
    pub fn is_size(&self, len: u64) -> bool {
        let least = self.entries().len() as u64;
        let expired: u64 = self.attempts.iter().map(|attempt| attempt.expired).sum();
        (least..=least + expired).contains(&len)
    }

    /// A key that was planted and has this state now.
    pub fn planted(&self, kind: StateKind) -> Option<(Vec<u8>, Record)> {
        let mut entries = self.entries();
        let changes = self.accepted().flat_map(|attempt| &attempt.changes);
        let mut of_kind = changes.map(|(key, _)| key).filter(|key| {
            let record = entries.get(*key);
            record.is_some_and(|record| record.state.kind() == kind)
        });
        let key = of_kind.next().cloned()?;
        entries.remove_entry(&key)
    }

    /// A token was given for the claims among the changes: never twice.
    pub fn grant(&mut self, given: Token, changes: &mut [Change]) {
        assert!(
            self.tokens.insert(given),
            "the token {given} was given before"
        );
        for (_, record) in changes {
            if let Some(token) = record.as_mut().and_then(token_of) {
                *token = given;
            }
        }
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
            durable += usize::from(place < self.durable);
            kept.push(Attempt {
                accepted: true,
                ..attempt.clone()
            });
        }
        assert_eq!(position, last_position, "the position");
        let changes = kept.iter_mut().flat_map(|attempt| &mut attempt.changes);
        for (key, record) in changes {
            let mut found = found.get(key).cloned();
            let told = found.as_mut().and_then(token_of);
            if let (Some(token), Some(told)) = (record.as_mut().and_then(token_of), told)
                && *token == UNKNOWN
            {
                *token = *told;
            }
        }
        assert!(*found == entries(kept.iter()), "other keys or records");
        self.attempts = kept;
        self.durable = durable;
    }
}

/// What is recorded after these.
fn entries<'a>(attempts: impl Iterator<Item = &'a Attempt>) -> Entries {
    let mut entries = Entries::new();
    for attempt in attempts {
        let new = attempt.keys.iter();
        entries.extend(new.map(|key| (key.clone(), attempt.record.clone())));
        for (key, record) in &attempt.changes {
            match record {
                Some(record) => entries.insert(key.clone(), record.clone()),
                None => entries.remove(key),
            };
        }
    }
    entries
}

fn token_of(record: &mut Record) -> Option<&mut Token> {
    match &mut record.state {
        State::Claimed { token, .. } => Some(token),
        _ => None,
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
