//! After a sync that failed, what it should have saved reads well as long as the system
//! runs, and the next sync says that all is well: nothing may rest on that.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::vfs::sim::{Fault, Operation, OperationKind as Kind, Sim};
use seendb::{Durability, Error, Seen};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{EIO, env_on, is_os, is_poisoned, keys, manual};

const STORE: &str = "/store";
const SEEDS: u64 = 40;

fn open(sim: &Arc<Sim>, durability: Durability) -> Seen {
    manual(Path::new(STORE))
        .durability(durability)
        .env(env_on(sim))
        .open()
        .unwrap()
}

fn is_sync_of_log(operation: &Operation) -> bool {
    operation.kind == Kind::Sync && operation.path.extension().is_some_and(|end| end == "log")
}

/// The length that the manifest records of a log, and answers that a URL is known, rest
/// on what opening read.
#[test]
fn by_the_opening_that_reads_the_log() {
    for durability in [Durability::Manual, Durability::Immediate] {
        for seed in 0..SEEDS {
            let sim = Sim::new();
            let seen = open(&sim, Durability::Manual);
            seen.insert("synced").unwrap();
            seen.sync().unwrap();
            let mut batch = seen.batch();
            batch.insert("lost").unwrap();
            batch.position(7);
            seen.apply(batch).unwrap();
            sim.rule(|operation| is_sync_of_log(operation).then_some(Fault::Error(EIO)));
            assert!(is_poisoned(&seen.sync().unwrap_err(), EIO));
            sim.heal();

            let next = sim.kill();
            let seen = open(&next, durability);
            assert_eq!(keys(&seen), [b"lost".to_vec(), b"synced".to_vec()]);
            assert_eq!(seen.durable_position(), Some(7));
            // Makes a log, and with it a manifest with the length of the one before.
            assert!(seen.insert("new").unwrap());
            assert!(!seen.insert("lost").unwrap());

            let seen = open(&next.power_cut().disk(seed), Durability::Manual);
            assert!(seen.contains("synced").unwrap());
            assert!(seen.contains("lost").unwrap(), "seed {seed}");
            assert_eq!(seen.position(), Some(7));
            assert!(durability == Durability::Manual || seen.contains("new").unwrap());
        }
    }
}

/// The manifest that opening read may never be durable: what it replaced is needed then.
#[test]
fn by_the_opening_that_removes_leftovers() {
    for compact in [false, true] {
        for seed in 0..SEEDS {
            let sim = Sim::new();
            let seen = open(&sim, Durability::Manual);
            for key in ["a", "b", "c"] {
                seen.insert(key).unwrap();
                if compact || key != "c" {
                    seen.flush().unwrap();
                }
            }
            let renamed = AtomicBool::new(false);
            sim.rule(move |operation| {
                renamed.fetch_or(operation.kind == Kind::Rename, Ordering::SeqCst);
                let after = operation.kind == Kind::SyncDir && renamed.load(Ordering::SeqCst);
                after.then_some(Fault::Error(EIO))
            });
            let failed = match compact {
                true => seen.compact(),
                false => seen.flush(),
            };
            assert!(is_poisoned(&failed.unwrap_err(), EIO));
            sim.heal();

            let next = sim.kill();
            let seen = open(&next, Durability::Manual);
            let report = seen.verify(&mut |_| {}).unwrap();
            assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
            // The removals may be durable although nothing else is.
            let seen = open(&next.power_cut().disk(seed), Durability::Manual);
            assert_eq!(keys(&seen), [b"a", b"b", b"c"], "seed {seed}");
        }
    }
}

/// Under `Immediate` a reader syncs the log before it tells what is in it.
#[test]
fn by_a_reader() {
    let sim = Sim::new();
    let seen = open(&sim, Durability::Immediate);
    seen.insert("before").unwrap();
    let read = || {
        manual(Path::new(STORE))
            .env(env_on(&sim.beside()))
            .open_read_only()
            .unwrap()
    };
    let reader = read();
    seen.insert("after").unwrap();
    sim.rule(|operation| is_sync_of_log(operation).then_some(Fault::Error(EIO)));
    assert!(is_os(&reader.refresh().unwrap_err(), EIO));
    sim.heal();
    sim.watch();
    for _ in 0..3 {
        assert!(is_os(&reader.refresh().unwrap_err(), EIO));
        assert_eq!(keys(&reader), [b"before"]);
    }
    assert!(!sim.trace().iter().any(is_sync_of_log), "synced again");
    // The writer is told as well, as it had the file open.
    assert!(matches!(seen.insert("x"), Err(Error::Poisoned { .. })));
    assert_eq!(keys(&seen), [b"after".to_vec(), b"before".to_vec()]);
    drop(seen);
    let seen = open(&sim, Durability::Immediate);
    seen.flush().unwrap();
    reader.refresh().unwrap();
    assert!(reader.contains("after").unwrap());
}
