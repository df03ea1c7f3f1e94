//! Stores on files in memory, run under many schedules.

mod claims;
mod closing;
mod expiry;
mod inserts;
mod memory;
mod poisoning;
mod syncs;
mod views;

use crate::support::{Seeded, SetClock, keys, long};
use memory::Memory;
use seendb::{Builder, Canon, Durability, Env, Seen};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Tries `test` under `count` schedules: those of one half choose at each step who goes
/// on; those of the other keep to an order of threads, but for a few interruptions.
///
/// They are the same in each run, unless `SHUTTLE_RANDOM_SEED` says otherwise, or more
/// are asked for.
fn any_schedule(count: u64, test: fn()) {
    let count = usize::try_from(count * long()).unwrap();
    let start = Instant::now();
    run(RandomScheduler::new_from_seed(1, count / 2), test);
    run(PctScheduler::new_from_seed(2, 3, count / 4), test);
    run(PctScheduler::new_from_seed(3, 6, count / 4), test);
    crate::support::tell(&format!("{count} schedules in {:?}", start.elapsed()));
}

fn run(scheduler: impl Scheduler + 'static, test: fn()) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.max_steps = MaxSteps::FailAfter(100_000);
    config.silence_warnings = true;
    config
        .ungraceful_shutdown_config
        .immediately_return_on_panic = true;
    Runner::new(scheduler, config).run(test);
}

/// Options for a store in `memory`, with threads of its own and memtables of a few
/// kilobytes, that takes nothing from its surroundings.
fn options(memory: &Memory) -> Builder {
    options_at(memory, &Arc::default())
}

/// The same, with a clock of the test's own.
fn options_at(memory: &Memory, clock: &Arc<SetClock>) -> Builder {
    Seen::builder(memory::STORE)
        .canon(Canon::raw())
        .memtable_size(16 << 10)
        .segment_size(64 << 10)
        .durability(Durability::Manual)
        .env(Env {
            vfs: Arc::new(memory.clone()),
            clock: clock.clone(),
            entropy: Arc::new(Seeded::new(1)),
        })
}

/// How often each key was new.
#[derive(Debug, Default)]
struct News(Mutex<BTreeMap<String, u64>>);

impl News {
    fn note(&self, key: &str, new: bool) {
        *self.0.lock().unwrap().entry(key.into()).or_default() += u64::from(new);
    }

    fn insert(&self, seen: &Seen, key: &str) {
        self.note(key, seen.insert(key).unwrap());
        assert!(seen.contains(key).unwrap(), "{key} is gone");
    }

    fn insert_many(&self, seen: &Seen, some: &[&str]) {
        for (key, new) in some.iter().zip(seen.insert_many(some).unwrap()) {
            self.note(key, new);
        }
        let found = seen.get_many(some).unwrap();
        assert!(found.iter().all(Option::is_some), "of {some:?}: {found:?}");
    }

    /// Each key was new once, and these are the store's keys.
    fn check(&self, seen: &Seen) {
        let news = self.0.lock().unwrap();
        assert!(news.values().all(|&times| times == 1), "{news:?}");
        let expected: Vec<_> = news.keys().map(|key| key.clone().into_bytes()).collect();
        assert_eq!(keys(seen), expected);
        assert_eq!(seen.len(), expected.len() as u64);
        for key in &expected {
            assert!(seen.contains(key).unwrap());
        }
    }

    /// The same after closing, in another handle, and nothing on disk is damaged.
    fn check_closed(&self, seen: Seen, memory: &Memory) {
        self.check(&seen);
        seen.close().unwrap();
        let seen = options(memory).open_read_only().unwrap();
        self.check(&seen);
        let report = seen.verify(&mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
        memory.check();
    }
}
