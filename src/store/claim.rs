//! Claims: one worker at a URL, and what came of it.

use super::Seen;
use super::batch::Keys;
use super::core::{Core, Writer};
use super::decide::{Answer, Op, Settle};
use super::transaction::Manner;
use crate::canon::{Key, ToKey};
use crate::error::{Error, Result};
use crate::header::StoreId;
use crate::record::{
    Detail, Last, MAX_WORKER, Outcome, Record, State, Stored, Token, cut_reason, seconds_of,
    time_of, whole_seconds,
};
use crate::sync::atomic::Ordering;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The answer to [`Seen::claim`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Claim {
    /// The URL is the caller's until the lease runs out.
    Granted(Lease),
    /// Somebody else is at it.
    Held {
        /// Who.
        by: String,
        /// When that claim runs out, unless it is extended.
        until: SystemTime,
    },
    /// It failed, and is to be tried again later.
    NotYet {
        /// When.
        retry_at: SystemTime,
    },
    /// There is nothing left to do: it was fetched, or failed for good.
    Done(Record),
}

/// A claim that was granted: the right to say what came of a URL.
///
/// It ends when it is settled, or runs out: then another claim may be granted, and settling
/// this one is [`Error::LeaseLost`]. Dropping it does nothing: the claim runs out by
/// itself. Settling one that ran out is fine as long as nobody else was granted it.
///
/// ```
/// # use seendb::{Claim, Seen, State};
/// # use std::time::Duration;
/// # let dir = tempfile::tempdir()?;
/// # let seen = Seen::open(dir.path().join("crawl.seen"))?;
/// let url = "https://example.com/";
/// let Claim::Granted(lease) = seen.claim(url, "worker 1", Duration::from_secs(600))? else {
///     unreachable!("nobody else is at it");
/// };
/// assert!(matches!(
///     seen.claim(url, "worker 2", Duration::from_secs(600))?,
///     Claim::Held { .. }
/// ));
/// lease.failed("connection refused", Duration::from_secs(3600))?;
/// assert!(matches!(
///     seen.claim(url, "worker 2", Duration::from_secs(600))?,
///     Claim::NotYet { .. }
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lease {
    seen: Seen,
    key: Key,
    token: Token,
    until: SystemTime,
    attempts: u32,
    last: Option<Outcome>,
}

impl Lease {
    /// The key of the URL.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// What names this grant, for [`Seen::lease`].
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// The store that it is of.
    pub(super) fn store(&self) -> StoreId {
        self.seen.core().store
    }

    /// When it runs out.
    #[must_use]
    pub fn until(&self) -> SystemTime {
        self.until
    }

    /// How often the URL was claimed since it was last fetched, this time included.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What the attempt before came to, if it was settled.
    #[must_use]
    pub fn last(&self) -> Option<&Outcome> {
        self.last.as_ref()
    }

    /// Records that the page was fetched, with the answer's status, and perhaps a hash of
    /// what it was. The URL is done until it expires or is forgotten.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`](Error::LeaseLost) if the claim is not this one any more; and those of
    /// [`insert`](Seen::insert). Then nothing changed.
    pub fn fetched(&self, status: u16, content: impl Into<Option<[u8; 16]>>) -> Result<()> {
        let content = content.into();
        self.settle(Settle::Fetched { status, content }).map(drop)
    }

    /// Records that the page was not fetched, why, and after what time it is to be tried
    /// again: `None` is never. Times count in whole seconds. Of the reason, up to 120
    /// bytes are kept.
    ///
    /// # Errors
    ///
    /// As [`fetched`](Lease::fetched).
    pub fn failed(&self, reason: &str, retry_after: impl Into<Option<Duration>>) -> Result<()> {
        let how = Settle::Failed {
            reason: cut_reason(reason).into(),
            retry_after: retry_after.into().map(whole_seconds),
        };
        self.settle(how).map(drop)
    }

    /// Gives the URL back, as it was when it was last settled or inserted: it can be claimed
    /// at once. Claims that ran out since then are not counted any more.
    ///
    /// # Errors
    ///
    /// As [`fetched`](Lease::fetched).
    pub fn release(&self) -> Result<()> {
        self.settle(Settle::Release).map(drop)
    }

    /// Makes the claim last longer, by this time from its end on, or from now if it ran
    /// out.
    ///
    /// # Errors
    ///
    /// As [`fetched`](Lease::fetched).
    pub fn extend(&mut self, by: Duration) -> Result<()> {
        let by = whole_seconds(by);
        if let Some(until) = self.settle(Settle::Extend { by })? {
            self.until = time_of(until);
        }
        Ok(())
    }

    /// When the claim ends then, if it goes on.
    fn settle(&self, how: Settle) -> Result<Option<u64>> {
        let token = self.token;
        let op = Op::Settle { token, how };
        match self.seen.core().apply_one(&self.key, op)? {
            Answer::Settled { until } => Ok(until),
            _ => Ok(None),
        }
    }
}

impl Seen {
    /// Claims a URL: asks for the right to fetch it, for `lease`, in whole seconds.
    ///
    /// It is [granted](Claim::Granted) if the URL is new, or was only inserted; if a claim
    /// on it ran out; if it failed and is to be tried again by now; or if it
    /// [expired](crate::Builder::expire_after). However many ask at once, one of them is
    /// granted it. `worker` (1 to 64 bytes, no control characters) is told to the others.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Seen::insert); [`StampsOff`](Error::StampsOff) in a store
    /// without times; [`InvalidOption`](Error::InvalidOption) for a worker's name or a
    /// lease that cannot be.
    pub fn claim(&self, url: impl ToKey, worker: &str, lease: Duration) -> Result<Claim> {
        let op = Op::Claim {
            worker: check_worker(worker)?,
            lease: check_lease(lease)?,
        };
        let core = self.core();
        let key = url.to_key(&core.canon).map_err(Error::invalid)?;
        let key = Key::new(Cow::Borrowed(&key));
        let answer = core.apply_one(&key, op)?;
        claim_of(self, key.as_bytes(), answer).ok_or_else(|| core.closed())
    }

    /// Claims many URLs as one atomic batch; the answers in order. A URL that occurs twice
    /// is granted once.
    ///
    /// # Errors
    ///
    /// As [`claim`](Seen::claim), with the index of an invalid URL, and
    /// [`BatchTooLarge`](Error::BatchTooLarge); then nothing was claimed.
    pub fn claim_many<U: ToKey>(
        &self,
        urls: &[U],
        worker: &str,
        lease: Duration,
    ) -> Result<Vec<Claim>> {
        let op = Op::Claim {
            worker: check_worker(worker)?,
            lease: check_lease(lease)?,
        };
        let core = self.core();
        let mut keys = Keys::default();
        for (place, url) in urls.iter().enumerate() {
            keys.push(url, &core.canon).map_err(|e| e.at(place))?;
            keys.add_size(op.extra());
            core.check_size(&keys)?;
        }
        let ops = vec![op; keys.len()];
        core.check_stamps(&ops)?;
        let answers = core.transact(&keys, &ops, Manner::default())?;
        let claims = answers.into_iter().enumerate();
        Ok(claims
            .filter_map(|(place, answer)| claim_of(self, keys.get(place), answer))
            .collect())
    }

    /// The lease of a claim that was granted before, also by another process: to settle it
    /// after a restart.
    ///
    /// # Errors
    ///
    /// [`LeaseLost`](Error::LeaseLost) if the claim is not in force under this token; and
    /// those of [`get`](Seen::get).
    pub fn lease(&self, url: impl ToKey, token: Token) -> Result<Lease> {
        let key = url.to_key(&self.core().canon).map_err(Error::invalid)?;
        let key = Key::new(Cow::Borrowed(&key));
        let lost = |found: String| Error::LeaseLost {
            url: key.to_string(),
            token: token.to_string(),
            found,
        };
        match self.get(&key)?.map(|record| record.state) {
            Some(State::Claimed {
                until,
                token: current,
                attempts,
                last,
                ..
            }) if current == token => Ok(Lease {
                seen: self.clone(),
                key,
                token,
                until,
                attempts,
                last,
            }),
            Some(State::Claimed { worker, token, .. }) => {
                Err(lost(format!("{worker} has claimed it with {token}")))
            }
            Some(state) => {
                let kind = state.kind().name();
                Err(lost(format!("it is {kind}, and not claimed")))
            }
            None => Err(lost("it is not recorded".into())),
        }
    }

    /// Sets a URL's state, whatever it was: to take over what another store knows, or to
    /// settle without a claim. True if the URL was not recorded. The time first
    /// seen stays, unless the state is of an earlier time.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Seen::insert); [`StampsOff`](Error::StampsOff) for all but
    /// [`State::Seen`] in a store without times; [`InvalidOption`](Error::InvalidOption)
    /// for [`State::Claimed`]: only [`claim`](Seen::claim) grants.
    pub fn put(&self, url: impl ToKey, state: State) -> Result<bool> {
        let op = put_op(state)?;
        let core = self.core();
        let key = url.to_key(&core.canon).map_err(Error::invalid)?;
        let key = Key::new(Cow::Borrowed(&key));
        Ok(core.apply_one(&key, op)? == Answer::Inserted(true))
    }
}

impl Core {
    /// Applies one operation that is no plain insert.
    pub(super) fn apply_one(&self, key: &Key, op: Op) -> Result<Answer> {
        let ops = [op];
        self.check_stamps(&ops)?;
        let mut keys = Keys::default();
        keys.push_key(key.as_bytes(), ops.first().map_or(0, Op::extra));
        let mut answers = self.transact(&keys, &ops, Manner::default())?;
        answers.pop().ok_or_else(|| self.closed())
    }

    /// Refuses what a store without times cannot keep.
    pub(super) fn check_stamps(&self, ops: &[Op]) -> Result<()> {
        let needs_times = |op: &Op| match op {
            Op::Insert | Op::Forget => false,
            Op::Put { detail, .. } => *detail != Detail::Seen,
            Op::Claim { .. } | Op::Settle { .. } => true,
        };
        if self.stamps || !ops.iter().any(needs_times) {
            return Ok(());
        }
        Err(Error::StampsOff {
            path: self.dir.clone(),
            what: "claims and outcomes",
        })
    }

    /// Makes the epoch of this opening's tokens durable, before the first is given.
    pub(super) fn begin_epoch(&self, writer: &Writer) -> Result<()> {
        if writer.has_epoch.load(Ordering::Acquire) {
            return Ok(());
        }
        self.check_writable(writer)?;
        let mut commit = super::core::lock(&writer.commit);
        if writer.has_epoch.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut live = writer.live();
        let epoch = live.manifest.epoch.saturating_add(1);
        self.edit(writer, &mut live, |manifest| manifest.epoch = epoch)?;
        commit.token = Token { epoch, counter: 0 };
        writer.has_epoch.store(true, Ordering::Release);
        Ok(())
    }
}

/// The answer to a claim; `None` if it is none.
pub(super) fn claim_of(seen: &Seen, key: &[u8], answer: Answer) -> Option<Claim> {
    match answer {
        Answer::Granted(grant) => Some(Claim::Granted(Lease {
            seen: seen.clone(),
            key: Key::new(Cow::Borrowed(key)),
            token: grant.token,
            until: time_of(grant.until),
            attempts: grant.attempts,
            last: grant.last.map(Last::outcome),
        })),
        Answer::Held { by, until } => Some(Claim::Held {
            by: by.into(),
            until: time_of(until),
        }),
        Answer::NotYet { retry_at } => Some(Claim::NotYet {
            retry_at: time_of(retry_at),
        }),
        Answer::Done(stored) => Stored::record(stored).map(Claim::Done),
        Answer::Inserted(_) | Answer::Settled { .. } | Answer::Forgotten(_) => None,
    }
}

/// A worker's name, if it can be one.
pub(super) fn check_worker(worker: &str) -> Result<Arc<str>> {
    if (1..=MAX_WORKER).contains(&worker.len()) && !worker.contains(char::is_control) {
        return Ok(worker.into());
    }
    Err(Error::InvalidOption {
        option: "worker",
        expected: format!("a name of 1 to {MAX_WORKER} bytes, without control characters"),
        found: format!("{worker:?}, of {} bytes", worker.len()),
    })
}

/// A lease in whole seconds.
pub(super) fn check_lease(lease: Duration) -> Result<u64> {
    if !lease.is_zero() {
        return Ok(whole_seconds(lease));
    }
    Err(Error::InvalidOption {
        option: "lease",
        expected: "more than zero: a claim that is over at once is none".into(),
        found: "0 s".into(),
    })
}

/// The operation that sets a state.
pub(super) fn put_op(state: State) -> Result<Op> {
    let (at, detail) = match state {
        State::Seen => (None, Detail::Seen),
        State::Fetched {
            at,
            status,
            content,
        } => (Some(seconds_of(at)), Detail::Fetched { status, content }),
        State::Failed {
            at,
            reason,
            attempts,
            retry_at,
        } => {
            let detail = Detail::Failed {
                attempts,
                retry_at: retry_at.map(seconds_of),
                reason: cut_reason(&reason).into(),
            };
            (Some(seconds_of(at)), detail)
        }
        State::Claimed { .. } => {
            return Err(Error::InvalidOption {
                option: "state",
                expected: "seen, fetched or failed: only a claim claims".into(),
                found: "claimed".into(),
            });
        }
    };
    Ok(Op::Put { at, detail })
}
