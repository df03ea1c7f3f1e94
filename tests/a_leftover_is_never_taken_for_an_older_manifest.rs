//! An older manifest is refused since files beside it have frames that it does not know of.
//! What a flush, a merge or a change of manifest leaves when it is interrupted is no such
//! file: whatever stops the store, and beside a writer, it opens without an error.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::vfs::sim::{Fault, OperationKind, Sim};
use seendb::{Error, Seen};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{Done, EIO, Seeded, env_on, long, manual, place, small};

const DIR: &str = "/store";

fn open(sim: &Arc<Sim>) -> Result<Seen, Error> {
    manual(Path::new(DIR)).env(env_on(sim)).open()
}

/// Inserts, flushes and merges until something fails; `from` tells the keys of one process
/// from those of another.
fn work(sim: &Arc<Sim>, from: u32) -> Result<(), Error> {
    let seen = open(sim)?;
    for round in 0..3 {
        for i in 0..3 {
            seen.insert(format!("https://example.com/{from}/{round}/{i}"))?;
        }
        if round != 1 {
            seen.sync()?;
        }
        seen.flush()?;
        seen.insert(format!("https://example.com/{from}/{round}/last"))?;
        if round == 1 {
            seen.compact()?;
        }
    }
    seen.close()
}

/// The store opens, for reading and for writing, and nothing in it is damaged.
fn opens(sim: &Arc<Sim>, what: &str) {
    let reader = || manual(Path::new(DIR)).env(env_on(sim));
    match reader().open_read_only() {
        // Its creation was cut short.
        Ok(_) | Err(Error::NoSuchStore { .. }) => {}
        Err(error) => panic!("{what}: {error}"),
    }
    whole(
        &open(sim).unwrap_or_else(|error| panic!("{what}: {error}")),
        what,
    );
}

fn whole(seen: &Seen, what: &str) {
    let report = seen.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{what}: {:?}", report.damage);
    assert!(report.leftovers.is_empty(), "{what}");
}

/// The operations of one process.
fn operations() -> u64 {
    let sim = Sim::new();
    work(&sim, 0).unwrap();
    sim.operations()
}

#[test]
fn after_a_power_cut_or_a_kill_at_any_operation() {
    let seeds = 2 * long();
    for number in 0..operations() {
        let sim = Sim::new();
        sim.rule(move |operation| (operation.number == number).then_some(Fault::PowerCut));
        // A file that cannot be removed is no reason to fail.
        let _ = work(&sim, 0);
        for seed in 0..seeds {
            let what = format!("power cut at operation {number}, seed {seed}");
            opens(&sim.power_cut().disk(seed), &what);
        }
        let sim = Sim::new();
        sim.rule(move |operation| (operation.number >= number).then_some(Fault::Error(EIO)));
        let _ = work(&sim, 0);
        sim.heal();
        opens(&sim.kill(), &format!("killed at operation {number}"));
    }
}

/// After a sync that failed, another process reads pages that the disk does not have, and
/// flushes them; then the power goes.
#[test]
fn after_a_failed_sync_and_a_power_cut() {
    let all = operations();
    let random = Seeded::new(7);
    let rounds = 400 * long();
    for round in 0..rounds {
        let (first, second) = (random.below(all), random.below(all / 2));
        let sim = Sim::new();
        sim.rule(move |operation| {
            let is_sync = matches!(operation.kind, OperationKind::Sync | OperationKind::SyncDir);
            (operation.number >= first && is_sync).then_some(Fault::Error(EIO))
        });
        let _ = work(&sim, 0);
        let next = sim.kill();
        let cut_at = next.operations() + second;
        next.rule(move |operation| (operation.number == cut_at).then_some(Fault::PowerCut));
        let _ = work(&next, 1);
        let what = format!("sync failed from {first} on, cut {second} later, round {round}");
        let disk = next.power_cut().disk(round);
        let seen = open(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
        whole(&seen, &what);
    }
    support::tell(&format!("{rounds} power cuts after a sync that failed"));
}

#[test]
fn beside_a_writer() {
    let (_dir, path) = place();
    let seen = small(&path).open().unwrap();
    seen.insert("https://example.com/").unwrap();
    let stop = AtomicBool::new(false);
    let opened = std::thread::scope(|scope| {
        let _done = Done(&stop);
        scope.spawn(|| {
            for i in 0.. {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                seen.insert(format!("https://example.com/{i}")).unwrap();
                if i % 5 == 0 {
                    seen.flush().unwrap();
                }
                if i % 40 == 0 {
                    seen.compact().unwrap();
                }
            }
        });
        let rounds = 300 * long();
        for _ in 0..rounds {
            let reader = Seen::open_read_only(&path).unwrap();
            assert!(reader.contains("https://example.com/").unwrap());
            let report = seendb::verify(&path, &mut |_| {}).unwrap();
            assert!(report.damage.is_empty(), "{:?}", report.damage);
        }
        rounds
    });
    println!("{opened} readers opened beside a writer");
}
