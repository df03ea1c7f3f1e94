//! A record as it is stored: in memtables, logs and segments.

use super::state::{Outcome, Record, State, StateKind};
use super::time_of;
use super::token::Token;

/// What is stored for a key. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Seen, at a time that may not be known.
    Seen(Option<u64>),
    /// A tombstone: older versions do not count.
    Forgotten,
    /// Anything that says more.
    Full(Box<Details>),
}

/// A record that says more than when its key was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Details {
    pub(crate) first: u64,
    /// Not before `first`.
    pub(crate) changed: u64,
    pub(crate) detail: Detail,
}

/// What became of a key at the time when it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Detail {
    Seen,
    Claimed {
        /// Not before the time of the change.
        until: u64,
        token: Token,
        attempts: u32,
        worker: Box<str>,
        last: Option<Last>,
    },
    Fetched {
        status: u16,
        content: Option<[u8; 16]>,
    },
    Failed {
        attempts: u32,
        /// Not before the time of the change.
        retry_at: Option<u64>,
        reason: Box<str>,
    },
}

/// What the attempt before came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Last {
    Fetched {
        at: u64,
        status: u16,
        content: Option<[u8; 16]>,
    },
    Failed {
        at: u64,
        reason: Box<str>,
    },
}

impl Stored {
    /// The state; `None` of a tombstone.
    #[inline]
    pub(crate) fn kind(&self) -> Option<StateKind> {
        match self {
            Stored::Seen(_) => Some(StateKind::Seen),
            Stored::Forgotten => None,
            Stored::Full(details) => Some(details.detail.kind()),
        }
    }

    /// When the key was first seen.
    pub(crate) fn first(&self) -> Option<u64> {
        match self {
            Stored::Seen(at) => *at,
            Stored::Forgotten => None,
            Stored::Full(details) => Some(details.first),
        }
    }

    /// When that changed last.
    pub(crate) fn changed(&self) -> Option<u64> {
        match self {
            Stored::Full(details) => Some(details.changed),
            other => other.first(),
        }
    }

    /// The token of the claim that it is, if it is one.
    pub(crate) fn token(&self) -> Option<Token> {
        match self {
            Stored::Full(details) => match details.detail {
                Detail::Claimed { token, .. } => Some(token),
                _ => None,
            },
            _ => None,
        }
    }

    /// The record; `None` of a tombstone.
    pub(crate) fn record(self) -> Option<Record> {
        match self {
            Stored::Forgotten => None,
            Stored::Seen(at) => {
                let at = at.map(time_of);
                Some(Record {
                    first_seen: at,
                    changed: at,
                    state: State::Seen,
                })
            }
            Stored::Full(details) => Some(Record {
                first_seen: Some(time_of(details.first)),
                changed: Some(time_of(details.changed)),
                state: details.detail.state(details.changed),
            }),
        }
    }
}

impl Detail {
    pub(crate) fn kind(&self) -> StateKind {
        match self {
            Detail::Seen => StateKind::Seen,
            Detail::Claimed { .. } => StateKind::Claimed,
            Detail::Fetched { .. } => StateKind::Fetched,
            Detail::Failed { .. } => StateKind::Failed,
        }
    }

    fn state(self, changed: u64) -> State {
        match self {
            Detail::Seen => State::Seen,
            Detail::Claimed {
                until,
                token,
                attempts,
                worker,
                last,
            } => State::Claimed {
                worker: worker.into(),
                until: time_of(until),
                token,
                attempts,
                last: last.map(Last::outcome),
            },
            Detail::Fetched { status, content } => State::Fetched {
                at: time_of(changed),
                status,
                content,
            },
            Detail::Failed {
                attempts,
                retry_at,
                reason,
            } => State::Failed {
                at: time_of(changed),
                reason: reason.into(),
                attempts,
                retry_at: retry_at.map(time_of),
            },
        }
    }
}

impl Last {
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Last::Fetched {
                at,
                status,
                content,
            } => Outcome::Fetched {
                at: time_of(at),
                status,
                content,
            },
            Last::Failed { at, reason } => Outcome::Failed {
                at: time_of(at),
                reason: reason.into(),
            },
        }
    }
}
