//! A store at work on a simulated disk, and what it must hold afterwards.

use super::{Seeded, SetClock, at};
use seendb::vfs::sim::Sim;
use seendb::{Builder, Canon, Driver, Durability, Env, Error, Reads, Seen, Writes};
use std::collections::BTreeMap;
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
}

/// One call of a store's user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Insert(u64),
    Batch {
        keys: Vec<u64>,
        position: Option<u64>,
        immediate: bool,
    },
    Sync,
    Flush,
    /// Time passes, and the background work takes a step.
    Work,
    Compact,
    /// Closes the store and opens it again.
    Close,
    /// The process dies, and another opens the store.
    Kill,
}

/// What a user was told, and so what must be there.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// What was accepted, in order: each with the keys that were new, and its position.
    pub accepted: Vec<Accepted>,
    /// How many of them a power cut must leave.
    pub durable: usize,
    /// What was under way when the power went.
    pub pending: Option<Accepted>,
    /// The largest position that was called durable.
    pub durable_position: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    pub keys: Vec<Vec<u8>>,
    pub millis: u64,
    pub position: Option<u64>,
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

/// The key with a number: most are short, some take several sectors.
pub fn key(number: u64) -> Vec<u8> {
    let length = match number % 23 {
        3 => 700,
        11 => 2_000,
        _ => number % 19,
    };
    let mut key = format!("https://example.com/{:x}/{number}/", number % 7).into_bytes();
    key.extend((0..length).map(|i| b'a' + (i % 26) as u8));
    if number >= LARGE {
        key.resize(50_000, b'x');
    }
    key
}

/// Keys from this number on take 50,000 bytes: a few batches of them fill a memtable.
pub const LARGE: u64 = 1_000_000;

/// Steps of a user, from a seed. With `fills`, some freeze memtables by filling them.
pub fn steps(seed: u64, count: usize, fills: bool) -> Vec<Step> {
    let random = Seeded::new(seed);
    let mut position = 0;
    let mut large = LARGE;
    let mut steps = Vec::new();
    for _ in 0..count {
        let known = 120;
        steps.push(match random.below(26) {
            0..8 => Step::Insert(random.below(known)),
            8..16 => {
                if random.below(2) == 0 {
                    position += 1 + random.below(5);
                }
                Step::Batch {
                    keys: (0..random.below(9)).map(|_| random.below(known)).collect(),
                    position: (random.below(2) == 0).then_some(position),
                    immediate: random.below(6) == 0,
                }
            }
            16..18 => Step::Sync,
            18..21 => Step::Flush,
            21..23 => Step::Work,
            23 => Step::Compact,
            24 => Step::Close,
            _ => Step::Kill,
        });
        if fills && random.below(4) == 0 {
            steps.push(Step::Batch {
                keys: (large..large + 5).collect(),
                position: None,
                immediate: false,
            });
            large += 5;
        }
    }
    // A position that is not above the last is refused, and no step here.
    let mut last = 0;
    for step in &mut steps {
        if let Step::Batch { position, .. } = step {
            match position {
                Some(position) if *position > last => last = *position,
                other => *other = None,
            }
        }
    }
    steps
}

impl Model {
    /// All keys that were accepted.
    fn has(&self, key: &[u8]) -> bool {
        let mut keys = self.accepted.iter().flat_map(|one| &one.keys);
        keys.any(|known| known == key)
    }

