//! What a store should know after any operations: a map, and what the documentation says
//! of each.

use super::super::record::{LATEST, Stored, full, seen_at};
use super::super::sample::{Entries, at};
use seendb::{Outcome, Record, State, StateKind, Token};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// By keys, not URLs. What has expired is in the map until it is sure to be gone.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The time is a batch's own: one before a grant does not say that the clock was ahead.
    pub(super) by_batch: bool,
    pub(super) entries: Entries,
    pub(super) stamps: bool,
    /// The ages in seconds at which records expire: seen, fetched, failed.
    pub(super) expiry: [Option<u64>; 3],
    /// Seconds.
    pub(super) now: u64,
}

/// What a claim should answer.
#[derive(Debug, PartialEq)]
pub(super) enum Claimed {
    Granted {
        until: SystemTime,
        attempts: u32,
        last: Option<Outcome>,
    },
    Held {
        by: String,
        until: SystemTime,
    },
    NotYet(SystemTime),
    Done(Record),
}

/// What becomes of a claim.
#[derive(Debug, Clone)]
pub(super) enum How {
    Fetched(u16, Option<[u8; 16]>),
    /// After so many seconds it may be tried again.
    Failed(String, Option<u64>),
    Release,
    Extend(u64),
}

/// Whole seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    since.as_secs()
}

fn later(from: u64, by: u64) -> u64 {
    from.saturating_add(by).min(LATEST)
}

/// Of a reason, up to 120 bytes are kept.
fn cut(reason: &str) -> String {
    let mut end = reason.len().min(120);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason[..end].into()
}

impl Model {
    fn changed(record: &Record) -> Option<u64> {
        record.changed.map(seconds)
    }

    /// Whether a record counts at a time.
    pub(super) fn counts_at(&self, record: &Record, now: u64) -> bool {
        let [seen, fetched, failed] = self.expiry;
        let age = match record.state.kind() {
            StateKind::Seen => seen,
            StateKind::Fetched => fetched,
            StateKind::Failed => failed,
            // Claims run out instead.
            _ => None,
        };
        let (Some(age), Some(changed)) = (age, Model::changed(record)) else {
            return true;
        };
        now < changed || now - changed < age
    }

    pub(super) fn counts(&self, record: &Record) -> bool {
        self.counts_at(record, self.now)
    }

    /// What is known of a key at a time.
    fn at(&self, key: &[u8], now: u64) -> Stored {
        let known = self.entries.get(key);
        known.filter(|record| self.counts_at(record, now)).cloned()
    }

    pub(super) fn get(&self, key: &[u8]) -> Stored {
        self.at(key, self.now)
    }

    /// What counts, in order.
    pub(super) fn live(&self) -> impl Iterator<Item = (&Vec<u8>, &Record)> {
        self.entries
            .iter()
            .filter(|(_, record)| self.counts(record))
    }

