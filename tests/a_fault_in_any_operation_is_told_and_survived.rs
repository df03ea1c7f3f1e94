//! Every operation on the disk in turn goes wrong, in every way: by itself or from then
//! on. The error names it, nothing that was recorded is lost, nothing else is there, and
//! the store goes on.
//!
//! A failure names its trial, and `SEENDB_TEST_TRIAL=log/17` tries that alone.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "a test"
)]

mod support;

use seendb::vfs::sim::Operation;
use seendb::{Durability, Reads, Writes};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use support::long;
use support::trial::plan::Plan;
use support::trial::world::{Settings, World};

type Step = (&'static str, fn(&mut World));

/// What is done to a store, and what was done before.
struct Script {
    name: &'static str,
    before: &'static [Step],
    steps: &'static [Step],
}

const SCRIPTS: [Script; 6] = [
    Script {
        name: "log",
        before: &[],
        steps: &[
            ("create", open),
            ("insert", World::insert),
            ("batch", |w| w.batch(3, 60, false)),
            ("insert a known key", World::insert_known),
            ("open a reader", World::open_reader),
            ("sync", World::sync),
            ("batch", |w| w.batch(2, 60, false)),
            ("let time pass", |w| w.tick(2_000)),
            ("step", step),
            ("refresh", World::refresh),
            ("insert", World::insert),
            ("durable batch", |w| w.batch(2, 60, true)),
            ("close", World::close),
        ],
    },
    Script {
        name: "recovery",
        before: &[
            ("open", open),
            ("insert", World::insert),
            ("flush", World::flush),
            ("insert", World::insert),
            ("batch", |w| w.batch(3, 60, false)),
            ("kill", World::kill),
            ("leave files behind", World::litter),
        ],
        steps: &[
            ("open", open),
            ("insert", World::insert),
            ("kill", World::kill),
            ("open", open),
            ("steps", steps),
            ("insert", World::insert),
            ("verify", |w| w.verify(true)),
        ],
    },
    Script {
        name: "flush",
        before: &[("open", open), ("close", World::close)],
        steps: &[
            ("open", open),
            ("batch", |w| w.batch(30, 200, false)),
            ("open a reader", World::open_reader),
            ("flush", World::flush),
            ("look up", World::look_up),
            ("insert", World::insert),
            ("flush", World::flush),
            ("refresh", World::refresh),
            ("a reader looks up", World::reader_looks_up),
            ("insert", World::insert),
        ],
    },
    Script {
        name: "merge",
        before: &[
            ("open", open),
            ("batch", |w| w.batch(3, 60, false)),
            ("flush", World::flush),
            ("insert", World::insert),
            ("close", World::close),
        ],
        steps: &[
            ("open", open),
            ("insert", World::insert),
            ("compact", World::compact),
            ("look up", World::look_up),
            ("open a reader", World::open_reader),
            ("a reader looks up", World::reader_looks_up),
            ("insert", World::insert),
            ("kill", World::kill),
        ],
    },
    Script {
        name: "growth",
        before: &[("open", open), ("close", World::close)],
        steps: &[
            ("open", open),
            ("large batch", |w| w.batch(2, 60_000, false)),
            ("insert", World::insert),
            ("large batch", |w| w.batch(2, 60_000, false)),
            ("durable batch", |w| w.batch(2, 60, true)),
        ],
    },
    Script {
        name: "records",
        before: &[
            ("open", open),
            ("plant", World::plant),
            ("flush", World::flush),
            ("close", World::close),
        ],
        steps: &[
            ("open", open),
            ("claim", World::claim),
            ("claim", World::claim),
            ("forget", World::forget),
            ("fetch", World::fetch),
            ("flush", World::flush),
            ("look up", World::look_up),
            ("plant", World::plant),
            ("compact", World::compact),
            ("forget", World::forget),
            ("kill", World::kill),
            ("open", open),
            ("fetch", World::fetch),
            ("forget", World::forget),
        ],
    },
];

fn open(world: &mut World) {
    world.ready();
}

fn step(world: &mut World) {
    world.step();
}

fn steps(world: &mut World) {
    while world.step() {}
}

/// Carries a script out. What is on the disk is looked at as soon as something goes
/// wrong.
fn carry_out(world: &mut World, script: &[Step], seed: u64) {
    let name = world.now.0.clone();
    for (place, (step_name, step)) in script.iter().enumerate() {
        world.now.0 = format!("{name}, step {place}, {step_name}");
        let before = world.hits();
        step(world);
        if before == 0 && world.hits() > 0 {
            world.look_up();
            world.check_what_is_left(seed);
        }
    }
}

/// Lets every operation of a script go wrong in every way; of the trials, those that are
/// chosen by their number.
fn try_all(
    script: &Script,
    settings: Settings,
    chosen: impl Fn(u64) -> bool,
    count: &mut BTreeMap<String, u64>,
) {
    let mut before = World::new(settings);
    carry_out(&mut before, script.before, 0);
    let mut right = before.again(script.name, None);
    right.sim.watch();
    carry_out(&mut right, script.steps, 0);
    let forgotten = if script.name == "records" { 3 } else { 0 };
    assert_eq!(right.model.gone().len(), forgotten);
    let operations: Vec<Operation> = right.sim.trace();
    let only = std::env::var("SEENDB_TEST_TRIAL").ok();
    let mut failed = 0;
    let plans = operations.iter().flat_map(Plan::all);
    for (number, plan) in (0..).zip(plans) {
        let trial = format!("{}/{number}", script.name);
        if !only
            .as_ref()
            .map_or_else(|| chosen(number), |only| *only == trial)
        {
            continue;
        }
        let tried = catch_unwind(AssertUnwindSafe(|| {
            let mut world =
                before.again(&format!("trial {trial}, {settings:?}: {plan}"), Some(&plan));
            carry_out(&mut world, script.steps, number);
            assert!(world.hits() > 0, "it did not happen");
            world.check_that_it_heals(number);
        }));
        failed += usize::from(tried.is_err());
        assert!(failed < 12, "too many failures");
        let kind = format!("{:?} {:?} {:?}", plan.first.kind, plan.fault, plan.reach);
        *count.entry(kind).or_default() += 1;
    }
    assert_eq!(
        failed, 0,
        "trials failed; SEENDB_TEST_TRIAL=script/number repeats one"
    );
}

#[test]
fn every_operation_goes_wrong_in_every_way() {
    let usual = Settings {
        durability: Durability::Interval(Duration::from_secs(1)),
        writes: Writes::Map,
        reads: Reads::Map,
        stamps: true,
    };
    let mut count = BTreeMap::new();
    for script in &SCRIPTS {
        try_all(script, usual, |_| true, &mut count);
    }
    tell(&count);
}

/// A part of the trials; in the long form, all of them.
#[test]
fn at_all_settings() {
    let apart = if long() > 1 { 1 } else { 199 };
    let mut count = BTreeMap::new();
    for (which, settings) in (0..).zip(Settings::all()) {
        for script in &SCRIPTS {
            let chosen = |number: u64| number % apart == which % apart;
            try_all(script, settings, chosen, &mut count);
        }
    }
    tell(&count);
}

fn tell(count: &BTreeMap<String, u64>) {
    support::tell(&format!("faults tried: {}", count.values().sum::<u64>()));
    for (what, count) in count {
        println!("{count:7} {what}");
    }
}
