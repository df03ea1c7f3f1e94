//! Claims, outcomes, forgetting and expiry: each a batch, with a new key that tells whether the
//! batch is there.

use super::judge::Call;
use super::model::{Attempt, Change, UNKNOWN};
use super::world::World;
use crate::support::{at, inserted};
use seendb::{Batch, Claim, Durability, Record, Result, State, StateKind};
use std::time::{Duration, SystemTime};

const WORKER: &str = "worker";
/// Longer than any trial takes.
const LEASE: Duration = Duration::from_secs(1_000_000_000);
/// After so long, failures expire.
pub const AGE: Duration = Duration::from_secs(500_000_000);
/// Longer ago than that.
const LONG_AGO: u64 = 1_000_000;

impl World {
    /// Keys to be changed later, and one that has expired.
    pub fn plant(&mut self) {
        if !self.ready() {
            return;
        }
        let stamps = self.settings.stamps;
        let long_ago = at(LONG_AGO);
        let keys: Vec<_> = (0..3).map(|_| self.new_key(60)).collect();
        let record = inserted(stamps.then_some(long_ago));
        let changes = keys
            .iter()
            .map(|key| (key.clone(), Some(record.clone())))
            .collect();
        let expired = self.new_key(60);
        self.change(long_ago, changes, stamps.into(), |batch| {
            if stamps {
                batch.at(long_ago);
                let failed = State::Failed {
                    at: long_ago,
                    reason: "long ago".into(),
                    attempts: 1,
                    retry_at: None,
                };
                batch.put(&expired, failed)?;
            }
            keys.iter().try_for_each(|key| batch.insert(key))
        });
    }

    /// Claims a key that was only seen.
    pub fn claim(&mut self) {
        if !self.ready() || !self.settings.stamps {
            return;
        }
        if let Some((key, record)) = self.model.planted(StateKind::Seen) {
            let now = self.moment();
            let claimed = State::Claimed {
                worker: WORKER.into(),
                until: now + LEASE,
                token: UNKNOWN,
                attempts: 1,
                last: None,
            };
            let change = changed(&key, &record, claimed, now);
            self.change(now, vec![change], 0, |batch| {
                batch.claim(&key, WORKER, LEASE)
            });
        }
    }

    /// Records the outcome of a claim.
    pub fn fetch(&mut self) {
        if !self.ready() {
            return;
        }
        if let Some((key, record)) = self.model.planted(StateKind::Claimed)
            && let State::Claimed { token, .. } = record.state
            && let Some(lease) = self.call(Call::Read, |seen| seen.lease(&key, token))
        {
            let now = self.moment();
            let fetched = State::Fetched {
                at: now,
                status: 200,
                content: Some([5; 16]),
            };
            let change = changed(&key, &record, fetched, now);
            self.change(now, vec![change], 0, |batch| {
                batch.fetched(&lease, 200, Some([5; 16]));
                Ok(())
            });
        }
    }

    /// Forgets a key that was fetched, or else was seen.
    pub fn forget(&mut self) {
        if !self.ready() {
            return;
        }
        let fetched = self.model.planted(StateKind::Fetched);
        if let Some((key, _)) = fetched.or_else(|| self.model.planted(StateKind::Seen)) {
            let now = self.moment();
            let change = (key.clone(), None);
            self.change(now, vec![change], 0, |batch| batch.forget(&key));
        }
    }

    /// An attempt to change keys with a batch of that time.
    fn change(
        &mut self,
        time: SystemTime,
        mut changes: Vec<Change>,
        expired: u64,
        fill: impl FnOnce(&mut Batch) -> Result<()>,
    ) {
        let Some(writer) = self.writer.clone() else {
            return;
        };
        let marker = self.new_key(60);
        let mut batch = writer.batch();
        batch.insert(&marker).unwrap();
        fill(&mut batch).unwrap();
        let before = self.hits();
        let applied = self.judge(Call::Write, before, writer.apply(batch));
        if let Some(applied) = &applied {
            assert_eq!(applied.new.first(), Some(&true), "a new key is not new");
            for claim in &applied.claims {
                let Claim::Granted(lease) = claim else {
                    panic!("nobody has it: {claim:?}");
                };
                self.model.grant(lease.token(), &mut changes);
            }
        }
        self.model.add(Attempt {
            keys: vec![marker],
            changes,
            expired,
            position: None,
            record: inserted(self.settings.stamps.then_some(time)),
            accepted: applied.is_some(),
        });
        if applied.is_some() && self.settings.durability == Durability::Immediate {
            self.model.all_durable();
        }
        self.model.durable_position(writer.durable_position());
    }
}

fn changed(key: &[u8], was: &Record, state: State, now: SystemTime) -> Change {
    let mut record = was.clone();
    record.changed = Some(now);
    record.state = state;
    (key.to_vec(), Some(record))
}
