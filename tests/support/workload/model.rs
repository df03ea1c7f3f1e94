//! What a user was told, and so what must be there.

use super::Setting;
use super::steps::How;
use crate::support::at;
use seendb::{Record, Seen, State, Token};
use std::collections::{BTreeMap, BTreeSet};

/// How long a claim lasts, in seconds.
pub const LEASE: u64 = 500;

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub first: u64,
    pub changed: u64,
    pub state: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Seen,
    Claimed {
        until: u64,
        attempts: u32,
        /// When the attempt before failed.
        last: Option<u64>,
        /// `None` if the answer that had it never came.
        token: Option<Token>,
    },
    Fetched(u16),
    Failed {
        attempts: u32,
        retry_at: Option<u64>,
    },
}

/// The keys that an operation changed, with what is known of them then; `None` is nothing.
pub type Effects = Vec<(Vec<u8>, Option<Known>)>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    pub effects: Effects,
    pub position: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    /// What was accepted, in order.
    pub accepted: Vec<Accepted>,
    /// What all that comes to.
    pub state: BTreeMap<Vec<u8>, Known>,
    /// How many of them a power cut must leave.
    pub durable: usize,
    /// What was under way when the power went.
    pub pending: Option<Accepted>,
    /// The largest position that was called durable.
    pub durable_position: Option<u64>,
    /// Tokens that were ever given.
    pub tokens: BTreeSet<Token>,
}

impl Known {
    /// A key that is inserted.
    pub fn seen(now: u64) -> Known {
        Known {
            first: now,
            changed: now,
            state: What::Seen,
        }
    }

    /// Whether it counts no longer.
    pub fn has_expired(&self, setting: Setting, now: u64) -> bool {
        let expires = !matches!(self.state, What::Claimed { .. });
        let age = now.checked_sub(self.changed);
        expires && setting.expiry.is_some_and(|after| age >= Some(after))
    }

    /// What a claim makes of it, if it is granted.
    pub fn claimed(live: Option<&Known>, now: u64) -> Option<Known> {
        let (attempts, last) = match live.map(|known| &known.state) {
            None | Some(What::Seen) => (0, None),
            Some(What::Claimed {
                until,
                attempts,
                last,
                ..
            }) if *until <= now => (*attempts, *last),
            Some(What::Failed {
                attempts,
                retry_at: Some(retry_at),
            }) if *retry_at <= now => (*attempts, live.map(|known| known.changed)),
            Some(_) => return None,
        };
        Some(Known {
            first: live.map_or(now, |known| known.first),
            changed: now,
            state: What::Claimed {
                until: now + LEASE,
                attempts: attempts + 1,
                last,
                token: None,
            },
        })
    }

    /// What settling makes of it; `None` if it is not claimed.
    pub fn settled(&self, how: How, now: u64) -> Option<Known> {
        let What::Claimed {
            until,
            attempts,
            last,
            token,
        } = self.state
        else {
            return None;
        };
        let mut changed = now;
        let state = match (how, last) {
            (How::Fetched(status), _) => What::Fetched(status),
            (How::Failed(after), _) => What::Failed {
                attempts,
                retry_at: after.map(|after| now + after),
            },
            (How::Extend(by), _) => What::Claimed {
                until: until.max(now) + by,
                attempts,
                last,
                token,
            },
            (How::Release, None) => {
                changed = self.first;
                What::Seen
            }
            (How::Release, Some(failed)) => {
                changed = failed;
                What::Failed {
                    attempts: attempts - 1,
                    retry_at: Some(failed),
                }
            }
        };
        Some(Known {
            first: self.first,
            changed,
            state,
        })
    }

    /// Whether a record says this. Of a token, nothing is asked here.
    pub fn is(&self, record: &Record, setting: Setting) -> bool {
        let time = |seconds| setting.stamps.then(|| at(seconds));
        let state = match (&self.state, &record.state) {
            (What::Seen, State::Seen) => true,
            (
                What::Claimed {
                    until,
                    attempts,
                    last,
                    ..
                },
                State::Claimed {
                    until: there,
                    attempts: tried,
                    last: before,
                    worker,
                    ..
                },
            ) => {
                (at(*until), attempts) == (*there, tried)
                    && last.is_some() == before.is_some()
                    && worker == "me"
            }
            (What::Fetched(status), State::Fetched { status: there, .. }) => status == there,
            (
                What::Failed { attempts, retry_at },
                State::Failed {
                    attempts: tried,
                    retry_at: there,
                    ..
                },
            ) => (attempts, retry_at.map(at)) == (tried, *there),
            _ => false,
        };
        state && record.first_seen == time(self.first) && record.changed == time(self.changed)
    }
}

