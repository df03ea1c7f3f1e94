//! What an interrupted, failed or killed repair leaves is never taken for a store.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Error, Seen};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use support::faults::{Do, Event, Faults, Maps, Op};
use support::{ENOSPC, assert_clean, copy_dir, env_on, keys, listing, manual, names, place};

const KEYS: u64 = 6_000;

/// A damaged store of some segments and a log.
fn damaged(path: &Path) {
    let (_dir, original) = place();
    let seen = manual(&original).create().unwrap();
    for part in 0..3 {
        let noise = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // More than a repair reads before it begins to write.
        let parts = |i| (0..24).map(move |of| format!("/{:016x}", noise(24 * i + of)));
        let key = |i| format!("https://example.com/{part}{}", parts(i).collect::<String>());
        let keys = (0..KEYS / 3).map(key);
        seen.extend(keys).unwrap();
        if part < 2 {
            seen.flush().unwrap();
        }
    }
    copy_dir(&original, path);
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
}

#[test]
fn interrupted_at_any_moment_it_leaves_nothing() {
    let (dir, path) = place();
    damaged(&path);
    let mut calls = 0;
    let mut last = 0;
    Seen::repair(&path, dir.path().join("all"), &mut |done| {
        calls += 1;
        assert!(done.bytes > last && done.bytes <= done.total);
        last = done.bytes;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(calls > 10, "{calls}");
    let before = listing(&path);
    for there in [false, true] {
        for after in 1..=calls {
            let into = dir.path().join("new");
            if there {
                std::fs::create_dir(&into).unwrap();
            }
            let mut left = after;
            let result = Seen::repair(&path, &into, &mut |_| {
                left -= 1;
                match left {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            assert!(matches!(result, Err(Error::Interrupted { path }) if path == into));
            let left = if into.exists() {
                names(&into, "")
            } else {
                Vec::new()
            };
            assert!(left.is_empty(), "{left:?}");
            assert!(matches!(
                Seen::open_read_only(&into),
                Err(Error::NoSuchStore { .. })
            ));
            std::fs::remove_dir_all(&into).ok();
        }
    }
    assert_eq!(listing(&path), before);
}

/// Counts what changes the new store; those whose number is in `fails` fail.
fn failing(
    vfs: &Faults,
    fails: impl Fn(u64, &Event) -> bool + Send + Sync + 'static,
) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    vfs.rule(move |event: &Event| {
        let changes = !matches!(event.op, Op::Open | Op::Read);
        if changes && fails(counted.fetch_add(1, SeqCst), event) {
            return Do::Fail(ENOSPC);
        }
        Do::Pass
    });
    count
}

/// How many operations change the new store.
fn operations(path: &Path, into: &Path) -> u64 {
    let vfs = Faults::new(Maps::Never);
    let count = failing(&vfs, |_, _| false);
    let builder = Seen::builder(path).env(env_on(&vfs));
    builder
        .repair_into(into, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    count.load(SeqCst)
}

#[test]
fn failed_at_any_write_it_can_be_repeated_into_the_same_place() {
    let (dir, path) = place();
    damaged(&path);
    let all = operations(&path, &dir.path().join("all"));
    assert!(all > 10, "{all}");
    let mut unknown = 0;
    // One failure, or a disk that is full from then on.
    for (nth, full) in (0..all).flat_map(|nth| [(nth, false), (nth, true)]) {
        let into = dir.path().join(format!("new {nth} {full}"));
        let vfs = Faults::new(Maps::Never);
        failing(&vfs, move |number, event| match full {
            true => number >= nth && matches!(event.op, Op::Create | Op::Write),
            false => number == nth,
        });
        let builder = Seen::builder(&path).env(env_on(&vfs));
        let result = builder
            .clone()
            .repair_into(&into, &mut |_| ControlFlow::Continue(()));
        vfs.heal();
        match result {
            Ok(report) => {
                assert_eq!(report.entries, KEYS, "{nth}");
                assert_clean(&into);
                continue;
            }
            Err(Error::Io { .. }) => {}
            Err(other) => panic!("{nth}: {other}"),
        }
        match builder.repair_into(&into, &mut |_| ControlFlow::Continue(())) {
            Ok(report) => assert_eq!(report.entries, KEYS, "{nth}"),
            // It was not known whether the manifest was in force: all was kept.
            Err(Error::AlreadyExists { .. }) => {
                assert_eq!(Seen::open(&into).unwrap().len(), KEYS, "{nth}");
                unknown += 1;
            }
            Err(Error::NotAStore { found, .. }) => {
                assert!(found.contains("repair into it"), "{nth}: {found}");
                assert!(!names(&into, ".seg").is_empty(), "{nth}");
                unknown += 1;
            }
            Err(other) => panic!("{nth}: {other}"),
        }
    }
    // The manifest's name, and the directory.
    assert_eq!(unknown, 2);
}

#[test]
fn killed_at_any_write_it_left_no_store_or_all_of_it() {
    let (dir, path) = place();
    damaged(&path);
    let all = operations(&path, &dir.path().join("all"));
    let whole = keys(&Seen::open_read_only(dir.path().join("all")).unwrap());
    let mut unfinished = 0;
    for nth in 0..all {
        let into = dir.path().join(format!("new {nth}"));
        let vfs = Faults::new(Maps::Never);
        // Nothing takes place any more, the tidying up neither.
        failing(&vfs, move |number, _| number >= nth);
        let result = Seen::builder(&path)
            .env(env_on(&vfs))
            .repair_into(&into, &mut |_| ControlFlow::Continue(()));
        vfs.heal();
        match Seen::open(&into) {
            Ok(new) if !new.is_empty() => {
                assert!(keys(&new) == whole, "{nth}: {result:?}");
                assert!(!into.join("REPAIR.tmp").exists());
                continue;
            }
            // Nothing was there yet.
            Ok(_) => assert!(nth < 3, "{nth}"),
            Err(Error::NotAStore { found, .. }) => {
                assert!(found.contains("repair into it"), "{nth}: {found}");
                unfinished += 1;
            }
            Err(other) => panic!("{nth}: {other}"),
        }
        assert!(result.is_err(), "{nth}");
        if nth < 3 {
            continue;
        }
        // Not even for what it is: it would pass for all that there was.
        let again = Seen::repair(&into, dir.path().join("x"), &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(matches!(again, Err(Error::NotAStore { .. })), "{nth}");
        let into_it = Seen::repair(&path, &into, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(into_it, Err(Error::NotAStore { .. })), "{nth}");
        std::fs::remove_dir_all(&into).unwrap();
        let report = Seen::repair(&path, &into, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(report.entries, KEYS);
    }
    assert!(unfinished > 5, "{unfinished}");
}

#[test]
fn a_store_that_was_made_in_its_place_meanwhile_keeps_everything() {
    for goes_on in [true, false] {
        let (dir, path) = place();
        damaged(&path);
        let into = dir.path().join("new");
        let mut theirs = None;
        let result = Seen::repair(&path, &into, &mut |_| {
            let is_begun = into.exists() && !names(&into, ".seg").is_empty();
            if theirs.is_none() && is_begun {
                std::fs::remove_dir_all(&into).unwrap();
                let seen = manual(&into).create().unwrap();
                // As many files as the repair has made, so that names are the same.
                for key in 0..20 {
                    seen.insert(format!("theirs {key}")).unwrap();
                    seen.flush().unwrap();
                }
                seen.close().unwrap();
                theirs = Some(listing(&into));
                if !goes_on {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        let error = result.unwrap_err();
        if goes_on {
            assert!(error.to_string().contains("removed or replaced"), "{error}");
        } else {
            assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        }
        assert_eq!(Some(listing(&into)), theirs);
        assert_eq!(Seen::open(&into).unwrap().len(), 20);
        assert_clean(&into);
    }
}

#[test]
fn of_two_repairs_neither_takes_files_of_the_other() {
    let (dir, path) = place();
    damaged(&path);
    let into = [dir.path().join("one"), dir.path().join("two")];
    for into in &into {
        Seen::repair(&path, into, &mut |_| ControlFlow::Continue(())).unwrap();
    }
    let store = |path: &Path| {
        let segment = path.join(&names(path, ".seg")[0]);
        std::fs::read(segment).unwrap()[16..40].to_vec()
    };
    let [old, one, two] = [&path, &into[0], &into[1]].map(|path| store(path));
    // The id is the same, and what follows it is not.
    assert!(old[..16] == one[..16] && old[..16] == two[..16]);
    assert!(old != one && old != two && one != two);
    let segment = &names(&into[0], ".seg")[0];
    std::fs::copy(into[1].join(segment), into[0].join(segment)).unwrap();
    let opened = Seen::open(&into[0]).and_then(|seen| seen.contains("x"));
    assert!(matches!(opened, Err(Error::Corrupt(_))), "{opened:?}");
}
