//! A name that looks like a log's or a segment's does not make a file the store's.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests touch files beside the store"
)]

mod support;

use seendb::{Error, Seen};
use support::{manual, place};

const NAMES: [&str; 5] = [
    "20240915.log",
    "000777.log",
    "000778.seg",
    "0000000000000002.seg",
    "notes.txt",
];

#[test]
fn they_outlive_every_opening_and_are_reported() {
    let (_dir, path) = place();
    manual(&path).open().unwrap().close().unwrap();
    for name in NAMES {
        std::fs::write(path.join(name), b"not of the store").unwrap();
    }
    // A segment of another store is none of this one's either.
    let (_other, elsewhere) = place();
    let other = manual(&elsewhere).open().unwrap();
    other.insert("b").unwrap();
    other.close().unwrap();
    std::fs::copy(elsewhere.join("000002.seg"), path.join("000900.seg")).unwrap();

    let seen = manual(&path).open().unwrap();
    seen.insert("a").unwrap();
    seen.close().unwrap();
    for name in NAMES {
        let bytes = std::fs::read(path.join(name)).unwrap();
        assert_eq!(bytes, b"not of the store", "{name}");
    }
    assert!(path.join("000900.seg").exists());
    let report = seendb::verify(&path, &mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    let mut expected: Vec<String> = NAMES.iter().map(|name| name.to_string()).collect();
    expected.push("000900.seg".into());
    expected.sort();
    assert_eq!(report.unknown_files, expected);
}

#[test]
fn a_folder_of_dated_logs_is_not_a_store() {
    let (dir, _) = place();
    for day in 1..4 {
        std::fs::write(dir.path().join(format!("2024091{day}.log")), b"GET /\n").unwrap();
    }
    let before = std::fs::read_dir(dir.path()).unwrap().count();
    for opened in [Seen::open(dir.path()), Seen::open_read_only(dir.path())] {
        assert!(matches!(opened, Err(Error::NotAStore { .. })), "{opened:?}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before);
}
