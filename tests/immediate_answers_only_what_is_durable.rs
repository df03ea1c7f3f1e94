//! Under `Durability::Immediate` nobody is told of an entry before its sync.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Durability, Seen};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;
use support::faults::{Do, Event, Faults, Gate, Maps, Op};
use support::{env_on, keys, long, manual, place};

fn is_log_sync(event: &Event) -> bool {
    event.is(Op::Sync, ".log")
}

/// A store whose log cannot be synced while the gate is shut. One entry is in.
fn open(path: &Path, durability: Durability) -> (Seen, Arc<Gate>, Arc<AtomicU64>) {
    let vfs = Faults::new(Maps::System);
    let seen = manual(path)
        .durability(durability)
        .env(env_on(&vfs))
        .open()
        .unwrap();
    seen.insert("first").unwrap();
    let gate = Arc::new(Gate::default());
    let syncs = Arc::new(AtomicU64::new(0));
    let (at_gate, count) = (gate.clone(), syncs.clone());
    vfs.rule(move |event| {
        if is_log_sync(event) {
            at_gate.pass();
            count.fetch_add(1, Ordering::SeqCst);
        }
        Do::Pass
    });
    (seen, gate, syncs)
}

#[test]
fn nobody_is_told_while_the_sync_is_on() {
    let (_dir, path) = place();
    let (seen, gate, syncs) = open(&path, Durability::Immediate);
    gate.shut();
    let (answers, answered) = channel();
    std::thread::scope(|scope| {
        let insert = {
            let (seen, answers) = (seen.clone(), answers.clone());
            scope.spawn(move || {
                let new = seen.insert("pending").unwrap();
                answers.send("insert").unwrap();
                new
            })
        };
        gate.wait_for_somebody();
        // The same URL, and another one: both rest on what is not durable yet.
        let again = {
            let (seen, answers) = (seen.clone(), answers.clone());
            scope.spawn(move || {
                let new = seen.insert("pending").unwrap();
                answers.send("again").unwrap();
                new
            })
        };
        let many = {
            let (seen, answers) = (seen.clone(), answers.clone());
            scope.spawn(move || {
                let new = seen.insert_many(&["pending", "other", "first"]).unwrap();
                answers.send("many").unwrap();
                new
            })
        };
        assert!(answered.recv_timeout(Duration::from_millis(200)).is_err());
        assert_eq!(seen.get("pending").unwrap(), None);
        assert!(!seen.contains("other").unwrap());
        assert_eq!(keys(&seen), [b"first"]);
        assert_eq!(seen.len(), 1);
        // What is durable is answered without waiting.
        assert!(!seen.insert("first").unwrap());
        assert_eq!(syncs.load(Ordering::SeqCst), 0);
        gate.open();
        assert!(insert.join().unwrap());
        assert!(!again.join().unwrap());
        assert_eq!(many.join().unwrap(), [false, true, false]);
    });
    assert_eq!(seen.len(), 3);
    assert!((1..=3).contains(&syncs.load(Ordering::SeqCst)));
}

#[test]
fn one_batch_can_be_raised_above_the_store() {
    let (_dir, path) = place();
    let (seen, gate, _) = open(&path, Durability::Manual);
    gate.shut();
    std::thread::scope(|scope| {
        let apply = scope.spawn(|| {
            let mut batch = seen.batch();
            batch.insert("raised").unwrap();
            batch.position(3).durability(Durability::Immediate);
            seen.apply(batch).unwrap();
        });
        gate.wait_for_somebody();
        assert!(!seen.contains("raised").unwrap());
        assert_eq!(seen.position(), None);
        gate.open();
        apply.join().unwrap();
    });
    assert!(seen.contains("raised").unwrap());
    assert_eq!(seen.durable_position(), Some(3));
    // The others do not wait.
    gate.shut();
    assert!(seen.insert("not raised").unwrap());
    assert!(seen.contains("not raised").unwrap());
    gate.open();
}

#[test]
fn a_raised_batch_of_known_urls_makes_them_durable() {
    let (_dir, path) = place();
    let (seen, _, syncs) = open(&path, Durability::Manual);
    seen.insert("known").unwrap();
    assert_eq!(syncs.load(Ordering::SeqCst), 0);
    let mut batch = seen.batch();
    batch.insert("known").unwrap();
    batch.durability(Durability::Immediate);
    // The answer rests on an entry that nobody has synced yet.
    assert_eq!(seen.apply(batch).unwrap().new, [false]);
    assert_eq!(syncs.load(Ordering::SeqCst), 1);
}

#[test]
fn every_answer_comes_after_a_sync_of_its_own() {
    let (_dir, path) = place();
    let (seen, _, syncs) = open(&path, Durability::Immediate);
    for i in 0..50 {
        let before = syncs.load(Ordering::SeqCst);
        assert!(seen.insert(format!("{i}")).unwrap());
        assert_eq!(syncs.load(Ordering::SeqCst), before + 1);
        assert!(!seen.insert(format!("{i}")).unwrap());
        assert_eq!(syncs.load(Ordering::SeqCst), before + 1);
    }
}

#[test]
fn concurrent_callers_share_syncs() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path)
        .durability(Durability::Immediate)
        .env(env_on(&vfs))
        .open()
        .unwrap();
    let syncs = Arc::new(AtomicU64::new(0));
    let count = syncs.clone();
    vfs.rule(move |event| {
        if is_log_sync(event) {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
        }
        Do::Pass
    });
    let (threads, each) = (16, 10 * long());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seen = &seen;
            scope.spawn(move || {
                for i in 0..each {
                    assert!(seen.insert(format!("{thread}/{i}")).unwrap());
                }
            });
        }
    });
    let syncs = syncs.load(Ordering::SeqCst);
    println!("{} inserts, {syncs} syncs", threads * each);
    assert!(syncs <= each * 5, "{syncs} syncs");
    assert_eq!(seen.len(), threads * each);
}

/// An insert whose sync succeeds is recorded, whatever happens to another's.
#[test]
fn a_failure_of_another_is_not_ones_own() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::Never);
    let seen = manual(&path)
        .durability(Durability::Immediate)
        .env(env_on(&vfs))
        .open()
        .unwrap();
    seen.insert("first").unwrap();
    let gate = Arc::new(Gate::default());
    gate.shut();
    let at_gate = gate.clone();
    vfs.rule(move |event| {
        if is_log_sync(event) {
            at_gate.pass();
        }
        Do::Pass
    });
    std::thread::scope(|scope| {
        let insert = scope.spawn(|| seen.insert("good"));
        gate.wait_for_somebody();
        vfs.rule(|event| match event.op {
            Op::Write | Op::SetLen => Do::Fail(support::EIO),
            _ => Do::Pass,
        });
        assert!(support::is_poisoned(
            &seen.insert("bad").unwrap_err(),
            support::EIO
        ));
        gate.open();
        let outcome = insert.join().unwrap();
        let known = seen.contains("good").unwrap();
        // An operation that returned an error is absent in this handle.
        assert_eq!(outcome.is_ok(), known, "{outcome:?}");
        assert!(outcome.unwrap());
    });
    assert!(!seen.contains("bad").unwrap());
}
