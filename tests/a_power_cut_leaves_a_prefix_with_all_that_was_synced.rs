//! The power is cut at every operation on the disk, and again at every operation of the
//! recovery. What is there afterwards is a prefix of what was accepted, with everything
//! that was synced; batches are whole; nothing is invented, and nothing forgotten comes
//! back; no token is given twice; the store goes on working.
//!
//! `SEENDB_TEST_LONG=1` tries about twenty times as many.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use seendb::Durability;
use seendb::vfs::sim::{Fault, Operation, Sim};
use std::collections::HashSet;
use std::sync::Arc;
use support::workload::{
    How, INTERVAL, Model, PATH, Session, Setting, Step, inserts, settings, steps,
};

/// What was tried.
#[derive(Default)]
struct Tried {
    workloads: u64,
    /// Cuts, each with a disk of its own.
    first: u64,
    second: u64,
    disks: HashSet<u64>,
    /// Disks of the present workload, each with what must be on it.
    known: HashSet<(u64, usize, usize, bool)>,
}

impl Tried {
    /// Whether a disk was not tried yet with that much to be found on it.
    fn is_new(&mut self, disk: &Sim, told: &Model) -> bool {
        let fingerprint = disk.fingerprint();
        self.disks.insert(fingerprint);
        let accepted = told.accepted.len();
        self.known
            .insert((fingerprint, told.durable, accepted, told.pending.is_some()))
    }
}

/// How many disks are tried at each cut.
struct Effort {
    first: u64,
    second: u64,
    /// Recoveries are cut on one disk of so many.
    every: u64,
}

#[test]
fn with_every_answer_durable() {
    all(Durability::Immediate, 1);
}

#[test]
fn with_syncs_at_intervals() {
    all(INTERVAL, 2);
}

#[test]
fn with_syncs_when_asked_for() {
    all(Durability::Manual, 3);
}

fn all(durability: Durability, seed: u64) {
    let mut tried = Tried::default();
    let effort = Effort {
        first: 6,
        second: 1,
        every: 8,
    };
    for round in 0..support::long() {
        for (number, setting) in settings(durability).into_iter().enumerate() {
            let seed = seed * 1_000_000 + round * 1_000 + number as u64;
            let fills = round % 10 == 9;
            let steps = steps(seed, if fills { 12 } else { 30 }, fills);
            cut_everywhere(setting, seed, &steps, &effort, &mut tried);
        }
    }
    support::tell(&format!(
        "{durability:?}: {} workloads, {} power cuts and {} second ones during recovery, {} distinct disks",
        tried.workloads,
        tried.first,
        tried.second,
        tried.disks.len()
    ));
    assert!(tried.first > 500 && tried.second > 1_000);
}

/// Runs the steps again and again, each time with the power cut one operation later.
fn cut_everywhere(setting: Setting, seed: u64, steps: &[Step], effort: &Effort, tried: &mut Tried) {
    let whole = session(&Sim::new(), setting, seed);
    whole.sim.watch();
    let whole = ran(whole, steps);
    let operations = changes(&whole.sim);
    drop(whole);
    tried.workloads += 1;
    tried.known.clear();
    for operation in &operations {
        let sim = Sim::new();
        cut_at(&sim, operation.number);
        let mut cut = session(&sim, setting, seed);
        let outcome = cut.run(steps);
        assert!(!sim.has_power(), "{operation} was not reached: {outcome:?}");
        let power_cut = sim.power_cut();
        let few = power_cut.outcomes() <= 2 * effort.first;
        let count = if few {
            power_cut.outcomes()
        } else {
            effort.first
        };
        for number in 0..count {
            let at = || format!("{setting:?}, seed {seed}, cut at {operation}, disk {number}");
            let disk = match few {
                true => power_cut.outcome(number),
                false => power_cut.disk(seed ^ (operation.number << 20) ^ number),
            };
            if !tried.is_new(&disk, &cut.model) {
                continue;
            }
            tried.first += 1;
            recover(&disk.copy(), &cut, &at);
            if (operation.number + number) % effort.every == 0 {
                cut_recovery(&disk, &cut, effort, tried, &at);
            }
        }
    }
}

/// Cuts the power at every operation of what follows the first cut.
fn cut_recovery(
    disk: &Arc<Sim>,
    cut: &Session,
    effort: &Effort,
    tried: &mut Tried,
    at: &dyn Fn() -> String,
) {
    let whole = disk.copy();
    whole.watch();
    let mut after = resumed(&whole, cut);
    go_on(&mut after).unwrap_or_else(|error| panic!("{}: {error}", at()));
    for operation in &changes(&whole) {
        let again = disk.copy();
        cut_at(&again, operation.number);
        let mut after = resumed(&again, cut);
        let outcome = go_on(&mut after);
        if again.has_power() {
            panic!("{}, then at {operation}: not reached: {outcome:?}", at());
        }
        let power_cut = again.power_cut();
        for number in 0..effort.second.min(power_cut.outcomes()) {
            let at = || format!("{}, then cut at {operation}, disk {number}", at());
            let disk = power_cut.disk(operation.number.wrapping_mul(31) ^ number);
            if tried.is_new(&disk, &after.model) {
                tried.second += 1;
                recover(&disk, &after, &at);
            }
        }
    }
}

