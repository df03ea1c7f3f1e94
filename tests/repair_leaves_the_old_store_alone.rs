//! A repair only reads the damaged store, and makes the new one nowhere else than where
//! there is nothing.
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
use support::{assert_clean, copy_dir, keys, listing, manual, names, place};

fn repair(from: &Path, into: &Path) -> Result<RepairReport, Error> {
    Seen::repair(from, into, &mut |_| ControlFlow::Continue(()))
}

/// A store with a segment and a log, as a kill leaves it.
fn killed(path: &Path) {
    let (_dir, original) = place();
    let seen = manual(&original).create().unwrap();
    seen.insert_many(&["a", "b", "c"]).unwrap();
    seen.flush().unwrap();
    seen.insert_many(&["d", "e"]).unwrap();
    copy_dir(&original, path);
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn no_byte_name_or_time_of_it_changes() {
    for damage in ["none", "manifest", "segment", "log", "lock"] {
        let (dir, path) = place();
        killed(&path);
        std::fs::write(path.join("notes.txt"), "foreign").unwrap();
        std::fs::write(path.join("000900.seg"), "an orphan").unwrap();
        std::fs::write(path.join("MANIFEST.tmp"), "another").unwrap();
        let segment = path.join(&names(&path, ".seg")[0]);
        match damage {
            "manifest" => std::fs::remove_file(path.join("MANIFEST")).unwrap(),
            "segment" => change(&segment, |bytes| bytes[80] ^= 1),
            "log" => change(&path.join(&names(&path, ".log")[0]), |bytes| {
                bytes[100] ^= 1
            }),
            "lock" => std::fs::remove_file(path.join("LOCK")).unwrap(),
            _ => {}
        }
        let before = listing(&path);
        let report = repair(&path, &dir.path().join("new")).unwrap();
        assert_eq!(listing(&path), before, "{damage}");
        let is_lossy = ["segment", "log"].contains(&damage);
        assert_eq!(report.lost.len(), usize::from(is_lossy), "{report:?}");
        assert_eq!(report.ignored, ["000900.seg"]);
    }
}

#[test]
fn a_store_that_is_open_for_writing_is_locked() {
    let (dir, path) = place();
    let into = dir.path().join("new");
    let seen = manual(&path).create().unwrap();
    seen.insert("a").unwrap();
    assert!(matches!(repair(&path, &into), Err(Error::Locked { path: p }) if p == path));
    assert!(!into.exists());
    seen.close().unwrap();
    // And while it is being repaired, nobody else writes to it.
    let mut asked = 0;
    Seen::repair(&path, &into, &mut |_| {
        asked += 1;
        assert!(matches!(Seen::open(&path), Err(Error::Locked { .. })));
        // Nor is the new one opened before it is whole.
        let opened = into.exists().then(|| Seen::open(&into));
        assert!(matches!(opened, None | Some(Err(Error::NotAStore { .. }))));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(asked > 0);
    assert_eq!(keys(&Seen::open(&path).unwrap()), [b"a"]);
}

#[test]
fn a_path_without_a_store_is_refused() {
    let (dir, path) = place();
    let into = dir.path().join("new");
    assert!(matches!(repair(&path, &into), Err(Error::NoSuchStore { path: p }) if p == path));
    assert!(!path.exists());
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(
        repair(&path, &into),
        Err(Error::NoSuchStore { .. })
    ));
    std::fs::write(path.join("notes.txt"), "mine").unwrap();
    assert!(matches!(repair(&path, &into), Err(Error::NotAStore { .. })));
    let file = path.join("notes.txt");
    assert!(matches!(repair(&file, &into), Err(Error::NotAStore { .. })));
    assert!(matches!(
        repair(Path::new(""), &into),
        Err(Error::NotAStore { .. })
    ));
    assert!(!into.exists());
}

#[test]
fn a_place_where_something_is_is_refused() {
    let (dir, path) = place();
    killed(&path);
    let before = listing(&path);
    let refused = |into: &Path, is_right: &dyn Fn(&Error) -> bool| {
        let error = repair(&path, into).unwrap_err();
        assert!(is_right(&error), "{}: {error}", into.display());
        assert_eq!(listing(&path), before, "{}", into.display());
    };
    let inside = |error: &Error| matches!(error, Error::InvalidOption { option: "into", .. });
    let exists = |error: &Error| matches!(error, Error::AlreadyExists { .. });
    let not_a_store = |error: &Error| matches!(error, Error::NotAStore { .. });
    refused(&path, &exists);
    refused(&path.join("."), &exists);
    refused(&path.join("new"), &inside);
    refused(&path.join("deep/below"), &inside);
    refused(&path.join("../store/new"), &inside);
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    refused(&link, &exists);
    refused(&link.join("new"), &inside);

    let other = dir.path().join("other");
    killed(&other);
    let others = listing(&other);
    refused(&other, &exists);
    refused(&other.join("new"), &inside);
    assert_eq!(listing(&other), others);
    let mine = dir.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("notes.txt"), "mine").unwrap();
    refused(&mine, &not_a_store);
    refused(&mine.join("notes.txt"), &not_a_store);
    assert_eq!(std::fs::read(mine.join("notes.txt")).unwrap(), b"mine");

    // A tree of sources with a list of its files is no store; what is left of one is.
    let tree = dir.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("MANIFEST"), "setup.py\nREADME\n").unwrap();
    assert_eq!(repair(&path, &tree.join("new")).unwrap().entries, 5);
    let damaged = dir.path().join("damaged");
    killed(&damaged);
    std::fs::write(damaged.join("MANIFEST"), "nonsense").unwrap();
    std::fs::remove_file(damaged.join("LOCK")).unwrap();
    refused(&damaged.join("new"), &inside);

    // An empty directory will do, and one that is not there yet.
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(repair(&path, &empty).unwrap().entries, 5);
    assert_eq!(repair(&path, &dir.path().join("x/y/z")).unwrap().entries, 5);
    assert_clean(&empty);
}

