//! Positions are stored with their batch, in order, and only go up.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Durability, Error, Seen};
use std::sync::Arc;
use support::faults::{Do, Faults, Gate, Maps, Op};
use support::{env_on, manual, place};

fn apply(seen: &Seen, key: &str, position: u64) -> Result<Vec<bool>, Error> {
    let mut batch = seen.batch();
    batch.insert(key)?;
    batch.position(position);
    seen.apply(batch).map(|outcome| outcome.new)
}

#[test]
fn a_stale_position_changes_nothing() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    assert_eq!((seen.position(), seen.durable_position()), (None, None));
    assert_eq!(apply(&seen, "a", 10).unwrap(), [true]);
    for stale in [0, 9, 10] {
        match apply(&seen, "b", stale).unwrap_err() {
            Error::StalePosition { given, last } => assert_eq!((given, last), (stale, 10)),
            other => unreachable!("{other}"),
        }
    }
    assert!(!seen.contains("b").unwrap());
    assert_eq!((seen.len(), seen.position()), (1, Some(10)));
    assert_eq!(apply(&seen, "a", 11).unwrap(), [false]);
    assert_eq!(seen.position(), Some(11));
    assert_eq!(apply(&seen, "c", u64::MAX).unwrap(), [true]);
    assert!(apply(&seen, "d", u64::MAX).is_err());
}

#[test]
fn a_position_survives_flush_merge_and_reopening() {
    let (_dir, path) = place();
    for round in 1..=12 {
        let seen = manual(&path).open().unwrap();
        let last = (round > 1).then(|| (round - 1) * 10);
        assert_eq!((seen.position(), seen.durable_position()), (last, last));
        apply(&seen, &format!("key{round}"), round * 10).unwrap();
        if round % 3 == 0 {
            // A memtable without a position keeps that of the one before.
            seen.flush().unwrap();
            seen.insert(format!("without{round}")).unwrap();
            seen.flush().unwrap();
        }
        if round % 5 == 0 {
            seen.compact().unwrap();
        }
        assert_eq!(seen.position(), Some(round * 10));
        let reader = Seen::open_read_only(&path).unwrap();
        assert_eq!(reader.position(), Some(round * 10));
        drop(seen);
    }
}

#[test]
fn a_position_is_durable_only_after_a_sync() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    apply(&seen, "a", 1).unwrap();
    assert_eq!(seen.durable_position(), None);
    seen.sync().unwrap();
    assert_eq!(seen.durable_position(), Some(1));
    apply(&seen, "b", 2).unwrap();
    assert_eq!(seen.durable_position(), Some(1));
    seen.flush().unwrap();
    assert_eq!(seen.durable_position(), Some(2));
    let mut batch = seen.batch();
    batch.position(3).durability(Durability::Immediate);
    seen.apply(batch).unwrap();
    assert_eq!(seen.durable_position(), Some(3));
}

#[test]
fn a_sync_that_ends_late_does_not_take_the_position_back() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    apply(&seen, "a", 10).unwrap();
    let gate = Arc::new(Gate::default());
    gate.shut();
    let at_gate = gate.clone();
    vfs.rule(move |event| {
        if event.is(Op::Sync, ".log") {
            at_gate.pass();
        }
        Do::Pass
    });
    std::thread::scope(|scope| {
        let sync = scope.spawn(|| seen.sync().unwrap());
        gate.wait_for_somebody();
        apply(&seen, "b", 20).unwrap();
        assert_eq!(seen.position(), Some(20));
        gate.open();
        sync.join().unwrap();
    });
    assert_eq!(seen.durable_position(), Some(10));
    assert_eq!(seen.position(), Some(20));
}
