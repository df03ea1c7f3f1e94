//! A store on a simulated disk, a reader beside it, and what both must answer.
//!
//! Every call is judged: an error must be of an operation that went wrong meanwhile, and
//! name it; what is no error must be the truth.

use super::answers::Reader;
use super::changes::AGE;
use super::judge::Call;
use super::model::{Attempt, Left, Model};
use super::plan::{Plan, User, Watch};
use crate::support::{Seeded, SetClock, at, inserted, manual};
use seendb::vfs::sim::{Operation, OperationKind as Kind, Sim};
use seendb::{Builder, Durability, Env, Reads, Result, Seen, StateKind, Writes};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub const STORE: &str = "/disk/crawl/store";

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub durability: Durability,
    pub writes: Writes,
    pub reads: Reads,
    pub stamps: bool,
}

impl Settings {
    /// All that there are.
    pub fn all() -> Vec<Settings> {
        let interval = Durability::Interval(Duration::from_secs(1));
        let mut all = Vec::new();
        for durability in [interval, Durability::Immediate, Durability::Manual] {
            for writes in [Writes::Map, Writes::Pwrite] {
                for reads in [Reads::Map, Reads::Pread] {
                    all.extend([true, false].map(|stamps| Settings {
                        durability,
                        writes,
                        reads,
                        stamps,
                    }));
                }
            }
        }
        all
    }
}

/// What a world is about, which is told if it panics.
pub struct Name(pub String);

impl Drop for Name {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.0.is_empty() {
            eprintln!("{}", self.0);
        }
    }
}

pub struct World {
    pub settings: Settings,
    pub sim: Arc<Sim>,
    pub watch: Arc<Mutex<Watch>>,
    pub model: Model,
    /// What is being done, to be told when it fails.
    pub now: Name,
    pub(super) plan: Option<Plan>,
    clock: Arc<SetClock>,
    seconds: u64,
    pub(super) writer: Option<Seen>,
    pub(super) reader: Option<Reader>,
    /// What the handle knows was not compared yet.
    unsettled: Option<Left>,
    /// The first cause, once writing has ended.
    pub(super) poison: Option<String>,
    /// Keys so far: none is used twice.
    keys: u64,
    position: u64,
    /// The name of the store's directory, or of one above it, may never be durable:
    /// its sync failed, and no later one can know.
    pub(super) is_nameless: bool,
    /// What is on the disk was not all synced.
    pub(super) was_cut: bool,
}

impl World {
    /// A disk without a store.
    pub fn new(settings: Settings) -> World {
        let sim = Sim::new();
        World {
            settings,
            watch: Watch::over(&sim, None),
            sim,
            model: Model::default(),
            now: Name(String::new()),
            plan: None,
            clock: Arc::default(),
            seconds: 1_700_000_000,
            writer: None,
            reader: None,
            unsettled: None,
            poison: None,
            keys: 0,
            position: 0,
            is_nameless: false,
            was_cut: false,
        }
    }

    /// The same disk once more, with no process, where something will go wrong.
    pub fn again(&self, now: &str, plan: Option<&Plan>) -> World {
        let mut world = self.elsewhere(self.sim.fork(), Left::Accepted, "");
        world.watch = Watch::over(&world.sim, plan);
        world.plan = plan.cloned();
        world.now.0 = now.to_string();
        world
    }

    /// The same store on another disk, of which all or a part is left, with nothing
    /// that goes wrong.
    pub fn elsewhere(&self, sim: Arc<Sim>, left: Left, now: &str) -> World {
        World {
            watch: Watch::over(&sim, None),
            sim,
            model: self.model.clone(),
            now: Name(format!("{}, then {now}", self.now.0)),
            seconds: self.seconds + 1_000_000,
            unsettled: Some(left),
            keys: self.keys + 10_000,
            position: self.position + 10_000,
            is_nameless: self.is_nameless(),
            was_cut: self.was_cut || left == Left::Durable,
            ..World::new(self.settings)
        }
    }

    /// Nothing goes wrong any more.
    pub fn heal(&mut self) {
        self.watch.lock().unwrap().heal();
    }

    /// Operations that went wrong so far.
    pub fn hits(&self) -> usize {
        self.watch.lock().unwrap().hits.len()
    }

    pub fn is_poisoned(&self) -> bool {
        self.poison.is_some()
    }

    /// Whether what bytes a file has on the disk may be others than in the cache.
    pub fn may_have_lost(&self) -> bool {
        let watch = self.watch.lock().unwrap();
        let mut hits = watch.hits.iter();
        hits.any(|hit| hit.operation.kind == Kind::Sync)
    }

    pub(super) fn is_nameless(&self) -> bool {
        let watch = self.watch.lock().unwrap();
        let mut hits = watch.hits.iter().map(|hit| &hit.operation);
        let above = |one: &Operation| {
            one.kind == Kind::SyncDir && Path::new(STORE).parent().unwrap().starts_with(&one.path)
        };
        self.is_nameless || hits.any(above)
    }

    pub(super) fn builder(&mut self, sim: &Arc<Sim>) -> Builder {
        self.tick(1);
        let mut builder = manual(Path::new(STORE));
        if self.settings.stamps {
            builder = builder.expire_state_after(StateKind::Failed, AGE);
        }
        builder
            .durability(self.settings.durability)
            .writes(self.settings.writes)
            .reads(self.settings.reads)
            .stamps(self.settings.stamps)
            .env(Env {
                vfs: sim.clone(),
                clock: self.clock.clone(),
                entropy: Arc::new(Seeded::new(self.seconds)),
            })
    }

    /// Lets time pass.
    pub fn tick(&mut self, seconds: u64) {
        self.seconds += seconds;
        self.clock.set(self.seconds);
    }