impl Model {
    /// What counts for a key.
    pub fn live(&self, key: &[u8], setting: Setting, now: u64) -> Option<&Known> {
        let known = self.state.get(key)?;
        (!known.has_expired(setting, now)).then_some(known)
    }

    /// The number of accepted operations that the store holds at `now`: a prefix of them,
    /// and perhaps of what was under way. `all`: nothing may be missing.
    pub fn check(
        &self,
        seen: &Seen,
        setting: Setting,
        now: u64,
        all: bool,
    ) -> Result<usize, String> {
        let text = |error: seendb::Error| error.to_string();
        let mut found = BTreeMap::new();
        for entry in seen.scan("").map_err(text)? {
            let (key, record) = entry.map_err(text)?;
            let asked = seen.get(seen.key(&key).map_err(text)?).map_err(text)?;
            if asked.as_ref() != Some(&record) {
                return Err(format!("get finds {asked:?}, a scan {record:?}"));
            }
            found.insert(key, record);
        }
        let mut expected: BTreeMap<&[u8], &Known> = BTreeMap::new();
        let mut wrong: BTreeSet<&[u8]> = found.keys().map(Vec::as_slice).collect();
        let (mut position, mut matching) = (None, None);
        let operations = self.accepted.iter().chain(&self.pending);
        let nothing = Accepted::default();
        for (number, one) in std::iter::once(&nothing).chain(operations).enumerate() {
            position = one.position.or(position);
            for (key, known) in &one.effects {
                match known {
                    Some(known) => expected.insert(key, known),
                    None => expected.remove(key.as_slice()),
                };
                let counts = expected.get(key.as_slice());
                let counts = counts.filter(|known| !known.has_expired(setting, now));
                let is_right = match (counts, found.get(key)) {
                    (Some(known), Some(record)) => known.is(record, setting),
                    (None, None) => true,
                    _ => false,
                };
                match is_right {
                    true => wrong.remove(key.as_slice()),
                    false => wrong.insert(key),
                };
            }
            // What has expired may count still, or not.
            let expired = expected.len() - found.len().min(expected.len());
            let lengths = found.len() as u64..=(found.len() + expired) as u64;
            let is_right = lengths.contains(&seen.len()) && seen.position() == position;
            if wrong.is_empty() && is_right {
                matching = Some(number);
            }
        }
        let least = if all {
            self.accepted.len()
        } else {
            self.durable
        };
        match matching {
            Some(number) if number >= least => {}
            _ => {
                let first = wrong.first().map(|key| {
                    let (known, record) = (expected.get(key), found.get(*key));
                    format!("{}: {known:?}, {record:?}", key.escape_ascii())
                });
                return Err(format!(
                    "{} keys, len() {}, and position {:?}, are no prefix of the {} operations \
                     accepted (pending: {}) with the {least} that must be there: {matching:?}; \
                     {first:?}",
                    found.len(),
                    seen.len(),
                    seen.position(),
                    self.accepted.len(),
                    self.pending.is_some(),
                ));
            }
        }
        if seen.position() < self.durable_position {
            return Err(format!(
                "the position is {:?}, and {:?} was called durable",
                seen.position(),
                self.durable_position
            ));
        }
        Ok(matching.unwrap_or_default())
    }

    /// What was under way was accepted.
    pub fn accept(&mut self) {
        if let Some(accepted) = self.pending.take() {
            apply(&mut self.state, &accepted.effects);
            self.accepted.push(accepted);
        }
    }

    /// What is known once a store was found to hold `count` operations.
    pub fn settle(&mut self, seen: &Seen, count: usize) -> Result<(), String> {
        self.accepted.extend(self.pending.take());
        self.accepted.truncate(count);
        self.durable = self.durable.min(count);
        // Tokens that nobody was told.
        for accepted in &mut self.accepted {
            for (key, known) in &mut accepted.effects {
                if let Some(Known {
                    state: What::Claimed { token, .. },
                    ..
                }) = known
                    && token.is_none()
                    && let Some(State::Claimed { token: there, .. }) = seen
                        .get(seen.key(&*key).map_err(|e| e.to_string())?)
                        .map_err(|e| e.to_string())?
                        .map(|record| record.state)
                {
                    *token = Some(there);
                }
            }
        }
        self.state.clear();
        for accepted in &self.accepted {
            apply(&mut self.state, &accepted.effects);
        }
        Ok(())
    }
}

fn apply(state: &mut BTreeMap<Vec<u8>, Known>, effects: &Effects) {
    for (key, known) in effects {
        match known {
            Some(known) => state.insert(key.clone(), known.clone()),
            None => state.remove(key),
        };
    }
}
