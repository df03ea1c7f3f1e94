//! Without a manifest, what a flush or merge was made of can lie beside its output. The output
//! has left out what was forgotten and what has expired: neither comes back, and nothing is
//! lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::vfs::sim::{OperationKind, Sim};
use seendb::{RepairReport, Seen, StateKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use support::damaged::{damage, parts, repair};
use support::{SetClock, assert_clean, copy_dir, env_on, env_with, keys, manual, names, place};

fn url(i: u32) -> String {
    let mixed = u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        "https://example.com/{i:05}/{mixed:016x}{:016x}",
        mixed.wrapping_mul(mixed)
    )
}

fn urls(step: usize) -> Vec<String> {
    (0..9_000).step_by(step).map(url).collect()
}

/// A store of one run in several segments, of which each third key was forgotten, and copies of
/// earlier states of it.
struct Merged {
    _dir: tempfile::TempDir,
    path: PathBuf,
    /// While all keys were in a log.
    logged: PathBuf,
    /// Before the merge: two runs.
    inputs: PathBuf,
    keys: Vec<Vec<u8>>,
}

fn merged() -> Merged {
    let (dir, path) = place();
    let (logged, inputs) = (dir.path().join("logged"), dir.path().join("inputs"));
    let seen = manual(&path).create().unwrap();
    for part in urls(1).chunks(3_000) {
        seen.insert_many(part).unwrap();
    }
    copy_dir(&path, &logged);
    seen.flush().unwrap();
    seen.forget_many(&urls(3)).unwrap();
    seen.flush().unwrap();
    assert_eq!(seen.stats().runs, 2);
    copy_dir(&path, &inputs);
    seen.compact().unwrap();
    seen.close().unwrap();
    assert!(names(&path, ".seg").len() > 2);
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    std::fs::remove_file(inputs.join("MANIFEST")).unwrap();
    let kept = (1..9_000).filter(|i| i % 3 > 0);
    Merged {
        _dir: dir,
        path,
        logged,
        inputs,
        keys: kept.map(|i| url(i).into_bytes()).collect(),
    }
}

impl Merged {
    /// Another copy of the store.
    fn copy(&self) -> (tempfile::TempDir, PathBuf) {
        let (dir, path) = place();
        copy_dir(&self.path, &path);
        (dir, path)
    }

    /// Repairs a store, which must have all keys but those that were forgotten.
    fn repaired(&self, path: &Path) -> RepairReport {
        let (_dir, into) = place();
        let report = repair(path, &into);
        assert_clean(&into);
        let seen = Seen::open_read_only(&into).unwrap();
        assert!(keys(&seen) == self.keys, "{} keys: {report:?}", seen.len());
        assert_eq!(seen.len(), 6_000);
        report
    }

    /// Files of an earlier state that are gone by now.
    fn gone(&self, of: &Path, end: &str) -> Vec<String> {
        let mut names = names(of, end);
        names.retain(|name| !self.path.join(name).exists());
        names
    }
}