    /// What has expired is gone for sure.
    pub(super) fn purge(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|_, record| self.counts(record));
        self.entries = entries;
    }

    /// Whether a store may have lost the key already, while it counts at `then`.
    pub(super) fn is_in_doubt(&self, key: &[u8], then: u64) -> bool {
        let known = self.entries.get(key);
        known.is_some_and(|record| !self.counts(record) && self.counts_at(record, then))
    }

    /// Whether a key that counts will have expired at `then`: forgotten at that time, it is
    /// gone for good, although it was not there any more.
    pub(super) fn expires_by(&self, key: &[u8], then: u64) -> bool {
        let known = self.entries.get(key);
        known.is_some_and(|record| self.counts(record) && !self.counts_at(record, then))
    }

    pub(super) fn insert(&mut self, key: &[u8], now: u64) -> bool {
        let is_new = self.at(key, now).is_none();
        if is_new {
            let record = seen_at(self.stamps.then_some(now));
            self.entries.insert(key.to_vec(), record);
        }
        is_new
    }

    pub(super) fn forget(&mut self, key: &[u8], now: u64) -> bool {
        let was_there = self.at(key, now).is_some();
        if was_there {
            self.entries.remove(key);
        }
        was_there
    }

    /// The time first seen of a key that changes at `changed`.
    fn first(known: Option<&Record>, changed: u64) -> u64 {
        let first = known.and_then(|record| record.first_seen);
        first.map_or(changed, |first| seconds(first).min(changed))
    }

    pub(super) fn put(&mut self, key: &[u8], state: State, now: u64) -> bool {
        let known = self.at(key, now);
        let (changed, state) = match state {
            State::Fetched { at, .. } => (seconds(at), state),
            State::Failed {
                at: time,
                reason,
                attempts,
                retry_at,
            } => {
                let changed = seconds(time);
                let failed = State::Failed {
                    at: time,
                    reason: cut(&reason),
                    attempts,
                    retry_at: retry_at.map(|retry_at| retry_at.max(time)),
                };
                (changed, failed)
            }
            _ => (now, state),
        };
        let record = if self.stamps {
            full(Model::first(known.as_ref(), changed), changed, state)
        } else {
            seen_at(None)
        };
        self.entries.insert(key.to_vec(), record);
        known.is_none()
    }

    /// Whether a claim would be granted at a time for what is stored.
    pub(super) fn is_due(&self, record: &Record, now: u64) -> bool {
        let since = Model::changed(record).unwrap_or(0);
        !self.counts_at(record, now)
            || match record.state {
                State::Claimed { until, .. } => {
                    !(since <= now || self.by_batch) || seconds(until) <= now
                }
                State::Failed {
                    retry_at: Some(retry_at),
                    ..
                } => (now < since && !self.by_batch) || seconds(retry_at) <= now,
                State::Fetched { .. } | State::Failed { retry_at: None, .. } => false,
                _ => true,
            }
    }

    /// `token` is that of the grant, if it is one.
    pub(super) fn claim(
        &mut self,
        key: &[u8],
        (worker, lease): (&str, u64),
        now: u64,
        token: Option<Token>,
    ) -> Claimed {
        let known = self.at(key, now);
        let (mut before, mut last) = (0, None);
        if let Some(record) = &known {
            let is_due = self.is_due(record, now);
            match &record.state {
                State::Claimed { worker, until, .. } if !is_due => {
                    return Claimed::Held {
                        by: worker.clone(),
                        until: *until,
                    };
                }
                State::Failed {
                    retry_at: Some(retry_at),
                    ..
                } if !is_due => return Claimed::NotYet(*retry_at),
                _ if !is_due => return Claimed::Done(record.clone()),
                State::Claimed {
                    attempts,
                    last: outcome,
                    ..
                } => (before, last) = (*attempts, outcome.clone()),
                State::Failed {
                    at,
                    reason,
                    attempts,
                    ..
                } => {
                    before = *attempts;
                    last = Some(Outcome::Failed {
                        at: *at,
                        reason: reason.clone(),
                    });
                }
                _ => {}
            }
        }
        let attempts = before.saturating_add(1);
        let until = at(later(now, lease));
        if let Some(token) = token {
            let state = State::Claimed {
                worker: worker.into(),
                until,
                token,
                attempts,
                last: last.clone(),
            };
            let record = full(Model::first(known.as_ref(), now), now, state);
            self.entries.insert(key.to_vec(), record);
        }
        Claimed::Granted {
            until,
            attempts,
            last,
        }
    }

    /// When the claim ends then; `None` if it was lost.
    pub(super) fn settle(
        &mut self,
        key: &[u8],
        given: Token,
        how: How,
        now: u64,
    ) -> Option<SystemTime> {
        let mut record = self.at(key, now)?;
        let first = seconds(record.first_seen?);
        let State::Claimed {
            token,
            attempts,
            last,
            until,
            ..
        } = &mut record.state
        else {
            return None;
        };
        if *token != given {
            return None;
        }
        let mut ends = *until;
        let attempts = *attempts;
        let (changed, state) = match how {
            How::Fetched(status, content) => {
                let at = at(now);
                let fetched = State::Fetched {
                    at,
                    status,
                    content,
                };
                (now, fetched)
            }
            How::Failed(reason, after) => {
                let failed = State::Failed {
                    at: at(now),
                    reason: cut(&reason),
                    attempts,
                    retry_at: after.map(|after| at(later(now, after))),
                };
                (now, failed)
            }
            // As it was before the claim.
            How::Release => match last.take() {
                Some(Outcome::Failed { at, reason }) => {
                    let failed = State::Failed {
                        at,
                        reason,
                        attempts: attempts - 1,
                        retry_at: Some(at),
                    };
                    (seconds(at), failed)
                }
                _ => (first, State::Seen),
            },
            How::Extend(by) => {
                *until = at(later(seconds(*until).max(now), by));
                ends = *until;
                (now, record.state)
            }
        };
        let record = full(first.min(changed), changed, state);
        self.entries.insert(key.to_vec(), record);
        Some(ends)
    }

    /// Keys that count, by state.
    pub(super) fn states(&self) -> BTreeMap<StateKind, u64> {
        let mut states = BTreeMap::new();
        for (_, record) in self.live() {
            *states.entry(record.state.kind()).or_default() += 1;
        }
        states
    }
}
