//! What an operation makes of what is known of its key: a pure function, so that the
//! log's order alone decides who is granted what.

use crate::record::{Detail, Details, Expiry, Last, MAX_SECONDS, StateKind, Stored, Token};
use std::sync::Arc;

/// An operation on one key.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Insert,
    Claim {
        worker: Arc<str>,
        /// Seconds.
        lease: u64,
    },
    /// Something that only the holder of a claim may do.
    Settle {
        token: Token,
        how: Settle,
    },
    /// Sets the state, whatever it was. Of a plain `Seen` too, only the time counts.
    Put {
        at: Option<u64>,
        detail: Detail,
    },
    Forget,
}

/// What becomes of a claim.
#[derive(Debug, Clone)]
pub(super) enum Settle {
    Fetched {
        status: u16,
        content: Option<[u8; 16]>,
    },
    Failed {
        reason: Box<str>,
        /// Seconds; `None`: it is not to be tried again.
        retry_after: Option<u64>,
    },
    Release,
    Extend {
        by: u64,
    },
}

/// What decisions depend on beside the key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Seconds since 1970.
    pub(super) now: u64,
    /// The same, or the next second if that has begun: leases and waits count from here.
    pub(super) ceiling: u64,
    /// It is the clock's, not a batch's own.
    pub(super) is_clock: bool,
    pub(super) expiry: Expiry,
    pub(super) stamps: bool,
}

impl Op {
    /// Bytes that its record can take beside those of a plain one.
    pub(super) fn extra(&self) -> usize {
        match self {
            Op::Insert | Op::Forget => 0,
            // What a claim keeps of the time before counts too.
            Op::Claim { .. } => usize::from(u8::MAX),
            Op::Settle { how, .. } => match how {
                Settle::Fetched { .. } => DETAIL,
                Settle::Failed { reason, .. } => DETAIL + reason.len(),
                Settle::Release | Settle::Extend { .. } => usize::from(u8::MAX),
            },
            Op::Put { detail, .. } => match detail {
                Detail::Failed { reason, .. } => DETAIL + reason.len(),
                _ => DETAIL,
            },
        }
    }
}

/// More than the numbers and the hash of a record take.
const DETAIL: usize = 48;

/// What an operation is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Whether the key is new.
    Inserted(bool),
    Granted(Grant),
    Held {
        by: Box<str>,
        until: u64,
    },
    NotYet {
        retry_at: u64,
    },
    Done(Stored),
    /// When the claim ends now, if it goes on.
    Settled {
        until: Option<u64>,
    },
    /// Whether the key was there.
    Forgotten(bool),
}

/// A claim that was granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) token: Token,
    pub(super) until: u64,
    pub(super) attempts: u32,
    pub(super) last: Option<Last>,
}

/// Why a claim cannot be settled: what is known of the key instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lost(pub(super) String);

/// The answer, and what is to be stored, if anything. `current` is what is stored, be it
/// expired or not; `token` gives the token of a grant.
pub(super) fn decide(
    op: &Op,
    current: Option<&Stored>,
    terms: &Terms,
    token: &mut dyn FnMut() -> Token,
) -> Result<(Answer, Option<Stored>), Lost> {
    let now = terms.now;
    let live = current.filter(|stored| terms.expiry.is_live(stored, || now));
    Ok(match op {
        Op::Insert => match live {
            Some(_) => (Answer::Inserted(false), None),
            None => (Answer::Inserted(true), Some(terms.plain())),
        },
        // What has expired too: it must not come back when expiry is set otherwise.
        Op::Forget => match current {
            Some(Stored::Forgotten) | None => (Answer::Forgotten(false), None),
            Some(_) => {
                let forgotten = Answer::Forgotten(live.is_some());
                (forgotten, Some(Stored::Forgotten))
            }
        },
        Op::Put { at, detail } => {
            let answer = Answer::Inserted(live.is_none());
            (answer, Some(terms.put(live, *at, detail)))
        }
        Op::Claim { worker, lease } => claim(live, worker, *lease, terms, token),
        Op::Settle { token, how } => settle(live, *token, how, terms)?,
    })
}

/// Whether [`Op::Claim`] would be granted: what `due` streams.
pub(super) fn is_due(stored: &Stored, expiry: &Expiry, now: u64) -> bool {
    if !expiry.is_live(stored, || now) {
        return *stored != Stored::Forgotten;
    }
    match stored {
        Stored::Seen(_) => true,
        Stored::Forgotten => false,
        Stored::Full(details) => match &details.detail {
            Detail::Seen => true,
            Detail::Claimed { until, .. } => !is_held(details.changed, *until, (now, true)),
            Detail::Fetched { .. } => false,
            Detail::Failed { retry_at, .. } => {
                retry_at.is_some_and(|retry_at| is_past(details.changed, retry_at, (now, true)))
            }
        },
    }
}

/// Whether a claim that was granted at `from` is in force. One that would have longer to
/// go than it was granted for comes from a clock that was ahead, and has run out; a batch's
/// own time can be before it and says nothing about the clock.
fn is_held(from: u64, until: u64, (now, is_clock): (u64, bool)) -> bool {
    (from <= now || !is_clock) && now < until
}

/// Whether a wait that began at `from` is over; so it is if the clock was ahead.
fn is_past(from: u64, until: u64, (now, is_clock): (u64, bool)) -> bool {
    (now < from && is_clock) || until <= now
}