fn add(from: &Path, names: &[String], to: &Path) {
    for name in names {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn from_inputs_of_a_merge_beside_its_output() {
    let merged = merged();
    let inputs = merged.gone(&merged.inputs, ".seg");
    assert!(inputs.len() > 2);
    // All of them, and each alone.
    let each = inputs.iter().map(|name| vec![name.clone()]);
    for left in each.chain([inputs.clone()]) {
        let (_dir, path) = merged.copy();
        add(&merged.inputs, &left, &path);
        let report = merged.repaired(&path);
        assert!(report.lost.is_empty() && report.undated.is_empty());
        assert_eq!(report.ignored, left);
        // Nothing but its number tells what one is that has no footer: the output names it.
        for name in &left {
            damage(&path.join(name), |bytes| {
                let at = bytes.len() - 30;
                bytes[at] ^= 1;
            });
        }
        let report = merged.repaired(&path);
        assert!(report.lost.is_empty() && report.undated.is_empty());
        assert_eq!(report.ignored, left);
    }
}

#[test]
fn from_the_log_of_a_flush_beside_its_output_or_what_was_merged_from_that() {
    let merged = merged();
    let log = merged.gone(&merged.logged, ".log");
    assert_eq!(log.len(), 1);
    for beside_inputs in [false, true] {
        let (_dir, path) = merged.copy();
        if beside_inputs {
            std::fs::remove_dir_all(&path).unwrap();
            copy_dir(&merged.inputs, &path);
        }
        add(&merged.logged, &log, &path);
        let report = merged.repaired(&path);
        assert_eq!(report.ignored, log, "{report:?}");
        // Its frames tell the same as its header.
        damage(&path.join(&log[0]), |bytes| bytes[80] ^= 1);
        let report = merged.repaired(&path);
        assert_eq!(report.ignored, log, "{report:?}");
    }
}

#[test]
fn from_inputs_beside_an_output_that_is_not_complete() {
    let merged = merged();
    let outputs = names(&merged.path, ".seg");
    let inputs = merged.gone(&merged.inputs, ".seg");
    for gone in &outputs {
        // Never written, or damaged.
        for is_cut in [false, true] {
            let (_dir, path) = merged.copy();
            add(&merged.inputs, &inputs, &path);
            let file = path.join(gone);
            match is_cut {
                true => damage(&file, |bytes| bytes.truncate(bytes.len() / 2)),
                false => std::fs::remove_file(file).unwrap(),
            }
            let report = merged.repaired(&path);
            let mut ignored = outputs.clone();
            ignored.retain(|name| name != gone);
            assert_eq!(report.ignored, ignored);
            // What is cut lacks what the inputs have.
            assert_eq!(report.lost.len(), usize::from(is_cut), "{report:?}");
            assert_eq!(report.undated.len(), usize::from(is_cut));
        }
        // Inputs are removed from the oldest on: the last has the tombstones.
        let (_dir, path) = merged.copy();
        add(&merged.inputs, &inputs[inputs.len() - 1..], &path);
        damage(&path.join(gone), |bytes| {
            let footer = parts(bytes).footer;
            bytes[footer] ^= 1;
        });
        let report = merged.repaired(&path);
        assert!(report.ignored.is_empty() && report.lost.is_empty());
        assert_eq!(report.undated, [path.join(gone)]);
    }
}

/// So what is left of them has the tombstones.
#[test]
fn inputs_of_a_merge_are_removed_from_the_oldest_on() {
    let sim = Sim::new();
    let seen = manual(Path::new("/store"))
        .env(env_on(&sim))
        .create()
        .unwrap();
    for run in 0..3 {
        seen.insert(url(run)).unwrap();
        seen.flush().unwrap();
    }
    let older = sim.names("/store").unwrap();
    let older = older.into_iter().filter(|name| name.ends_with(".seg"));
    let older: Vec<PathBuf> = older.map(|name| Path::new("/store").join(name)).collect();
    assert_eq!(older.len(), 3);
    sim.watch();
    seen.compact().unwrap();
    let removed = sim
        .trace()
        .into_iter()
        .filter(|one| one.kind == OperationKind::Remove);
    let removed: Vec<PathBuf> = removed
        .map(|one| one.path)
        .filter(|path| older.contains(path))
        .collect();
    assert_eq!(removed, older);
}

/// A run alone is merged for what has expired in it: both have the same batches.
#[test]
fn from_a_run_beside_another_of_the_same_batches() {
    let (dir, path) = place();
    let clock = Arc::new(SetClock::default());
    clock.set(1_700_000_000);
    let day = Duration::from_secs(86_400);
    let open = || {
        let builder = manual(&path).env(env_with(&clock, 1));
        builder.expire_state_after(StateKind::Seen, day)
    };
    let seen = open().create().unwrap();
    seen.insert_many(&urls(3)).unwrap();
    clock.set(1_700_000_000 + 80_000);
    seen.insert_many(&[url(1), url(2)]).unwrap();
    seen.flush().unwrap();
    let before = dir.path().join("before");
    copy_dir(&path, &before);
    clock.set(1_700_000_000 + 90_000);
    seen.compact().unwrap();
    seen.close().unwrap();
    let old = names(&before, ".seg");
    add(&before, &old, &path);
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let into = dir.path().join("new");
    let report = repair(&path, &into);
    assert_eq!(report.ignored, old);
    assert!(report.lost.is_empty(), "{report:?}");
    let is = keys(&Seen::open_read_only(&into).unwrap());
    assert_eq!(is, [url(1).into_bytes(), url(2).into_bytes()]);
}

#[test]
fn from_the_run_of_an_earlier_repair() {
    let merged = merged();
    let (dir, first) = place();
    repair(&merged.path, &first);
    let old = names(&first, ".seg");
    let before = dir.path().join("before");
    copy_dir(&first, &before);
    let seen = manual(&first).open().unwrap();
    assert_eq!(seen.forget_prefix("https://example.com/0").unwrap(), 6_000);
    assert!(seen.insert(url(4)).unwrap());
    seen.flush().unwrap();
    seen.compact().unwrap();
    seen.close().unwrap();
    add(&before, &old, &first);
    std::fs::remove_file(first.join("MANIFEST")).unwrap();
    let second = dir.path().join("second");
    let report = repair(&first, &second);
    assert_eq!((report.entries, &report.ignored), (1, &old));
    assert!(
        Seen::open_read_only(&second)
            .unwrap()
            .contains(url(4))
            .unwrap()
    );
}