    /// The number of accepted operations that the store holds: a prefix of them, and
    /// perhaps of what was under way. `all`: nothing may be missing.
    pub fn check(&self, seen: &Seen, setting: Setting, all: bool) -> Result<usize, String> {
        let mut found = BTreeMap::new();
        for entry in seen.scan("").map_err(|e| e.to_string())? {
            let (key, record) = entry.map_err(|e| e.to_string())?;
            found.insert(key, record);
        }
        if seen.len() != found.len() as u64 {
            return Err(format!(
                "len() is {}, a scan finds {}",
                seen.len(),
                found.len()
            ));
        }
        let operations = self.accepted.iter().chain(&self.pending);
        let (mut count, mut position, mut matching) = (0, None, None);
        let mut held = 0;
        for (number, one) in std::iter::once(&Accepted::default())
            .chain(operations)
            .enumerate()
        {
            count += one.keys.len();
            position = one.position.or(position);
            for key in &one.keys {
                let Some(record) = found.get(key) else {
                    continue;
                };
                held += 1;
                let expected = setting.stamps.then(|| at(one.millis));
                if record.first_seen != expected {
                    return Err(format!(
                        "the record of {} is {record:?} instead of {expected:?}",
                        key.escape_ascii()
                    ));
                }
                if seen.get(canonical(seen, key)?).map_err(|e| e.to_string())? != Some(*record) {
                    return Err(format!("get does not find {}", key.escape_ascii()));
                }
            }
            // No hole before this place, nothing behind it, and the right position.
            if held == count && found.len() == count && seen.position() == position {
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
                return Err(format!(
                    "{} keys, {held} of them known, and position {:?}, are no prefix of the {} \
                     operations accepted (pending: {}) with the {least} that must be there: {matching:?}",
                    found.len(),
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

    /// What is known once a store was found to hold `count` operations.
    pub fn settle(&mut self, count: usize) {
        self.accepted.extend(self.pending.take());
        self.accepted.truncate(count);
        self.durable = self.durable.min(count);
    }
}

fn canonical(seen: &Seen, key: &[u8]) -> Result<seendb::Key, String> {
    seen.key(key).map_err(|e| e.to_string())
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
        Seen::builder(PATH)
            .canon(Canon::raw())
            .stamps(setting.stamps)
            .memory(1 << 20)
            .segment_size(64 << 10)
            .durability(setting.durability)
            .writes(setting.writes)
            .reads(setting.reads)
            .driver(Driver::Manual)
            .env(Env {
                vfs: self.sim.clone(),
                clock: self.clock.clone(),
                entropy: self.entropy.clone(),
            })
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
        let immediate = self.setting.durability == Durability::Immediate;
        match step {
            Step::Insert(number) => {
                let key = key(*number);
                let expected = !self.model.has(&key);
                let keys = if expected {
                    vec![key.clone()]
                } else {
                    Vec::new()
                };
                self.begin(keys, None);
                let new = seen.insert(&key)?;
                assert_eq!(new, expected, "the answer for key {number}");
                self.accepted(immediate);
            }
            Step::Batch {
                keys,
                position,
                immediate: durable,
            } => {
                let mut batch = seen.batch();
                let (mut new, mut answers) = (Vec::new(), Vec::new());
                for &number in keys {
                    let key = key(number);
                    batch.insert(&key)?;
                    let is_new = !self.model.has(&key) && !new.contains(&key);
                    answers.push(is_new);
                    new.extend(is_new.then_some(key));
                }
                if let Some(position) = position {
                    batch.position(*position);
                }
                if *durable {
                    batch.durability(Durability::Immediate);
                }
                self.begin(new, *position);
                let outcome = seen.apply(batch)?;
                assert_eq!(outcome.new, answers, "the answers for {keys:?}");
                self.accepted(immediate || *durable);
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
        }
        Ok(())
    }

    fn check_all(&self) {
        if let Some(seen) = &self.seen {
            let checked = self.model.check(seen, self.setting, true);
            assert!(
                checked.is_ok() || !self.sim.has_power(),
                "after reopening: {checked:?}"
            );
        }
    }

    fn begin(&mut self, keys: Vec<Vec<u8>>, position: Option<u64>) {
        self.model.pending = Some(Accepted {
            keys,
            millis: self.now,
            position,
        });
    }

    fn accepted(&mut self, durable: bool) {
        self.model.accepted.extend(self.model.pending.take());
        if durable {
            self.model.durable = self.model.accepted.len();
        }
    }
}

/// Every kind of setting, for tests that take turns.
pub fn settings(durability: Durability) -> Vec<Setting> {
    let kinds = [
        (Writes::Map, Reads::Map, true),
        (Writes::Pwrite, Reads::Pread, false),
        (Writes::Pwrite, Reads::Map, true),
        (Writes::Map, Reads::Pread, false),
    ];
    kinds
        .map(|(writes, reads, stamps)| Setting {
            durability,
            writes,
            reads,
            stamps,
        })
        .to_vec()
}

/// An interval that passes in a few steps of background work.
pub const INTERVAL: Durability = Durability::Interval(Duration::from_secs(1));
