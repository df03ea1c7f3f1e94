//! A repair takes what is intact of a store of any version, with and without its manifest, and
//! writes a store of the present one.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Canon, Error, Record, RepairReport, Seen, StateKind};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::faults::{Faults, Maps};
use support::{assert_clean, copy_dir, entries, env_on, long, names, place};

const VERSIONS: [u32; 3] = [1, 2, 3];

/// Copies of all stores of a version, whole and damaged, by name.
fn stores(version: u32) -> Vec<(String, tempfile::TempDir, PathBuf)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let of_version = fixtures.join(format!("v{version}"));
    let copied = |name: String| {
        let (dir, path) = place();
        copy_dir(&of_version.join(&name), &path);
        (name, dir, path)
    };
    names(&of_version, "").into_iter().map(copied).collect()
}

/// Repairs a store that may have lost what tells its policy; what is in the new one.
fn repaired(
    path: &Path,
    canon: &Canon,
) -> Result<(RepairReport, BTreeMap<Vec<u8>, Record>), Error> {
    let (_dir, into) = place();
    let report = Seen::builder(path)
        .canon(canon.clone())
        .repair_into(&into, &mut |_| ControlFlow::Continue(()))?;
    assert_clean(&into);
    let seen = Seen::open_read_only(&into).unwrap();
    assert_eq!(seen.len(), report.entries);
    Ok((report, entries(&seen).into_iter().collect()))
}

#[test]
fn all_of_the_whole_ones() {
    for version in VERSIONS {
        let mut whole = 0;
        for (name, _dir, path) in stores(version) {
            let Ok(seen) = Seen::open_read_only(&path) else {
                continue;
            };
            if ["block-with-a-flipped-bit", "log-with-a-torn-tail"].contains(&name.as_str()) {
                continue;
            }
            whole += 1;
            let was: BTreeMap<_, _> = entries(&seen).into_iter().collect();
            let position = seen.position();
            let (report, is) = repaired(&path, seen.canon()).unwrap();
            assert!(report.lost.is_empty() && report.damage.is_empty(), "{name}");
            assert_eq!((&is, report.position), (&was, position), "{version} {name}");
            if names(&path, "").len() == 1 {
                continue;
            }
            std::fs::remove_file(path.join("MANIFEST")).unwrap();
            let (report, is) = repaired(&path, seen.canon()).unwrap();
            assert!(report.lost.is_empty(), "{version} {name}: {report:?}");
            assert_eq!(is, was, "{version} {name}");
            assert_eq!(report.last_position, position, "{version} {name}");
        }
        assert!(whole > 5, "{whole}");
    }
}

/// How many keys of the damaged ones are left: of ten or twenty, or of the three hundred of
/// those with filters of one kind.
#[test]
fn what_is_intact_of_the_damaged_ones() {
    for version in VERSIONS {
        let mut left: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (name, _dir, path) in stores(version) {
            if let Ok((report, is)) = repaired(&path, &Canon::raw())
                && (!report.lost.is_empty() || !report.damage.is_empty())
            {
                left.insert(name, (is.len(), report.lost.len()));
            }
        }
        // Of older versions, this is damage now.
        if version < 3 {
            assert_eq!(left.remove("manifest-of-a-later-version"), Some((20, 0)));
        }
        let expected = [
            ("block-with-a-flipped-bit", (10, 1)),
            ("log-cut-in-its-recorded-part", (8, 1)),
            ("log-with-a-hole-in-its-synced-part", (9, 1)),
            ("log-with-a-torn-tail", (9, 1)),
            ("manifest-with-a-flipped-bit", (20, 0)),
            ("segment-missing", (10, 1)),
        ];
        let expected = expected.map(|(name, left)| (name.to_string(), left));
        let mut expected = BTreeMap::from(expected);
        if version >= 3 {
            // No entry is in a filter, nor in the footer that says how to read it.
            for (name, keys) in [("blocked", 20), ("bloom", 300), ("fuse", 300)] {
                expected.insert(format!("{name}-filter-with-a-flipped-bit"), (keys, 0));
            }
            expected.insert("no-filter-with-a-flipped-bit".into(), (300, 0));
        }
        assert_eq!(left, expected, "{version}");
    }
}

/// One run of version 1, one of this one, and the log of a kill.
#[test]
fn one_that_was_written_to_by_both() {
    for (name, _dir, path) in stores(1) {
        if !["several-runs", "unflushed-log"].contains(&name.as_str()) {
            continue;
        }
        let seen = Seen::open(&path).unwrap();
        let gone = "https://example.com/02";
        assert!(seen.forget(gone).unwrap());
        assert!(seen.insert("https://example.com/later").unwrap());
        seen.flush().unwrap();
        assert!(seen.insert("https://example.com/last").unwrap());
        let was: BTreeMap<_, _> = entries(&seen).into_iter().collect();
        assert!(!was.contains_key(gone.as_bytes()));
        let (_copied, copy) = place();
        copy_dir(&path, &copy);
        for has_manifest in [true, false] {
            if !has_manifest {
                std::fs::remove_file(copy.join("MANIFEST")).unwrap();
            }
            let (report, is) = repaired(&copy, seen.canon()).unwrap();
            assert!(report.lost.is_empty(), "{report:?}");
            assert_eq!(is, was);
        }
    }
}

/// What is not as it was is told: a key that is gone, or shows as it was before.
#[test]
fn records_of_which_any_byte_is_flipped() {
    let vfs = Faults::new(Maps::System);
    vfs.sync_nothing();
    let mut changed = 0;
    for (name, _dir, path) in stores(3) {
        if !["records", "records-in-a-log", "forgotten-without-stamps"].contains(&name.as_str()) {
            continue;
        }
        let was: BTreeMap<_, _> = entries(&Seen::open_read_only(&path).unwrap())
            .into_iter()
            .collect();
        for has_manifest in [true, false] {
            if !has_manifest {
                std::fs::remove_file(path.join("MANIFEST")).unwrap();
            }
            for file in names(&path, "").iter().filter(|name| *name != "MANIFEST") {
                let whole = std::fs::read(path.join(file)).unwrap();
                for at in (0..whole.len()).step_by(if long() > 1 { 1 } else { 3 }) {
                    let mut bytes = whole.clone();
                    bytes[at] ^= [0xff, 1, 0x80][at % 3];
                    std::fs::write(path.join(file), bytes).unwrap();
                    let (_dir, into) = place();
                    let report = Seen::builder(&path)
                        .canon(Canon::raw())
                        .stamps(name != "forgotten-without-stamps")
                        .env(env_on(&vfs))
                        .repair_into(&into, &mut |_| ControlFlow::Continue(()))
                        .unwrap();
                    let is: BTreeMap<_, _> = entries(&Seen::open_read_only(&into).unwrap())
                        .into_iter()
                        .collect();
                    let is_told = !report.lost.is_empty()
                        || !report.undated.is_empty()
                        || !report.ignored.is_empty();
                    let what = format!("byte {at} of {file} of {name}: {report:?}");
                    assert!(is == was || is_told, "{what}");
                    changed += u32::from(is != was);
                    let is_right = |(key, record): (&Vec<u8>, &Record)| {
                        let before = [StateKind::Seen, StateKind::Claimed, StateKind::Failed];
                        was.get(key) == Some(record) || before.contains(&record.state.kind())
                    };
                    assert!(is.iter().all(is_right), "{what}");
                }
                std::fs::write(path.join(file), whole).unwrap();
            }
        }
    }
    assert!(changed > 200, "{changed}");
}