#[test]
fn files_of_nonsense_are_told_and_never_taken() {
    let (dir, path) = place();
    killed(&path);
    let sparse = |name: &str, len: u64| {
        let file = std::fs::File::create(path.join(name)).unwrap();
        file.set_len(len).unwrap();
    };
    // Huge, empty, random, a directory, a pipe.
    sparse("000100.seg", 64 << 20);
    sparse("000101.log", 64 << 20);
    sparse("000102.seg", 0);
    sparse("000103.log", 0);
    let random = support::Seeded::new(7);
    let noise: Vec<u8> = (0..300_000).map(|_| random.next() as u8).collect();
    std::fs::write(path.join("000104.seg"), &noise).unwrap();
    std::fs::write(path.join("000105.log"), &noise).unwrap();
    std::fs::create_dir(path.join("000106.seg")).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(path.join("000107.log"))
        .status()
        .is_ok_and(|status| status.success());
    let expected = if pipe { 8 } else { 7 };

    let report = repair(&path, &dir.path().join("with a manifest")).unwrap();
    assert_eq!((report.entries, report.lost.len()), (5, 0), "{report:?}");
    assert_eq!(report.ignored.len(), expected);
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let report = repair(&path, &dir.path().join("without one")).unwrap();
    assert_eq!((report.entries, report.lost.len()), (5, 0), "{report:?}");
    assert_eq!(report.ignored.len(), expected);

    // In the place of the store's own files: all is lost, and told.
    let (dir, path) = place();
    killed(&path);
    for (name, len) in [
        (&names(&path, ".seg")[0], 100 << 20),
        (&names(&path, ".log")[0], 50 << 20),
    ] {
        std::fs::remove_file(path.join(name)).unwrap();
        std::fs::File::create(path.join(name))
            .unwrap()
            .set_len(len)
            .unwrap();
    }
    let report = repair(&path, &dir.path().join("new")).unwrap();
    assert_eq!((report.entries, report.lost.len()), (0, 2), "{report:?}");
    assert_clean(&dir.path().join("new"));
}

#[test]
fn files_of_another_store_are_not_taken() {
    let (dir, path) = place();
    killed(&path);
    let other = dir.path().join("other");
    let seen = manual(&other).create().unwrap();
    seen.insert_many(&["x", "y"]).unwrap();
    seen.close().unwrap();
    let theirs = other.join(&names(&other, ".seg")[0]);
    std::fs::copy(&theirs, path.join("000050.seg")).unwrap();
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let report = repair(&path, &dir.path().join("new")).unwrap();
    assert_eq!(report.entries, 5);
    assert_eq!(report.ignored, ["000050.seg"]);
    // In the place of one of its own, it is lost.
    let (dir, path) = place();
    killed(&path);
    std::fs::copy(&theirs, path.join(&names(&path, ".seg")[0])).unwrap();
    let report = repair(&path, &dir.path().join("new")).unwrap();
    assert_eq!((report.entries, report.lost.len()), (2, 1), "{report:?}");
    assert!(
        report.lost[0].to_string().contains("any key"),
        "{}",
        report.lost[0]
    );
}

#[test]
fn only_logs_do_not_tell_the_policy() {
    let (dir, path) = place();
    let seen = manual(&path).create().unwrap();
    seen.insert_many(&["not a URL", "b"]).unwrap();
    let copy = dir.path().join("copy");
    copy_dir(&path, &copy);
    std::fs::remove_file(copy.join("MANIFEST")).unwrap();
    let into = dir.path().join("new");
    let error = repair(&copy, &into).unwrap_err();
    assert!(
        matches!(
            error,
            Error::InvalidOption {
                option: "canon",
                ..
            }
        ),
        "{error}"
    );
    assert!(!into.exists());
    let report = Seen::builder(&copy)
        .canon(Canon::raw())
        .repair_into(&into, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!((report.entries, report.lost.len()), (2, 0), "{report:?}");
    let new = Seen::open(&into).unwrap();
    assert_eq!(*new.canon(), Canon::raw());
    assert!(new.get("not a URL").unwrap().unwrap().first_seen.is_some());
    // Where it is known, another one is refused.
    let error = Seen::builder(&into)
        .canon(Canon::standard())
        .repair_into(dir.path().join("again"), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(error, Err(Error::Locked { .. })));
    new.close().unwrap();
    let error = Seen::builder(&into)
        .canon(Canon::standard())
        .repair_into(dir.path().join("again"), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(error, Err(Error::PolicyMismatch { .. })));
}

#[test]
fn what_is_intact_but_of_a_later_release_is_refused() {
    let (dir, path) = place();
    killed(&path);
    let manifest = path.join("MANIFEST");
    change(&manifest, |bytes| {
        bytes[8] = 9;
        let end = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_le_bytes());
    });
    let into = dir.path().join("new");
    assert!(matches!(
        repair(&path, &into),
        Err(Error::UnsupportedFormat { .. })
    ));
    assert!(!into.exists());
    // No release will ever have such a number: that is damage.
    change(&manifest, |bytes| bytes[8..40].fill(0xa7));
    assert!(matches!(Seen::open(&path), Err(Error::Corrupt(_))));
    assert_eq!(repair(&path, &into).unwrap().entries, 5);
}
