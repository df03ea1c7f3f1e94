//! Batches of any operations: decided one after the other, applied together.

use super::batch::Keys;
use super::commit::{Changes, Commit, Frame, Staged};
use super::core::Core;
use super::decide::{Answer, Lost, Op, Terms, decide};
use super::view::{Run, View};
use crate::error::{Error, Result};
use crate::memtable::{Mark, Place};
use crate::record::{Expiry, Stored, Token, write};
use std::sync::Arc;

/// What a batch is applied with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Manner {
    /// The batch's own time, in seconds.
    pub(super) at: Option<u64>,
    pub(super) position: Option<u64>,
    pub(super) immediate: bool,
}

/// Operations on keys, and what was found of these.
struct Transaction<'a> {
    core: &'a Core,
    keys: &'a Keys,
    hashes: &'a [u64],
    ops: &'a [Op],
    found: &'a [Option<Stored>],
    /// For keys whose record expired: the run that has it.
    expired: Vec<(usize, Arc<Run>)>,
    frame: Frame,
    terms: Terms,
    answers: Vec<Answer>,
    /// Expired records that others have taken the place of.
    revived: Vec<usize>,
}

impl Core {
    /// Applies operations, one for each key; their answers, in order.
    pub(super) fn transact(&self, keys: &Keys, ops: &[Op], manner: Manner) -> Result<Vec<Answer>> {
        let writer = self.writer()?;
        if ops.iter().any(|op| matches!(op, Op::Claim { .. })) {
            self.begin_epoch(writer)?;
        }
        let hashes = self.hashes(keys);
        let mut found = Vec::with_capacity(keys.len());
        loop {
            self.check_writable(writer)?;
            let view = self.view.load_full();
            found.clear();
            let key = |place| keys.get(place);
            self.find_many(&view, &key, &hashes, |stored| found.push(stored))?;
            let (now, ceiling) = match manner.at {
                Some(at) => (at, at),
                None => self.now_and_ceiling(),
            };
            let terms = Terms {
                now,
                ceiling,
                is_clock: manner.at.is_none(),
                expiry: view.expiry,
                stamps: self.stamps,
            };
            // What changes nothing needs no room, and is answered on a full disk.
            if manner.position.is_none()
                && !manner.immediate
                && let Some(answers) = self.decide_dry(keys, ops, &found, &terms)?
            {
                return Ok(answers);
            }
            // Merges go by the clock, also if the batch has a time of its own, before that.
            let latest = terms.now.max(self.now());
            let mut transaction = Transaction {
                core: self,
                keys,
                hashes: &hashes,
                ops,
                expired: expired(&view, keys, &hashes, &found, (&terms.expiry, latest))?,
                found: &found,
                frame: Frame {
                    count: keys.len(),
                    size: keys.size(),
                    seconds: self.stamps.then_some(terms.now),
                    position: manner.position,
                    immediate: manner.immediate,
                },
                terms,
                answers: Vec::with_capacity(keys.len()),
                revived: Vec::new(),
            };
            if self.commit(view.rotation, &mut transaction)? {
                return Ok(transaction.answers);
            }
        }
    }

    /// The answers if no operation changes anything.
    fn decide_dry(
        &self,
        keys: &Keys,
        ops: &[Op],
        found: &[Option<Stored>],
        terms: &Terms,
    ) -> Result<Option<Vec<Answer>>> {
        let mut answers = Vec::with_capacity(ops.len());
        let mut changes = false;
        for (place, (op, found)) in ops.iter().zip(found).enumerate() {
            let mut token = || Token {
                epoch: 0,
                counter: 0,
            };
            match decide(op, found.as_ref(), terms, &mut token) {
                Ok((answer, write)) => {
                    changes |= write.is_some();
                    answers.push(answer);
                }
                // Unless an operation before it in the batch makes it right.
                Err(_) if changes => return Ok(None),
                Err(lost) => return Err(lease_lost(keys.get(place), op, lost)),
            }
        }
        Ok((!changes).then_some(answers))
    }
}

/// Where the records lie in runs that have expired at `now`.
fn expired(
    view: &View,
    keys: &Keys,
    hashes: &[u64],
    found: &[Option<Stored>],
    (expiry, now): (&Expiry, u64),
) -> Result<Vec<(usize, Arc<Run>)>> {
    let mut expired = Vec::new();
    if expiry.is_never() {
        return Ok(expired);
    }
    for (place, (found, &hash)) in found.iter().zip(hashes).enumerate() {
        if let Some(stored) = found
            && expiry.has_expired(stored, now)
            && let Some(run) = view.run_of(hash, keys.get(place))?
        {
            expired.push((place, run));
        }
    }
    Ok(expired)
}

fn lease_lost(key: &[u8], op: &Op, Lost(found): Lost) -> Error {
    let token = match op {
        Op::Settle { token, .. } => token.to_string(),
        _ => String::new(),
    };
    Error::LeaseLost {
        url: String::from_utf8_lossy(key).into_owned(),
        token,
        found,
    }
}

impl Changes for Transaction<'_> {
    fn frame(&self) -> Frame {
        self.frame
    }

    fn stage(&mut self, commit: &mut Commit, batch: Mark) -> Result<Staged> {
        self.answers.clear();
        self.revived.clear();
        let mut record = Vec::new();
        for (place, op) in self.ops.iter().enumerate() {
            let (key, hash) = (self.keys.get(place), self.hashes.get(place).copied());
            let hash = hash.unwrap_or_default();
            let newer;
            let (slot, current) = match commit.appender.find(hash, key, batch) {
                Place::Free(slot) => {
                    let found = self.found.get(place).and_then(Option::as_ref);
                    (Ok(slot), found)
                }
                Place::Taken(slot, entry) => {
                    newer = entry.stored();
                    (Err(slot), Some(&newer))
                }
                Place::Hidden(entry) => {
                    let live = self
                        .terms
                        .expiry
                        .is_live(&entry.stored(), || self.terms.now);
                    if !live || !matches!(op, Op::Insert) {
                        return Ok(Staged::Blocked);
                    }
                    // The answer waits until what it rests on is visible.
                    self.answers.push(Answer::Inserted(false));
                    continue;
                }
            };
            let last = &mut commit.token;
            let mut token = || {
                last.counter += 1;
                *last
            };
            let decided = decide(op, current, &self.terms, &mut token);
            let (answer, stored) = decided.map_err(|lost| lease_lost(key, op, lost))?;
            self.answers.push(answer);
            let Some(stored) = stored else {
                continue;
            };
            record.clear();
            write(&stored, current.and_then(Stored::kind), &mut record);
            match slot {
                Ok(slot) => {
                    self.revived.push(place);
                    commit.appender.append(hash, slot, key, &record);
                }
                Err(slot) => commit.appender.replace(hash, slot, key, &record),
            }
        }
        Ok(Staged::Ready)
    }

    fn logged(&self, commit: &mut Commit) {
        if commit.expiring.is_empty() {
            return;
        }
        for (place, run) in &self.expired {
            let (key, found) = (self.keys.get(*place), self.found.get(*place));
            if let Some(Some(stored)) = found
                && self.revived.binary_search(place).is_ok()
            {
                self.core.revive(commit, run, key, stored);
            }
        }
    }
}