    /// The time, a second later.
    pub(super) fn moment(&mut self) -> SystemTime {
        self.tick(1);
        at(self.seconds)
    }

    /// Opens the store for writing if it is not open, and compares what it knows.
    /// Whether that could be done.
    pub fn ready(&mut self) -> bool {
        if self.writer.is_none() {
            self.watch.lock().unwrap().begin(User::Writer);
            let before = self.hits();
            let opened = self.builder(&self.sim.clone()).open();
            self.poison = None;
            self.writer = self.judge(Call::Open, before, opened);
            self.unsettled = self.unsettled.or(Some(Left::Accepted));
        }
        let Some(writer) = self.writer.clone() else {
            return false;
        };
        if let Some(left) = self.unsettled
            && let Some(found) = self.scan(&writer, None)
        {
            self.model.settle(&found, writer.position(), left);
            self.unsettled = None;
        }
        self.unsettled.is_none()
    }

    /// A call on the writing handle; `None` after an error.
    pub(super) fn call<T>(
        &mut self,
        what: Call,
        run: impl FnOnce(&Seen) -> Result<T>,
    ) -> Option<T> {
        let writer = self.writer.clone()?;
        self.tick(1);
        let before = self.hits();
        let result = run(&writer);
        let answer = self.judge(what, before, result);
        self.model.durable_position(writer.durable_position());
        answer
    }

    /// An attempt to record keys.
    fn attempt(
        &mut self,
        keys: Vec<Vec<u8>>,
        position: Option<u64>,
        durable: bool,
        run: impl FnOnce(&Seen, &[Vec<u8>]) -> Result<Vec<bool>>,
    ) {
        self.tick(1);
        let record = inserted(self.settings.stamps.then(|| at(self.seconds + 1)));
        let writer = self.writer.clone();
        let before = self.hits();
        self.tick(1);
        let result = writer.as_ref().map(|writer| run(writer, &keys));
        let answer = result.and_then(|result| self.judge(Call::Write, before, result));
        if let Some(new) = &answer {
            assert!(new.iter().all(|&new| new), "a new key is not new");
        }
        self.model.add(Attempt {
            keys,
            changes: Vec::new(),
            expired: 0,
            position,
            record,
            accepted: answer.is_some(),
        });
        if answer.is_some() && (durable || self.settings.durability == Durability::Immediate) {
            self.model.all_durable();
        }
        if let Some(writer) = writer {
            self.model.durable_position(writer.durable_position());
        }
    }

    /// A key that was never used, of about this length.
    pub(super) fn new_key(&mut self, length: usize) -> Vec<u8> {
        self.keys += 1;
        let name = format!("https://example.com/{:08}/", self.keys * 7919 % 10_000_019);
        format!("{name:x<length$}").into_bytes()
    }

    pub fn insert(&mut self) {
        let key = self.new_key(60);
        self.insert_key(key);
    }

    pub fn insert_key(&mut self, key: Vec<u8>) {
        if self.ready() {
            self.attempt(vec![key], None, false, |seen, keys| {
                keys.iter().map(|key| seen.insert(key)).collect()
            });
        }
    }

    pub fn batch(&mut self, count: usize, length: usize, immediate: bool) {
        let keys = (0..count).map(|_| self.new_key(length)).collect();
        self.position += 1;
        if self.ready() {
            let position = self.position;
            self.attempt(keys, Some(position), immediate, |seen, keys| {
                let mut batch = seen.batch();
                for key in keys {
                    batch.insert(key)?;
                }
                batch.position(position);
                if immediate {
                    batch.durability(Durability::Immediate);
                }
                seen.apply(batch).map(|outcome| outcome.new)
            });
        }
    }

    /// The answer that a key is known.
    pub fn insert_known(&mut self) {
        if self.ready()
            && let Some(key) = self.model.last_key()
            && let Some(new) = self.call(Call::Write, |seen| seen.insert(&key))
        {
            assert!(!new, "a known key is new");
            if self.settings.durability == Durability::Immediate {
                self.model.all_durable();
            }
        }
    }

    pub fn sync(&mut self) {
        if self.ready() && self.call(Call::Write, Seen::sync).is_some() {
            self.model.all_durable();
        }
    }

    pub fn flush(&mut self) {
        if self.ready() && self.call(Call::Write, Seen::flush).is_some() {
            self.model.all_durable();
        }
    }

    pub fn compact(&mut self) {
        if self.ready() && self.call(Call::Write, Seen::compact).is_some() {
            self.model.all_durable();
        }
    }

    /// One step of background work; whether there was one.
    pub fn step(&mut self) -> bool {
        self.ready() && self.call(Call::Write, Seen::step).unwrap_or(false)
    }

    pub fn close(&mut self) {
        if self.ready() {
            if self
                .call(Call::Close, |seen| seen.clone().close())
                .is_some()
            {
                self.model.all_durable();
            }
            self.writer = None;
        }
    }

    /// The process dies.
    pub fn kill(&mut self) {
        self.sim = self.sim.kill();
        self.writer = None;
    }

    /// Files that an interrupted flush, and a change of the manifest, could have left.
    pub fn litter(&mut self) {
        let Ok(names) = self.sim.names(STORE) else {
            return;
        };
        for (place, name) in names.iter().enumerate() {
            if let Some((_, kind @ ("log" | "seg"))) = name.split_once('.') {
                let path = Path::new(STORE);
                let bytes = self.sim.read(path.join(name)).unwrap();
                let left = format!("{:06}.{kind}", 900_000 + place);
                self.sim.write(path.join(left), &bytes).unwrap();
            }
        }
        let manifest = Path::new(STORE).join("MANIFEST.tmp");
        self.sim.write(manifest, b"half a manifest").unwrap();
    }
}