fn claim(
    live: Option<&Stored>,
    worker: &str,
    lease: u64,
    terms: &Terms,
    token: &mut dyn FnMut() -> Token,
) -> (Answer, Option<Stored>) {
    let now = terms.now;
    let time = (now, terms.is_clock);
    let (mut attempts, mut last) = (0, None);
    if let Some(Stored::Full(details)) = live {
        match &details.detail {
            Detail::Seen => {}
            Detail::Claimed {
                until,
                worker,
                attempts: before,
                last: outcome,
                ..
            } => {
                if is_held(details.changed, *until, time) {
                    let (by, until) = (worker.clone(), *until);
                    return (Answer::Held { by, until }, None);
                }
                (attempts, last) = (*before, outcome.clone());
            }
            Detail::Fetched { .. } => {
                let done = Stored::Full(details.clone());
                return (Answer::Done(done), None);
            }
            Detail::Failed {
                attempts: before,
                retry_at,
                reason,
            } => {
                let Some(retry_at) = *retry_at else {
                    let done = Stored::Full(details.clone());
                    return (Answer::Done(done), None);
                };
                if !is_past(details.changed, retry_at, time) {
                    return (Answer::NotYet { retry_at }, None);
                }
                attempts = *before;
                last = Some(Last::Failed {
                    at: details.changed,
                    reason: reason.clone(),
                });
            }
        }
    }
    let grant = Grant {
        token: token(),
        until: later(terms.ceiling, lease),
        attempts: attempts.saturating_add(1),
        last,
    };
    let details = Details {
        first: first(live, now),
        changed: now,
        detail: Detail::Claimed {
            until: grant.until,
            token: grant.token,
            attempts: grant.attempts,
            worker: worker.into(),
            last: grant.last.clone(),
        },
    };
    (
        Answer::Granted(grant),
        Some(Stored::Full(Box::new(details))),
    )
}

fn settle(
    live: Option<&Stored>,
    given: Token,
    how: &Settle,
    terms: &Terms,
) -> Result<(Answer, Option<Stored>), Lost> {
    let Some(Stored::Full(details)) = live else {
        return Err(Lost(match live {
            Some(_) => "it was seen, and nobody has claimed it since".into(),
            None => "it was forgotten".into(),
        }));
    };
    let Detail::Claimed {
        until,
        token,
        attempts,
        worker,
        last,
    } = &details.detail
    else {
        let kind = StateKind::name(details.detail.kind());
        return Err(Lost(format!("it is {kind}, and no longer claimed")));
    };
    if *token != given {
        return Err(Lost(format!("{worker} has claimed it with {token}")));
    }
    let now = terms.now;
    let mut changed = now;
    let mut ends = None;
    let detail = match how {
        Settle::Fetched { status, content } => Detail::Fetched {
            status: *status,
            content: *content,
        },
        Settle::Failed {
            reason,
            retry_after,
        } => Detail::Failed {
            attempts: *attempts,
            retry_at: retry_after.map(|after| match after {
                0 => now,
                after => later(terms.ceiling, after),
            }),
            reason: reason.clone(),
        },
        Settle::Extend { by } => {
            let until = later((*until).max(terms.ceiling), *by);
            ends = Some(until);
            Detail::Claimed {
                until,
                token: *token,
                attempts: *attempts,
                worker: worker.clone(),
                last: last.clone(),
            }
        }
        // As it was before the claim.
        Settle::Release => match last {
            None => {
                let first = Stored::Seen(Some(details.first));
                return Ok((Answer::Settled { until: None }, Some(first)));
            }
            Some(Last::Fetched {
                at,
                status,
                content,
            }) => {
                changed = *at;
                Detail::Fetched {
                    status: *status,
                    content: *content,
                }
            }
            Some(Last::Failed { at, reason }) => {
                changed = *at;
                Detail::Failed {
                    attempts: attempts.saturating_sub(1),
                    retry_at: Some(*at),
                    reason: reason.clone(),
                }
            }
        },
    };
    let details = Details {
        first: details.first.min(changed),
        changed,
        detail,
    };
    let stored = Stored::Full(Box::new(details));
    Ok((Answer::Settled { until: ends }, Some(stored)))
}

/// When a key was first seen: no record is changed before that.
fn first(live: Option<&Stored>, now: u64) -> u64 {
    live.and_then(Stored::first).map_or(now, |at| at.min(now))
}

fn later(from: u64, by: u64) -> u64 {
    from.saturating_add(by).min(MAX_SECONDS)
}

impl Terms {
    /// The record of a key that is inserted now.
    pub(super) fn plain(&self) -> Stored {
        Stored::Seen(self.stamps.then_some(self.now))
    }

    fn put(&self, live: Option<&Stored>, at: Option<u64>, detail: &Detail) -> Stored {
        if !self.stamps {
            return Stored::Seen(None);
        }
        let changed = at.unwrap_or(self.now);
        let first = first(live, changed);
        if *detail == Detail::Seen && first == changed {
            return Stored::Seen(Some(first));
        }
        let mut detail = detail.clone();
        if let Detail::Failed { retry_at, .. } = &mut detail {
            *retry_at = retry_at.map(|retry_at| retry_at.max(changed));
        }
        Stored::Full(Box::new(Details {
            first,
            changed,
            detail,
        }))
    }
}

#[cfg(test)]
mod tests;
