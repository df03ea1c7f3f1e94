//! Failing writes, syncs, renames and reads: a clear error, nothing recorded that
//! was not reported, and nothing lost that was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::{Canon, Durability, Error, Seen};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::faults::{Do, Faults, Maps, Op};
use support::{
    EINTR, EIO, ENOSPC, assert_clean, env_on, is_os, is_poisoned, keys, manual, names, place,
    small, within,
};

const BOTH: [Maps; 2] = [Maps::System, Maps::Never];

#[test]
fn every_single_failure_keeps_the_store_as_it_was() {
    // The operation that fails is counted on from the first, over a run that
    // makes logs, flushes and merges, until none is left to fail.
    let mut tried = 0;
    for maps in BOTH {
        for (op, code) in [
            (Op::Create, ENOSPC),
            (Op::Write, ENOSPC),
            (Op::Sync, EIO),
            (Op::Rename, EIO),
            (Op::SyncDir, EIO),
            (Op::Open, EIO),
            (Op::Read, EIO),
        ] {
            for number in 0.. {
                let (_dir, path) = place();
                let vfs = Faults::new(maps);
                let count = AtomicU64::new(0);
                let hit = Arc::new(AtomicU64::new(0));
                let was_hit = hit.clone();
                vfs.rule(move |event| {
                    if event.op != op || count.fetch_add(1, Ordering::SeqCst) != number {
                        // Real syncs would only make this slow.
                        return match event.op {
                            Op::Sync | Op::SyncDir => Do::Skip,
                            _ => Do::Pass,
                        };
                    }
                    was_hit.fetch_add(1, Ordering::SeqCst);
                    match op {
                        Op::Write => Do::FailAfter(code),
                        _ => Do::Fail(code),
                    }
                });
                let acknowledged = run_through(&path, &vfs);
                vfs.sync_nothing();
                let seen = manual(&path)
                    .env(env_on(&vfs))
                    .open()
                    .unwrap_or_else(|error| panic!("{op:?} {number}: {error}"));
                let found = keys(&seen);
                for key in &acknowledged {
                    assert!(found.contains(key), "{op:?} {number}: {key:?} is lost");
                }
                seen.insert("works again").unwrap();
                seen.compact().unwrap();
                seen.close().unwrap();
                assert_clean(&path);
                tried += 1;
                if hit.load(Ordering::SeqCst) == 0 {
                    break;
                }
            }
        }
    }
    println!("{tried} single failures");
}

/// Inserts, flushes and merges, whatever fails. What was acknowledged, after
/// checks that the handle itself knows it and nothing else.
fn run_through(path: &std::path::Path, vfs: &Arc<Faults>) -> Vec<Vec<u8>> {
    let mut acknowledged = Vec::new();
    let Ok(seen) = manual(path).env(env_on(vfs)).open() else {
        return acknowledged;
    };
    for i in 0..6u32 {
        let key = format!("key{i:02}").into_bytes();
        if seen.insert(&key).is_ok_and(|new| new) {
            acknowledged.push(key);
        } else if let Ok(found) = seen.contains(&key) {
            assert!(!found, "an insert that failed is there");
        }
        let mut batch = seen.batch();
        let pair = [
            format!("pair{i:02}a").into_bytes(),
            format!("pair{i:02}b").into_bytes(),
        ];
        for key in &pair {
            batch.insert(key).unwrap();
        }
        batch
            .position(u64::from(i) + 1)
            .durability(Durability::Immediate);
        if seen.apply(batch).is_ok() {
            acknowledged.extend(pair);
            assert_eq!(seen.durable_position(), Some(u64::from(i) + 1));
        } else if let Ok(found) = seen.get_many(&pair) {
            assert!(
                found.iter().all(Option::is_none),
                "a batch that failed is there"
            );
        }
        let _ = seen.flush();
        let _ = seen.step();
    }
    let _ = seen.compact();
    if let Ok(scan) = seen.scan("")
        && let Ok(all) = scan.collect::<Result<Vec<_>, _>>()
    {
        let mut expected = acknowledged.clone();
        expected.sort();
        assert!(all.into_iter().map(|(key, _)| key).eq(expected));
    }
    let _ = seen.close();
    acknowledged
}

