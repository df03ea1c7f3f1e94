//! Where the manifest is lost, numbers of batches decide which of two files is newer, and
//! tell that one is missing; where it is not, it alone says which files count.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Canon, Error, RepairReport, Seen};
use std::ops::ControlFlow;
use std::path::Path;
use support::faults::{Do, Faults, Maps, Op};
use support::{EIO, assert_clean, at, copy_dir, entries, env_on, manual, names, place};

fn repair(from: &Path, into: &Path) -> RepairReport {
    Seen::repair(from, into, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn insert(seen: &Seen, key: &str, seconds: u64) {
    let mut batch = seen.batch();
    batch.insert(key).unwrap();
    batch.at(at(seconds));
    assert_eq!(seen.apply(batch).unwrap().new, [true]);
}

const EMFILE: i32 = 24;
const ENOMEM: i32 = 12;

/// Copies the files of `from` that are not in `to`.
fn add_missing(from: &Path, to: &Path) -> Vec<String> {
    let mut added = names(from, "");
    added.retain(|name| !to.join(name).exists());
    for name in &added {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
    added
}

/// Four runs that overlap, and a copy from before they were merged.
fn merged(path: &Path, before: &Path) {
    let seen = manual(path).create().unwrap();
    for run in 0..4 {
        for part in 0..3 {
            let keys = (0..2_000).map(|i| format!("https://example.com/{i}/{part}/{run}"));
            seen.extend(keys).unwrap();
        }
        seen.flush().unwrap();
    }
    copy_dir(path, before);
    seen.compact().unwrap();
    seen.close().unwrap();
    assert!(names(path, ".seg").len() > 1);
}

#[test]
fn what_a_merge_was_made_of_adds_nothing() {
    let (dir, path) = place();
    let before = dir.path().join("before");
    merged(&path, &before);
    let was = entries(&Seen::open_read_only(&path).unwrap());
    assert_eq!(was.len(), 24_000);
    let added = add_missing(&before, &path);
    assert!(added.len() >= 4);
    // Damage in it is of no interest, as long as the manifest does not name it.
    let superseded = path.join(added.iter().find(|name| name.ends_with(".seg")).unwrap());
    let whole = std::fs::read(&superseded).unwrap();
    let mut bytes = whole.clone();
    bytes[100] ^= 1;
    std::fs::write(&superseded, bytes).unwrap();
    let report = repair(&path, &dir.path().join("named"));
    assert!(
        report.lost.is_empty() && report.damage.is_empty(),
        "{report:?}"
    );
    assert_eq!(report.ignored, added);
    assert!(entries(&Seen::open_read_only(dir.path().join("named")).unwrap()) == was);

    std::fs::write(&superseded, whole).unwrap();
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let report = repair(&path, &dir.path().join("found"));
    assert!(report.lost.is_empty(), "{report:?}");
    assert_eq!(report.ignored, added);
    assert!(entries(&Seen::open_read_only(dir.path().join("found")).unwrap()) == was);
    assert_clean(&dir.path().join("found"));
}

#[test]
fn a_merge_that_was_never_finished_takes_nothing_away() {
    let (dir, path) = place();
    let before = dir.path().join("before");
    merged(&path, &before);
    let was = entries(&Seen::open_read_only(&path).unwrap());
    // The inputs, and the first segment of the output, whole and cut.
    std::fs::remove_file(before.join("MANIFEST")).unwrap();
    let first = names(&path, ".seg")[0].clone();
    let bytes = std::fs::read(path.join(&first)).unwrap();
    for len in [bytes.len(), bytes.len() / 2, 10] {
        std::fs::write(before.join(&first), &bytes[..len]).unwrap();
        let into = dir.path().join(format!("new {len}"));
        let report = repair(&before, &into);
        // What is cut lacks something, though not the store.
        let is_cut = len < bytes.len();
        assert!(
            report
                .lost
                .iter()
                .all(|lost| is_cut && lost.path.ends_with(&first))
        );
        assert!(
            entries(&Seen::open_read_only(&into).unwrap()) == was,
            "{len}"
        );
    }
}

#[test]
fn the_later_batch_decides_and_not_the_number_of_the_file() {
    let (dir, path) = place();
    let fork = dir.path().join("fork");
    let seen = manual(&path).create().unwrap();
    insert(&seen, "x", 1_000);
    seen.flush().unwrap();
    copy_dir(&path, &fork);
    // Here the key comes late, in a file with a small number.
    for i in 0..10 {
        insert(&seen, &format!("y{i}"), 1_500);
    }
    insert(&seen, "k", 3_000);
    seen.close().unwrap();
    // There it comes early, in one with a large number.
    let seen = manual(&fork).open().unwrap();
    insert(&seen, "k", 2_000);
    seen.flush().unwrap();
    seen.compact().unwrap();
    seen.close().unwrap();
    let numbers = (names(&path, ".seg"), names(&fork, ".seg"));
    assert!(numbers.0.last() < numbers.1.last(), "{numbers:?}");
    add_missing(&fork, &path);
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let into = dir.path().join("new");
    let report = repair(&path, &into);
    assert!(report.lost.is_empty(), "{report:?}");
    assert_eq!(report.entries, 12);
    let new = Seen::open_read_only(&into).unwrap();
    let first_seen = |key: &str| new.get(key).unwrap().unwrap().first_seen;
    assert_eq!(first_seen("k"), Some(at(3_000)));
    assert_eq!(first_seen("x"), Some(at(1_000)));
}

#[test]
fn a_log_beside_the_segment_that_was_flushed_from_it_adds_nothing() {
    let (dir, path) = place();
    let before = dir.path().join("before");
    let seen = manual(&path).create().unwrap();
    insert(&seen, "a", 1_000);
    insert(&seen, "b", 2_000);
    copy_dir(&path, &before);
    seen.flush().unwrap();
    insert(&seen, "c", 3_000);
    let was = entries(&seen);
    let copy = dir.path().join("copy");
    copy_dir(&path, &copy);
    assert_eq!(add_missing(&before, &copy).len(), 1);
    std::fs::remove_file(copy.join("MANIFEST")).unwrap();
    let into = dir.path().join("new");
    let report = repair(&copy, &into);
    assert!(report.lost.is_empty(), "{report:?}");
    assert_eq!(entries(&Seen::open_read_only(&into).unwrap()), was);
}

#[test]
fn batches_that_are_in_no_file_are_told() {
    for gone in 0..3 {
        let (dir, path) = place();
        let seen = manual(&path).create().unwrap();
        for run in 0..3 {
            for i in 0..10 {
                insert(&seen, &format!("{run}/{i}"), 1_000);
            }
            seen.flush().unwrap();
        }
        insert(&seen, "in the log", 2_000);
        let copy = dir.path().join("copy");
        copy_dir(&path, &copy);
        std::fs::remove_file(copy.join("MANIFEST")).unwrap();
        let segments = names(&copy, ".seg");
        assert_eq!(segments.len(), 3);
        std::fs::remove_file(copy.join(&segments[gone])).unwrap();
        let into = dir.path().join("new");
        let report = repair(&copy, &into);
        let [lost] = report.lost.as_slice() else {
            panic!("{report:?}");
        };
        let first = 10 * gone as u64 + 1;
        assert_eq!(
            (lost.first_batch, lost.last_batch),
            (Some(first), Some(first + 9))
        );
        assert_eq!(report.entries, 21);
        // It is told once: the new store knows that they are gone.
        std::fs::remove_file(into.join("MANIFEST")).unwrap();
        let again = repair(&into, &dir.path().join("again"));
        assert!(again.lost.is_empty(), "{again:?}");
        assert_eq!(again.entries, 21);
    }
}

#[test]
fn a_copy_under_another_number_is_not_taken() {
    let (dir, path) = place();
    let seen = manual(&path).create().unwrap();
    insert(&seen, "a", 1_000);
    seen.flush().unwrap();
    insert(&seen, "b", 2_000);
    let copy = dir.path().join("copy");
    copy_dir(&path, &copy);
    let was = entries(&seen);
    for (from, to) in [(".log", "000077.log"), (".seg", "000078.seg")] {
        std::fs::copy(copy.join(&names(&copy, from)[0]), copy.join(to)).unwrap();
    }
    std::fs::remove_file(copy.join("MANIFEST")).unwrap();
    let into = dir.path().join("new");
    let report = repair(&copy, &into);
    assert_eq!(report.ignored, ["000077.log", "000078.seg"]);
    assert!(report.lost.is_empty(), "{report:?}");
    assert_eq!(entries(&Seen::open_read_only(&into).unwrap()), was);
}

#[test]
fn a_file_that_the_disk_does_not_give_at_all_is_lost_and_no_other() {
    for (op, end) in [
        (Op::Open, ".log"),
        (Op::Read, ".log"),
        (Op::Open, ".seg"),
        (Op::Read, ".seg"),
    ] {
        let (dir, path) = place();
        let seen = manual(&path).create().unwrap();
        for run in 0..2 {
            insert(&seen, &format!("run {run}"), 1_000);
            seen.flush().unwrap();
        }
        insert(&seen, "in the log", 2_000);
        let copy = dir.path().join("copy");
        copy_dir(&path, &copy);
        std::fs::remove_file(copy.join("MANIFEST")).unwrap();
        let bad = names(&copy, end)[0].clone();
        let vfs = Faults::new(Maps::System);
        let repair = |code: i32, into: &str| {
            let bad = bad.clone();
            vfs.rule(move |event| match event.is(op, &bad) {
                true => Do::Fail(code),
                false => Do::Pass,
            });
            Seen::builder(&copy)
                .canon(Canon::raw())
                .env(env_on(&vfs))
                .repair_into(dir.path().join(into), &mut |_| ControlFlow::Continue(()))
        };
        let report = repair(EIO, "new").unwrap();
        let what = format!("{op:?} {bad}: {report:?}");
        let of_file = report.lost.iter().filter(|lost| lost.path.ends_with(&bad));
        let [lost] = of_file.collect::<Vec<_>>()[..] else {
            panic!("{what}");
        };
        assert!(matches!(lost.damage, Error::Io { .. }), "{what}");
        assert_eq!((report.entries, report.ignored.len()), (2, 0), "{what}");
        assert_clean(&dir.path().join("new"));
        // Want of descriptors or memory is no damage.
        for code in [EMFILE, ENOMEM] {
            let error = repair(code, "refused").unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{error}");
            assert!(!dir.path().join("refused").exists());
        }
    }
}