/// Opens the store after a power cut, by a reader first, and uses it.
fn recover(disk: &Arc<Sim>, cut: &Session, at: &dyn Fn() -> String) {
    let mut after = resumed(disk, cut);
    after.clock.set(after.now);
    // A store whose creation was cut short is none yet.
    if let Ok(reader) = after.builder().open_read_only() {
        let checked = after.model.check(&reader, after.setting, after.now, false);
        checked.unwrap_or_else(|wrong| panic!("{}: a reader: {wrong}", at()));
    } else if disk
        .names(PATH)
        .is_ok_and(|names| names.contains(&"MANIFEST".into()))
    {
        panic!("{}: a reader: {:?}", at(), after.builder().open_read_only());
    }
    go_on(&mut after).unwrap_or_else(|error| panic!("{}: {error}", at()));
}

/// Opens the store, checks what it holds, and uses it in every way.
fn go_on(after: &mut Session) -> Result<(), String> {
    let error = |error: seendb::Error| error.to_string();
    after.open().map_err(error)?;
    let count = check(after, false)?;
    if let Some(seen) = &after.seen {
        after.model.settle(seen, count)?;
    }
    if after.setting.durability == Durability::Immediate {
        after.model.durable = count;
    }
    let positions = after.model.accepted.iter().filter_map(|one| one.position);
    let position = positions.max().unwrap_or(0) + 7;
    let steps = [
        Step::Insert(3),
        inserts(vec![900, 901, 1], Some(position)),
        Step::Forget(900),
        Step::Claim(904),
        Step::Claim(5),
        Step::Settle(904, How::Fetched(200)),
        Step::Sync,
        Step::Insert(902),
        Step::Close,
        Step::Insert(903),
        Step::Flush,
        Step::Compact,
    ];
    after.run(&steps).map_err(error)?;
    check(after, true)?;
    let seen = after.seen.take();
    seen.map_or(Ok(()), seendb::Seen::close).map_err(error)?;
    if !after.sim.has_power() {
        // A removal that fails is told to nobody.
        return Err("no power".into());
    }
    tidy(&after.sim)
}

/// Nothing is left but the lock, the manifest, segments, and what a power loss gave the
/// bytes of something else, so that it cannot be known for the store's.
fn tidy(sim: &Sim) -> Result<(), String> {
    let is_log = |name: &String| {
        let bytes = sim.read(format!("{PATH}/{name}")).unwrap();
        bytes.starts_with(b"seenLOG") || bytes.iter().all(|&byte| byte == 0)
    };
    let mut names = sim.names(PATH).unwrap();
    names.retain(|name| !["LOCK", "MANIFEST"].contains(&name.as_str()) && !name.ends_with(".seg"));
    names.retain(|name| !name.ends_with(".log") || is_log(name));
    match names.is_empty() {
        true => Ok(()),
        false => Err(format!("{names:?} at the end")),
    }
}

/// Checks the open store; how many operations it holds.
fn check(after: &Session, all: bool) -> Result<usize, String> {
    let Some(seen) = &after.seen else {
        return Err("no store is open".into());
    };
    let count = after.model.check(seen, after.setting, after.now, all)?;
    let report = seen.verify(&mut |_| {}).map_err(|e| e.to_string())?;
    if !report.damage.is_empty() || !report.leftovers.is_empty() {
        return Err(format!("verify: {report:?}"));
    }
    Ok(count)
}

fn session(sim: &Arc<Sim>, setting: Setting, seed: u64) -> Session {
    Session::new(sim.clone(), setting, seed)
}

fn ran(mut session: Session, steps: &[Step]) -> Session {
    session.run(steps).unwrap();
    session
}

/// A session on another disk that knows what the one before was told.
fn resumed(disk: &Arc<Sim>, before: &Session) -> Session {
    let mut after = session(disk, before.setting, 77);
    after.now = before.now + 1_000;
    after.model = before.model.clone();
    after
}

fn changes(sim: &Sim) -> Vec<Operation> {
    let trace = sim.trace().into_iter();
    trace.filter(|operation| operation.kind.changes()).collect()
}

fn cut_at(sim: &Sim, number: u64) {
    sim.rule(move |operation| (operation.number == number).then_some(Fault::PowerCut));
}
