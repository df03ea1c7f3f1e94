//! What a manifest replaced is removed only when that manifest's name is durable, and
//! a store's own name is durable before anything is recorded in it.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests touch files beside the store"
)]

mod support;

use std::sync::Arc;
use support::faults::{Event, Faults, Maps, Op};
use support::{env_on, manual, place};

fn watched(path: &std::path::Path, vfs: &Arc<Faults>) -> Vec<Event> {
    vfs.watch();
    let seen = manual(path).env(env_on(vfs)).open().unwrap();
    drop(seen);
    vfs.events()
}

#[test]
fn left_overs_are_removed_after_the_directory_was_synced() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    seen.insert("a").unwrap();
    // As a flush would be found that died after the rename: its manifest is in
    // force, and the log that it replaced is still there.
    let log = path.join("000001.log");
    let bytes = std::fs::read(&log).unwrap();
    seen.flush().unwrap();
    seen.close().unwrap();
    std::fs::write(&log, bytes).unwrap();

    let events = watched(&path, &Faults::new(Maps::System));
    let removed = events
        .iter()
        .position(|event| event.is(Op::Remove, "000001.log"))
        .unwrap();
    // The sync that whoever renamed the manifest should have done may have failed, and
    // then no later one does what it should have: the manifest is renamed once more.
    let before = &events[..removed];
    let renamed = before
        .iter()
        .rposition(|event| event.is(Op::Rename, "MANIFEST"));
    let synced = before
        .iter()
        .rposition(|event| event.is(Op::SyncDir, "store"));
    assert!(renamed.is_some() && renamed < synced, "{events:?}");
}

#[test]
fn a_creation_that_was_cut_short_makes_the_directorys_name_durable() {
    let (dir, path) = place();
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("LOCK"), b"").unwrap();
    let parent = dir
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let events = watched(&path, &Faults::new(Maps::System));
    let renamed = events
        .iter()
        .position(|event| event.op == Op::Rename)
        .unwrap();
    assert!(
        events[..renamed]
            .iter()
            .any(|event| event.is(Op::SyncDir, &parent)),
        "{events:?}"
    );
}
