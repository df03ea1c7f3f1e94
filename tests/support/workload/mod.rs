//! A store at work on a simulated disk, and what it must hold afterwards.

mod model;
mod steps;

pub use model::{Accepted, Effects, Known, LEASE, Model, What};
pub use steps::{How, LARGE, Step, inserts, key, prefix, steps};

use super::{Seeded, SetClock};
use seendb::vfs::sim::Sim;
use seendb::{
    Batch, Builder, Canon, Claim, Driver, Durability, Env, Error, Lease, Reads, Seen, Writes,
};
use std::sync::Arc;
use std::time::Duration;

pub const PATH: &str = "/data/store";

/// What a store is opened with.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub durability: Durability,
    pub writes: Writes,
    pub reads: Reads,
    pub stamps: bool,
    /// Seconds.
    pub expiry: Option<u64>,
}

/// A store on a disk, its clock, and its model.
pub struct Session {
    pub sim: Arc<Sim>,
    pub setting: Setting,
    pub clock: Arc<SetClock>,
    pub now: u64,
    pub entropy: Arc<Seeded>,
    pub model: Model,
    pub seen: Option<Seen>,
}

impl Session {
    pub fn new(sim: Arc<Sim>, setting: Setting, seed: u64) -> Session {
        Session {
            sim,
            setting,
            clock: Arc::default(),
            now: 1_000_000,
            entropy: Arc::new(Seeded::new(seed)),
            model: Model::default(),
            seen: None,
        }
    }

    pub fn builder(&self) -> Builder {
        let setting = self.setting;
        let builder = Seen::builder(PATH)
            .canon(Canon::raw())
            .stamps(setting.stamps)
            .memtable_size(1 << 20)
            .segment_size(64 << 10)
            .durability(setting.durability)
            .writes(setting.writes)
            .reads(setting.reads)
            .driver(Driver::Manual)
            .env(Env {
                vfs: self.sim.clone(),
                clock: self.clock.clone(),
                entropy: self.entropy.clone(),
            });
        match setting.expiry {
            Some(expiry) => builder.expire_after(Duration::from_secs(expiry)),
            None => builder,
        }
    }

    pub fn open(&mut self) -> Result<(), Error> {
        self.clock.set(self.now);
        self.seen = Some(self.builder().open()?);
        if self.setting.durability == Durability::Immediate {
            self.model.durable = self.model.accepted.len();
        }
        Ok(())
    }

