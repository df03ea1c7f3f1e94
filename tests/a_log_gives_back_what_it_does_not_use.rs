//! Room is allocated ahead of a log's frames, and given back when it takes no more.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files"
)]

mod support;

use std::path::Path;
use support::faults::{Do, Faults, Maps, Op};
use support::{env_on, manual, place};

const ENOSPC: i32 = 28;
const EMFILE: i32 = 24;

fn log_len(path: &Path, number: u64) -> u64 {
    let log = path.join(format!("{number:06}.log"));
    std::fs::metadata(log).unwrap().len()
}

#[test]
fn when_its_memtable_is_frozen_and_when_it_is_recovered() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    seen.insert("a").unwrap();
    let used = seen.stats().log_bytes;
    assert!(log_len(&path, 1) > used);
    // Frozen, and kept: the flush finds no room.
    vfs.rule(|event| match event.is(Op::Create, ".seg") {
        true => Do::Fail(ENOSPC),
        false => Do::Pass,
    });
    assert!(seen.flush().is_err());
    assert_eq!(log_len(&path, 1), used);
    vfs.heal();
    seen.insert("b").unwrap();
    let number = std::fs::read_dir(&path)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".log")?.parse::<u64>().ok())
        .max()
        .unwrap();
    let used = seen.stats().log_bytes - used;
    assert!(log_len(&path, number) > used);

    let (_copy_dir, copy) = place();
    std::fs::create_dir(&copy).unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let recovered = manual(&copy).open().unwrap();
    assert_eq!(recovered.len(), 2);
    assert_eq!(log_len(&copy, number), used);
}

#[test]
fn the_last_room_is_for_frames() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    seen.insert("a").unwrap();
    // Only writes of at most 64 KiB find room from now on.
    vfs.rule(|event| match event.op {
        Op::Write if event.bytes > 64 << 10 => Do::Fail(ENOSPC),
        _ => Do::Pass,
    });
    for i in 0..4000 {
        assert!(seen.insert(format!("https://example.com/{i:060}")).unwrap());
    }
    assert!(seen.stats().log_bytes > 300 << 10);
}

#[test]
fn a_want_of_descriptors_does_not_end_writing() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    seen.insert("a").unwrap();
    seen.flush().unwrap();
    vfs.rule(|event| match event.op {
        Op::SyncDir | Op::Create | Op::Open => Do::Fail(EMFILE),
        _ => Do::Pass,
    });
    assert!(seen.insert("b").is_err());
    vfs.rule(|event| match event.op {
        Op::SyncDir => Do::Fail(EMFILE),
        _ => Do::Pass,
    });
    assert!(seen.insert("b").is_err());
    vfs.heal();
    assert!(seen.insert("b").unwrap());
    seen.close().unwrap();
}