#[test]
fn a_failed_sync_ends_writing_until_the_store_is_reopened() {
    for maps in BOTH {
        let (_dir, path) = place();
        let vfs = Faults::new(maps);
        let seen = manual(&path)
            .durability(Durability::Immediate)
            .env(env_on(&vfs))
            .open()
            .unwrap();
        seen.insert("before").unwrap();
        vfs.rule(|event| match event.is(Op::Sync, ".log") {
            true => Do::Fail(EIO),
            false => Do::Pass,
        });
        vfs.watch();
        assert!(is_poisoned(&seen.insert("failed").unwrap_err(), EIO));
        vfs.heal();
        // Absent in this handle, and every write has the first cause.
        assert_eq!(seen.get("failed").unwrap(), None);
        assert_eq!(
            seen.get_many(&["failed", "before"])
                .unwrap()
                .iter()
                .flatten()
                .count(),
            1
        );
        assert_eq!((seen.len(), keys(&seen)), (1, vec![b"before".to_vec()]));
        for refused in [
            seen.insert("failed").map(|_| ()),
            seen.insert("before").map(|_| ()),
            seen.insert_many(&["other"]).map(|_| ()),
            seen.sync(),
            seen.flush(),
            seen.compact(),
            seen.step().map(|_| ()),
        ] {
            assert!(is_poisoned(&refused.unwrap_err(), EIO));
        }
        assert!(seen.contains("before").unwrap());
        // It was never tried again.
        let syncs = vfs
            .events()
            .iter()
            .filter(|event| event.is(Op::Sync, ""))
            .count();
        assert_eq!(syncs, 1);
        assert!(is_poisoned(&seen.close().unwrap_err(), EIO));

        let seen = manual(&path).open().unwrap();
        assert!(seen.contains("before").unwrap());
        // Wholly there or wholly absent: and a new handle takes it.
        let known = seen.contains("failed").unwrap();
        assert_eq!(seen.insert("failed").unwrap(), !known);
        seen.close().unwrap();
        assert_clean(&path);
    }
}

#[test]
fn a_failed_sync_in_the_background_is_told_to_the_next_writer() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = small(&path)
        .canon(Canon::raw())
        .durability(Durability::Interval(Duration::from_millis(1)))
        .env(env_on(&vfs))
        .open()
        .unwrap();
    vfs.rule(
        |event| match event.is(Op::Sync, ".log") && event.bytes == 0 {
            true => Do::Fail(EIO),
            false => Do::Pass,
        },
    );
    let writer = seen.clone();
    let error = within(Duration::from_secs(20), "the failure", move || {
        (0..)
            .find_map(|i: u64| writer.insert(format!("{i}")).err())
            .unwrap()
    });
    // The first log could not be made, or the sync behind it failed.
    assert!(is_poisoned(&error, EIO) || is_os(&error, EIO), "{error}");
    let len = seen.len();
    assert_eq!(keys(&seen).len() as u64, len);
}

#[test]
fn a_failed_rename_or_directory_sync_keeps_both_old_and_new_files() {
    for (op, what) in [
        (Op::Rename, Do::Fail(EIO)),
        (Op::Rename, Do::FailAfter(EIO)),
        (Op::SyncDir, Do::Fail(EIO)),
    ] {
        for compact in [false, true] {
            let (_dir, path) = place();
            let vfs = Faults::new(Maps::System);
            let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
            for i in 0..3 {
                seen.insert(format!("key{i}")).unwrap();
                if compact || i < 2 {
                    seen.flush().unwrap();
                }
            }
            let before: Vec<String> = [names(&path, ".seg"), names(&path, ".log")].concat();
            let renamed = AtomicU64::new(0);
            vfs.rule(move |event| {
                // The directory's sync that follows a rename.
                if event.op == Op::Rename {
                    renamed.fetch_add(1, Ordering::SeqCst);
                }
                if event.op == op && renamed.load(Ordering::SeqCst) > 0 {
                    what
                } else {
                    Do::Pass
                }
            });
            let error = if compact {
                seen.compact()
            } else {
                seen.flush()
            }
            .unwrap_err();
            assert!(is_poisoned(&error, EIO), "{error}");
            vfs.heal();
            let after: Vec<String> = [names(&path, ".seg"), names(&path, ".log")].concat();
            assert!(
                before.iter().all(|name| after.contains(name)),
                "{before:?} {after:?}"
            );
            assert_eq!(after.len(), before.len() + 1);
            assert!(is_poisoned(&seen.insert("x").unwrap_err(), EIO));
            assert_eq!(keys(&seen).len(), 3);
            drop(seen);
            assert_clean(&path);
            let seen = manual(&path).open().unwrap();
            assert_eq!(keys(&seen).len(), 3);
            seen.insert("x").unwrap();
            seen.compact().unwrap();
        }
    }
}

