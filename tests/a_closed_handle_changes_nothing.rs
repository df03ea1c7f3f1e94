//! Closing ends all writing by other clones, also by those in the middle of it:
//! the store may be another writer's by then.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Canon, Error, Seen};
use std::time::Duration;
use support::faults::{Do, Faults, Gate, Maps, Op};
use support::{ENOSPC, assert_clean, env_on, keys, listing, manual, place, small, within};

fn is_closed<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Closed { .. }))
}

#[test]
fn every_write_answers_closed() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    seen.insert("a").unwrap();
    let clone = seen.clone();
    seen.close().unwrap();
    let before = listing(&path);
    assert!(is_closed(clone.insert("b")));
    assert!(is_closed(clone.insert_many(&["b"])));
    let mut batch = clone.batch();
    batch.insert("b").unwrap();
    assert!(is_closed(clone.apply(batch)));
    assert!(is_closed(clone.extend(["b"])));
    assert!(is_closed(clone.flush()));
    assert!(is_closed(clone.compact()));
    // What was read before the store was closed is still there.
    assert!(clone.contains("a").unwrap());
    clone.close().unwrap();
    assert_eq!(listing(&path), before);
}

#[test]
fn a_clone_takes_no_step_after_closing() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    // More runs than may stay.
    for i in 0..12 {
        seen.insert(format!("key{i}")).unwrap();
        seen.flush().unwrap();
    }
    let clone = seen.clone();
    seen.close().unwrap();
    let other = manual(&path).open().unwrap();
    let before = listing(&path);
    for _ in 0..20 {
        assert!(is_closed(clone.step()), "a step of a closed handle");
    }
    assert_eq!(listing(&path), before);
    other.compact().unwrap();
    other.close().unwrap();
    assert_clean(&path);
}

#[test]
fn a_merge_that_is_on_when_the_store_is_closed_is_given_up() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = small(&path)
        .canon(Canon::raw())
        .env(env_on(&vfs))
        .open()
        .unwrap();
    let mut expected = Vec::new();
    for run in 0..4 {
        for i in 0..30 {
            let urls: Vec<String> = (0..400).map(|j| format!("{run}/{i}/{j:0200}")).collect();
            seen.insert_many(&urls).unwrap();
            expected.extend(urls.into_iter().map(String::into_bytes));
        }
        seen.flush().unwrap();
    }
    expected.sort();
    let gate = std::sync::Arc::new(Gate::default());
    gate.shut();
    let at_gate = gate.clone();
    vfs.rule(move |event| {
        if event.is(Op::Create, ".seg") {
            at_gate.pass();
        }
        Do::Pass
    });
    let clone = seen.clone();
    let compact = std::thread::spawn(move || clone.compact());
    gate.wait_for_somebody();
    let close = std::thread::spawn(move || seen.close());
    // Time for closing to go wrong.
    std::thread::sleep(Duration::from_millis(100));
    gate.open();
    vfs.heal();
    close.join().unwrap().unwrap();
    // From here on the store is another's.
    let other = small(&path).open().unwrap();
    other.compact().unwrap();
    other.insert("zzz").unwrap();
    other.flush().unwrap();
    let outcome = compact.join().unwrap();
    assert!(outcome.is_ok() || is_closed(outcome));
    expected.push(b"zzz".to_vec());
    assert_eq!(keys(&other), expected);
    other.close().unwrap();
    assert_clean(&path);
    let seen = small(&path).open().unwrap();
    assert_eq!(keys(&seen), expected);
}

#[test]
fn closing_without_room_says_so_and_loses_nothing() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    for i in 0..100 {
        seen.insert(format!("key{i}")).unwrap();
    }
    let clone = seen.clone();
    vfs.fill_disk();
    let error = seen.close().unwrap_err();
    assert!(support::is_os(&error, ENOSPC), "{error}");
    vfs.heal();
    let before = listing(&path);
    assert!(is_closed(clone.step()));
    assert!(is_closed(clone.flush()));
    assert_eq!(listing(&path), before);
    let seen = manual(&path).open().unwrap();
    assert_eq!(seen.recovery().entries, 100);
    assert_eq!(keys(&seen).len(), 100);
}

#[test]
fn a_writer_that_waits_for_room_is_told() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen: Seen = small(&path)
        .env(env_on(&vfs))
        .canon(Canon::raw())
        .open()
        .unwrap();
    let gate = std::sync::Arc::new(Gate::default());
    gate.shut();
    let at_gate = gate.clone();
    vfs.rule(move |event| {
        if event.is(Op::Create, ".seg") {
            at_gate.pass();
        }
        Do::Pass
    });
    let clone = seen.clone();
    let writer = std::thread::spawn(move || {
        let mut count = 0;
        loop {
            match clone.insert(format!("{count:0500}")) {
                Ok(new) => assert!(new),
                Err(error) => return (count, error),
            }
            count += 1;
        }
    });
    gate.wait_for_somebody();
    std::thread::sleep(Duration::from_millis(300));
    let close = std::thread::spawn(move || seen.close());
    std::thread::sleep(Duration::from_millis(50));
    gate.open();
    let (count, error) = within(Duration::from_secs(30), "the writer", move || {
        writer.join().unwrap()
    });
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    close.join().unwrap().unwrap();
    let seen = small(&path).open().unwrap();
    assert_eq!(seen.len(), count);
}