    /// Opens the store, unless it is open, and takes the steps up to the first error.
    pub fn run(&mut self, steps: &[Step]) -> Result<(), Error> {
        if self.seen.is_none() {
            self.open()?;
        }
        for step in steps {
            self.step(step)?;
            if let Some(seen) = &self.seen {
                let durable = seen.durable_position();
                assert!(
                    durable <= seen.position(),
                    "{durable:?} {:?}",
                    seen.position()
                );
                self.model.durable_position = self.model.durable_position.max(durable);
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Error> {
        self.now += 1;
        self.clock.set(self.now);
        let Some(seen) = self.seen.clone() else {
            return Ok(());
        };
        match step {
            // Without times nothing is claimed.
            Step::Insert(number) | Step::Claim(number) | Step::Settle(number, _)
                if !self.setting.stamps || matches!(step, Step::Insert(_)) =>
            {
                let key = key(*number);
                let new = self.live(&key).is_none();
                let effect = (key.clone(), Some(Known::seen(self.now)));
                self.begin(if new { vec![effect] } else { Vec::new() }, None);
                assert_eq!(seen.insert(&key)?, new, "the answer for key {number}");
                self.accepted(false);
            }
            Step::Batch {
                keys,
                settle,
                forget,
                position,
                immediate,
            } => self.batch(&seen, keys, *settle, *forget, *position, *immediate)?,
            Step::Claim(number) => self.claim(&seen, &key(*number))?,
            Step::Settle(number, how) => {
                let key = key(*number);
                let Some((mut lease, known)) = self.lease(&seen, &key)? else {
                    return Ok(());
                };
                self.begin(vec![(key, known.settled(*how, self.now))], None);
                settle(&mut lease, *how)?;
                self.accepted(false);
            }
            Step::Forget(number) => {
                let key = key(*number);
                let there = self.live(&key).is_some();
                let effects = if there {
                    vec![(key.clone(), None)]
                } else {
                    Vec::new()
                };
                self.begin(effects, None);
                assert_eq!(seen.forget(&key)?, there, "forgetting key {number}");
                self.accepted(false);
            }
            Step::ForgetPrefix(number) => {
                let prefix = prefix(*number);
                let keys = self
                    .model
                    .state
                    .keys()
                    .filter(|key| key.starts_with(&prefix));
                let live = keys.filter(|key| self.live(key).is_some());
                let effects: Effects = live.map(|key| (key.clone(), None)).collect();
                let count = effects.len() as u64;
                self.begin(effects, None);
                assert_eq!(seen.forget_prefix(&prefix)?, count);
                self.accepted(false);
            }
            Step::Sync => {
                seen.sync()?;
                self.model.durable = self.model.accepted.len();
            }
            Step::Flush => {
                seen.flush()?;
                self.model.durable = self.model.accepted.len();
            }
            Step::Compact => {
                seen.compact()?;
                self.model.durable = self.model.accepted.len();
                // All that has expired by now is gone.
                let live = self
                    .model
                    .state
                    .keys()
                    .filter(|key| self.live(key).is_some());
                assert_eq!(seen.len(), live.count() as u64);
            }
            Step::Work => {
                self.now += 400;
                self.clock.set(self.now);
                seen.step()?;
            }
            Step::Close => {
                drop(seen);
                if let Some(seen) = self.seen.take() {
                    seen.close()?;
                }
                self.model.durable = self.model.accepted.len();
                self.open()?;
                self.check_all();
            }
            Step::Kill => {
                self.sim = self.sim.kill();
                drop(seen);
                self.seen = None;
                self.open()?;
                self.check_all();
            }
            Step::Insert(_) => {}
        }
        Ok(())
    }

    fn batch(
        &mut self,
        seen: &Seen,
        keys: &[u64],
        settle: Option<u64>,
        forget: Option<u64>,
        position: Option<u64>,
        immediate: bool,
    ) -> Result<(), Error> {
        let mut batch: Batch = seen.batch();
        let (mut effects, mut answers) = (Effects::new(), Vec::new());
        let lease = match settle.filter(|_| self.setting.stamps) {
            Some(number) => self.lease(seen, &key(number % 12))?,
            None => None,
        };
        if let (Some(number), Some((lease, known))) = (settle, &lease) {
            batch.fetched(lease, 200, Some([number as u8; 16]));
            let known = known.settled(How::Fetched(200), self.now);
            effects.push((lease.key().as_bytes().to_vec(), known));
            answers.push(false);
        }
        for &number in keys {
            let key = key(number);
            batch.insert(&key)?;
            let before = effects.iter().rev().find(|(known, _)| *known == key);
            let new = match before {
                Some((_, known)) => known.is_none(),
                None => self.live(&key).is_none(),
            };
            answers.push(new);
            if new {
                effects.push((key, Some(Known::seen(self.now))));
            }
        }
        if let Some(number) = forget {
            let key = key(number);
            batch.forget(&key)?;
            let before = effects.iter().rev().find(|(known, _)| *known == key);
            let there = match before {
                Some((_, known)) => known.is_some(),
                None => self.live(&key).is_some(),
            };
            answers.push(there);
            if there {
                effects.push((key, None));
            }
        }
        if let Some(position) = position {
            batch.position(position);
        }
        if immediate {
            batch.durability(Durability::Immediate);
        }
        self.begin(effects, position);
        let applied = seen.apply(batch)?;
        assert_eq!(applied.new, answers, "the answers for {keys:?}");
        self.accepted(immediate);
        Ok(())
    }

    fn claim(&mut self, seen: &Seen, key: &[u8]) -> Result<(), Error> {
        let claimed = Known::claimed(self.live(key), self.now);
        let effects = claimed
            .iter()
            .map(|known| (key.to_vec(), Some(known.clone())));
        self.begin(effects.collect(), None);
        let claim = seen.claim(key, "me", Duration::from_secs(LEASE))?;
        match (claim, &mut self.model.pending) {
            (Claim::Granted(lease), Some(Accepted { effects, .. })) => {
                let given = self.model.tokens.insert(lease.token());
                assert!(given, "{} was given twice", lease.token());
                let Some((_, Some(known))) = effects.first_mut() else {
                    panic!("granted: {lease:?}");
                };
                if let What::Claimed { token, .. } = &mut known.state {
                    *token = Some(lease.token());
                }
            }
            (other, _) => assert_eq!(claimed, None, "{other:?}"),
        }
        self.accepted(false);
        Ok(())
    }

    /// The lease on a key, if it is claimed, and what is known of it.
    fn lease(&self, seen: &Seen, key: &[u8]) -> Result<Option<(Lease, Known)>, Error> {
        let Some(known) = self.live(key).cloned() else {
            return Ok(None);
        };
        let What::Claimed {
            token: Some(token), ..
        } = known.state
        else {
            return Ok(None);
        };
        // Any other is fenced.
        if let Some(other) = self.model.tokens.iter().find(|other| **other != token) {
            let fenced = seen.lease(key, *other);
            assert!(
                matches!(&fenced, Err(Error::LeaseLost { .. })) || !self.sim.has_power(),
                "{fenced:?}"
            );
        }
        Ok(Some((seen.lease(key, token)?, known)))
    }

    fn live(&self, key: &[u8]) -> Option<&Known> {
        self.model.live(key, self.setting, self.now)
    }

    fn check_all(&self) {
        if let Some(seen) = &self.seen {
            let checked = self.model.check(seen, self.setting, self.now, true);
            assert!(
                checked.is_ok() || !self.sim.has_power(),
                "after reopening: {checked:?}"
            );
        }
    }

    fn begin(&mut self, effects: Effects, position: Option<u64>) {
        self.model.pending = Some(Accepted { effects, position });
    }

    fn accepted(&mut self, durable: bool) {
        self.model.accept();
        if durable || self.setting.durability == Durability::Immediate {
            self.model.durable = self.model.accepted.len();
        }
    }
}

fn settle(lease: &mut Lease, how: How) -> Result<(), Error> {
    match how {
        How::Fetched(status) => lease.fetched(status, [3; 16]),
        How::Failed(after) => lease.failed("so", after.map(Duration::from_secs)),
        How::Release => lease.release(),
        How::Extend(by) => lease.extend(Duration::from_secs(by)),
    }
}

/// Every kind of setting, for tests that take turns.
pub fn settings(durability: Durability) -> Vec<Setting> {
    let kinds = [
        (Writes::Map, Reads::Map, true, Some(700)),
        (Writes::Pwrite, Reads::Pread, false, None),
        (Writes::Pwrite, Reads::Map, true, None),
        (Writes::Map, Reads::Pread, false, None),
    ];
    kinds
        .map(|(writes, reads, stamps, expiry)| Setting {
            durability,
            writes,
            reads,
            stamps,
            expiry,
        })
        .to_vec()
}

/// An interval that passes in a few steps of background work.
pub const INTERVAL: Durability = Durability::Interval(Duration::from_secs(1));