#[test]
fn a_frame_that_can_neither_be_written_nor_cut_back_ends_writing() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::Never);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    seen.insert("before").unwrap();
    vfs.rule(|event| match event.op {
        Op::Write if event.name.ends_with(".log") => Do::FailAfter(ENOSPC),
        Op::SetLen => Do::Fail(EIO),
        _ => Do::Pass,
    });
    assert!(is_poisoned(&seen.insert("torn").unwrap_err(), ENOSPC));
    vfs.heal();
    assert!(is_poisoned(&seen.insert("torn").unwrap_err(), ENOSPC));
    assert_eq!(keys(&seen), [b"before"]);
    drop(seen);
    let seen = manual(&path).open().unwrap();
    assert_eq!(seen.recovery().cuts.len(), 1);
    assert_eq!(keys(&seen), [b"before"]);
    assert!(seen.insert("torn").unwrap());
}

#[test]
fn interrupted_and_short_transfers_are_continued() {
    for maps in BOTH {
        let (_dir, path) = place();
        let vfs = Faults::new(maps);
        let count = AtomicU64::new(0);
        vfs.rule(move |event| match event.op {
            Op::Read | Op::Write => match count.fetch_add(1, Ordering::SeqCst) % 3 {
                0 => Do::Fail(EINTR),
                n => Do::Short(n as usize * 700),
            },
            _ => Do::Pass,
        });
        let open = || {
            manual(&path)
                .reads(seendb::Reads::Pread)
                .env(env_on(&vfs))
                .open()
                .unwrap()
        };
        let seen = open();
        for i in 0..2000 {
            assert!(seen.insert(format!("{i:0100}")).unwrap());
        }
        let (_other, copy) = place();
        support::copy_dir(&path, &copy);
        let copied: Seen = manual(&copy).env(env_on(&vfs)).open().unwrap();
        assert_eq!(copied.len(), 2000);
        seen.compact().unwrap();
        drop(seen);
        let seen = open();
        assert_eq!(keys(&seen).len(), 2000);
        assert!(seen.contains(format!("{:0100}", 77)).unwrap());
        assert!(seen.verify(&mut |_| {}).unwrap().damage.is_empty());
    }
}

#[test]
fn a_read_that_fails_is_an_error_and_no_answer() {
    for reads in [seendb::Reads::Pread, seendb::Reads::Map] {
        let (_dir, path) = place();
        let vfs = Faults::new(Maps::System);
        let seen = manual(&path).reads(reads).env(env_on(&vfs)).open().unwrap();
        for i in 0..3000 {
            seen.insert(format!("{i:0100}")).unwrap();
        }
        seen.flush().unwrap();
        seen.insert("zz").unwrap();
        seen.flush().unwrap();
        vfs.rule(|event| match event.is(Op::Read, ".seg") {
            true => Do::Fail(EIO),
            false => Do::Pass,
        });
        let key = format!("{:0100}", 1234);
        if reads == seendb::Reads::Pread {
            for failed in [
                seen.get(&key).map(|_| ()),
                seen.insert(&key).map(|_| ()),
                seen.insert_many(&[&key]).map(|_| ()),
                seen.get_many(&[&key]).map(|_| ()),
            ] {
                assert!(is_os(&failed.unwrap_err(), EIO));
            }
        }
        let scan = seen
            .scan("")
            .and_then(|scan| scan.collect::<Result<Vec<_>, Error>>());
        assert!(is_os(&scan.unwrap_err(), EIO));
        assert!(is_os(&seen.compact().unwrap_err(), EIO));
        vfs.heal();
        assert!(seen.contains(&key).unwrap());
        assert_eq!(keys(&seen).len(), 3001);
        seen.compact().unwrap();
        assert_eq!(keys(&seen).len(), 3001);
        // An error in a log is no end of it.
        seen.insert("in the log").unwrap();
        let (_other, copy) = place();
        support::copy_dir(&path, &copy);
        vfs.rule(
            |event| match event.is(Op::Read, ".log") && event.bytes > 100 {
                true => Do::Fail(EIO),
                false => Do::Pass,
            },
        );
        assert!(is_os(
            &manual(&copy).env(env_on(&vfs)).open().unwrap_err(),
            EIO
        ));
    }
}
