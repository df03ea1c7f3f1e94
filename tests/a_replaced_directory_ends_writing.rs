//! A handle whose directory was removed, and made again by somebody else, touches
//! nothing of theirs.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests touch files beside the store"
)]

mod support;

use seendb::{Error, Seen};
use support::{manual, place};

#[test]
fn the_new_store_keeps_everything() {
    let (_dir, path) = place();
    let old = manual(&path).open().unwrap();
    old.insert("old").unwrap();
    std::fs::remove_dir_all(&path).unwrap();

    let new = manual(&path).open().unwrap();
    for i in 0..1000 {
        assert!(new.insert(format!("new{i}")).unwrap());
    }
    new.sync().unwrap();
    let error = old.close().unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error}");
    new.flush().unwrap();
    new.close().unwrap();

    let again = Seen::open(&path).unwrap();
    assert_eq!(again.len(), 1000);
    assert!(!again.contains("old").unwrap());
    let report = again.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}

#[test]
fn a_removed_one_is_told() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    seen.insert("a").unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    assert!(seen.flush().is_err());
    assert!(!path.exists());
}

#[test]
fn an_empty_path_is_no_store() {
    for opened in [
        Seen::open(""),
        Seen::open_read_only(""),
        Seen::builder("").create(),
    ] {
        assert!(matches!(opened, Err(Error::NotAStore { .. })), "{opened:?}");
    }
    assert!(!std::path::Path::new("LOCK").exists());
}
