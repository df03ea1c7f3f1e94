//! A full disk: a clear error, nothing recorded that was not reported, nothing
//! lost that was, no endless wait, and work again once there is room.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::Canon;
use std::time::Duration;
use support::faults::{Do, Faults, Maps, Op};
use support::{ENOSPC, assert_clean, env_on, is_os, keys, manual, names, place, small, within};

const BOTH: [Maps; 2] = [Maps::System, Maps::Never];

#[test]
fn no_room_for_the_log_is_an_error_and_nothing_is_recorded() {
    for maps in BOTH {
        let (_dir, path) = place();
        let vfs = Faults::new(maps);
        let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
        // The first append makes a log; later ones extend it.
        for before in [0, 1, 700] {
            for i in 0..before {
                seen.insert(format!("{before}/{i:0600}")).unwrap();
            }
            let len = seen.len();
            let position = seen.position();
            vfs.rule(|event| match event.op {
                Op::Write if event.name.ends_with(".log") => Do::FailAfter(ENOSPC),
                Op::Create => Do::Fail(ENOSPC),
                _ => Do::Pass,
            });
            let mut batch = seen.batch();
            // Larger than any room that was allocated ahead and not yet used.
            for i in 0..3 {
                batch
                    .insert(format!("lost/{before}/{i}/{}", "x".repeat(60_000)))
                    .unwrap();
            }
            batch.position(1000 + before);
            let mut failed = 0;
            for _ in 0..3 {
                match seen.apply(batch.clone()) {
                    Err(error) => {
                        assert!(is_os(&error, ENOSPC), "{error}");
                        failed += 1;
                    }
                    // There was room ahead for the first.
                    Ok(_) => break,
                }
                assert_eq!((seen.len(), seen.position()), (len, position));
                assert!(
                    !seen
                        .contains(format!("lost/{before}/0/{}", "x".repeat(60_000)))
                        .unwrap()
                );
            }
            assert!(failed > 0 || maps == Maps::System);
            vfs.heal();
            if failed > 0 {
                assert_eq!(seen.apply(batch).unwrap().new, [true; 3]);
            }
        }
        let expected = keys(&seen);
        let (_other, copy) = place();
        support::copy_dir(&path, &copy);
        let copied = manual(&copy).open().unwrap();
        assert_eq!(keys(&copied), expected);
        assert!(copied.recovery().cuts.is_empty());
        drop(seen);
        assert_clean(&path);
    }
}

#[test]
fn a_full_disk_stops_writers_at_their_memory_with_its_error() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = small(&path)
        .canon(Canon::raw())
        .env(env_on(&vfs))
        .open()
        .unwrap();
    seen.insert("before").unwrap();
    // Logs find room, segments do not.
    vfs.rule(|event| match event.op {
        Op::Create | Op::Write if event.name.ends_with(".seg") => Do::Fail(ENOSPC),
        _ => Do::Pass,
    });
    let writer = seen.clone();
    let count = within(
        Duration::from_secs(60),
        "a writer on a full disk",
        move || {
            for i in 0.. {
                match writer.insert(format!("{i:0500}")) {
                    Ok(new) => assert!(new),
                    Err(error) => {
                        assert!(is_os(&error, ENOSPC), "{error}");
                        return i;
                    }
                }
            }
            unreachable!()
        },
    );
    // Three memtables of 1 MiB, an eighth of which is not for entries.
    assert!((4_000..7_000).contains(&count), "{count}");
    assert!(is_os(&seen.stats().last_error.unwrap(), ENOSPC));
    // Reads go on, and so does the answer that something is known.
    assert!(seen.contains("before").unwrap());
    assert!(!seen.insert("before").unwrap());
    assert_eq!(seen.insert_many(&["before", "before"]).unwrap(), [false; 2]);
    for i in (0..count).step_by(97) {
        assert!(seen.contains(format!("{i:0500}")).unwrap());
    }
    assert_eq!(seen.len(), count + 1);
    // The next is told at once too.
    let writer = seen.clone();
    let error = within(Duration::from_secs(20), "the next writer", move || {
        (0..3000u64).find_map(|i| writer.insert(format!("more/{i:0500}")).err())
    });
    assert!(is_os(&error.unwrap(), ENOSPC));

    vfs.heal();
    let writer = seen.clone();
    within(
        Duration::from_secs(60),
        "a writer with room again",
        move || {
            for i in 0..5000 {
                assert!(writer.insert(format!("after/{i:0500}")).unwrap());
            }
        },
    );
    seen.compact().unwrap();
    assert!(seen.stats().last_error.is_none());
    seen.close().unwrap();
    assert_clean(&path);
}

#[test]
fn a_merge_without_room_keeps_its_inputs_and_writers_go_on() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    let mut expected = Vec::new();
    for i in 0..12 {
        for j in 0..20 {
            let key = format!("{j:02}/{i:02}");
            seen.insert(&key).unwrap();
            expected.push(key.into_bytes());
        }
        seen.flush().unwrap();
    }
    expected.sort();
    let before = names(&path, ".seg");
    let runs = seen.stats().runs;
    for op in [Op::Create, Op::Write, Op::Sync] {
        vfs.rule(move |event| match event.is(op, ".seg") {
            true => Do::Fail(ENOSPC),
            false => Do::Pass,
        });
        assert!(is_os(&seen.compact().unwrap_err(), ENOSPC));
        assert!(seen.step().is_err());
        assert_eq!(names(&path, ".seg"), before);
        assert_eq!(seen.stats().runs, runs);
        assert_eq!(keys(&seen), expected);
    }
    // The manifest's temporary file finds no room either.
    vfs.rule(
        |event| match event.name.contains("MANIFEST.tmp") && event.op != Op::Remove {
            true => Do::Fail(ENOSPC),
            false => Do::Pass,
        },
    );
    assert!(is_os(&seen.compact().unwrap_err(), ENOSPC));
    assert_eq!(names(&path, ".seg"), before);
    vfs.heal();
    seen.compact().unwrap();
    assert_eq!(seen.stats().runs, 1);
    assert_eq!(keys(&seen), expected);
    seen.close().unwrap();
    assert_clean(&path);
}

/// Who flushes again and again on a full disk takes no more memory each time.
#[test]
fn flushes_without_room_pile_up_no_memtables() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    vfs.rule(|event| match event.is(Op::Create, ".seg") {
        true => Do::Fail(ENOSPC),
        false => Do::Pass,
    });
    for i in 0..20 {
        assert!(seen.insert(format!("{i}")).unwrap());
        assert!(is_os(&seen.flush().unwrap_err(), ENOSPC));
        assert!(
            seen.stats().memtables <= 3,
            "{} memtables",
            seen.stats().memtables
        );
    }
    vfs.heal();
    seen.flush().unwrap();
    assert_eq!(seen.stats().memtable_entries, 0);
    assert_eq!(keys(&seen).len(), 20);
}

/// After a caller's flush failed, the store's own thread goes on trying.
#[test]
fn a_flush_that_failed_is_tried_again_by_itself() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = small(&path)
        .canon(Canon::raw())
        .env(env_on(&vfs))
        .open()
        .unwrap();
    vfs.rule(|event| match event.is(Op::Create, ".seg") {
        true => Do::Fail(ENOSPC),
        false => Do::Pass,
    });
    seen.insert("a").unwrap();
    // The caller's attempt comes first, or the thread's.
    let _ = seen.flush();
    vfs.heal();
    let waiting = seen.clone();
    within(Duration::from_secs(20), "a flush", move || {
        while waiting.stats().memtables > 1 {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    assert_eq!(seen.stats().runs, 1);
}
