//! Files that are missing, exchanged, older, doubled, or directories: each answer is right, or
//! an error that names the file.
//!
//! What cannot be told: a log whose writer was killed and that was replaced by an older
//! version of itself looks as if it had been cut behind that one's last frame; and a store
//! without any key whose manifest is lost looks as if it had never been made.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/damage/mod.rs"]
mod damage;
mod support;

use damage::specimen::{DIR, End, Files, Kind, Specimen, disk, files};
use damage::{Expect, Trials, expect};
use seendb::vfs::Vfs;
use seendb::{Driver, Error, Seen};
use std::path::Path;
use support::{Seeded, env_on, manual};

/// Every specimen, with a number that tells their seeds apart.
fn specimens(seed: u64) -> impl Iterator<Item = Specimen> {
    Kind::all()
        .into_iter()
        .map(move |kind| Specimen::new(Kind { seed, ..kind }))
}

fn whole(specimen: &Specimen) -> Expect {
    Expect::Frames(specimen.frames.len(), None)
}

#[test]
fn when_it_is_missing() {
    let mut trials = Trials::default();
    for specimen in specimens(1) {
        trials.try_files(&specimen, "none", &specimen.files, "nothing");
        for name in specimen.files.keys() {
            let mut files = specimen.files.clone();
            files.remove(name);
            trials.try_files(&specimen, "missing", &files, &format!("{name} removed"));
        }
    }
}

#[test]
fn when_it_is_of_another_store() {
    let mut trials = Trials::default();
    for (specimen, other) in specimens(1).zip(specimens(2)) {
        let names: Vec<_> = specimen.files.keys().collect();
        assert_eq!(names, other.files.keys().collect::<Vec<_>>());
        for name in names {
            let mut files = specimen.files.clone();
            files.insert(name.clone(), other.files[name].clone());
            let what = format!("{name} of another store");
            trials.try_files(&specimen, "of another store", &files, &what);
        }
    }
}

#[test]
fn when_it_has_the_name_of_another() {
    let mut trials = Trials::default();
    for specimen in specimens(1) {
        let names: Vec<_> = specimen.files.keys().collect();
        for (place, a) in names.iter().enumerate() {
            for b in &names[place + 1..] {
                let mut files = specimen.files.clone();
                files.insert(a.to_string(), specimen.files[*b].clone());
                files.insert(b.to_string(), specimen.files[*a].clone());
                let what = format!("{a} and {b} exchanged");
                trials.try_files(&specimen, "exchanged", &files, &what);
                files.insert(b.to_string(), specimen.files[*b].clone());
                let what = format!("{b} in the place of {a}");
                trials.try_files(&specimen, "in another's place", &files, &what);
            }
        }
    }
}

/// An older manifest names files that are gone, or does not name one that has entries: it is
/// never the beginning of a store that has forgotten them.
#[test]
fn when_it_is_older() {
    let mut trials = Trials::default();
    let mut manifests = 0;
    for specimen in specimens(1) {
        for name in specimen.files.keys() {
            let mut before: Option<&Vec<u8>> = None;
            for older in &specimen.history {
                let Some(bytes) = older.get(name).filter(|bytes| Some(*bytes) != before) else {
                    continue;
                };
                before = Some(bytes);
                let mut files = specimen.files.clone();
                files.insert(name.clone(), bytes.clone());
                let is_older = files != specimen.files;
                manifests += u64::from(name == "MANIFEST" && is_older);
                let what = format!("an older {name}");
                trials.try_files(&specimen, "older", &files, &what);
                if is_older && name == "MANIFEST" {
                    assert_eq!(expect(&specimen, &files), Expect::Error);
                }
            }
        }
    }
    assert!(manifests > 20, "{manifests}");
}

/// A file of the store's own that the manifest does not name has nothing that counts.
#[test]
fn when_it_is_there_twice() {
    let mut trials = Trials::default();
    for specimen in specimens(1) {
        for (name, bytes) in &specimen.files {
            for other in [
                "000099.seg",
                "000099.log",
                "000000.log",
                "MANIFEST.tmp",
                "000001.log.old",
                "MANIFEST.old",
            ] {
                let mut files = specimen.files.clone();
                files.insert(other.into(), bytes.clone());
                let what = format!("{name} also as {other}");
                trials.try_files(&specimen, "doubled", &files, &what);
            }
        }
        // What was the store's own and is in segments by now.
        for older in &specimen.history {
            let mut files = specimen.files.clone();
            for (name, bytes) in older {
                files.entry(name.clone()).or_insert(bytes.clone());
            }
            trials.try_files(&specimen, "left over", &files, "files of an earlier state");
        }
    }
}

#[test]
fn when_it_is_a_directory() {
    let mut trials = Trials::default();
    for specimen in specimens(1) {
        let all = specimen.files.keys().map(String::as_str);
        for name in all.chain(["000099.seg", "000099.log", "other"]) {
            let mut files = specimen.files.clone();
            files.remove(name);
            let sim = disk(&files);
            sim.create_dir(&Path::new(DIR).join(name)).unwrap();
            let what = format!("{name} as a directory");
            if name == "LOCK" {
                // Readers take no lock.
                let open = |path| manual(path).env(env_on(&sim));
                let error = open(DIR.as_ref()).open().unwrap_err();
                assert!(error.to_string().contains("LOCK"), "{error}");
                let seen = Seen::builder(DIR).env(env_on(&sim)).open_read_only();
                let known = specimen.known(specimen.frames.len());
                assert_eq!(seen.unwrap().len(), known.keys);
                continue;
            }
            let expected = if specimen.files.contains_key(name) {
                Expect::Error
            } else {
                whole(&specimen)
            };
            trials.try_disk(&specimen, "directories", &sim, &what, expected);
        }
    }
}

#[test]
fn when_all_others_are_gone() {
    let mut trials = Trials::default();
    for specimen in specimens(1) {
        for name in specimen.files.keys().filter(|name| *name != "LOCK") {
            let alone = Files::from([(name.clone(), specimen.files[name].clone())]);
            let what = format!("{name} alone");
            trials.try_files(&specimen, "alone", &alone, &what);
        }
    }
    // A lock alone is a creation that was cut short; so is a store without a key that
    // has lost its manifest.
    let sim = disk(&Files::from([("LOCK".into(), Vec::new())]));
    let open = || manual(DIR.as_ref()).env(env_on(&sim));
    assert!(matches!(
        open().open_read_only(),
        Err(Error::NoSuchStore { .. })
    ));
    let seen = open().driver(Driver::Manual).open().unwrap();
    assert!(seen.is_empty());
    seen.close().unwrap();
    sim.delete(Path::new(DIR).join("MANIFEST")).unwrap();
    assert!(matches!(
        open().open_read_only(),
        Err(Error::NoSuchStore { .. })
    ));
    assert!(open().open().unwrap().is_empty());
}

/// A manifest of a closed store in a directory where the store went on: its segments are
/// all there, but so are later ones.
#[test]
fn when_a_copy_is_put_back_over_a_store_that_went_on() {
    for end in [End::Closed, End::Killed] {
        let specimen = Specimen::new(Kind::CLOSED);
        let sim = disk(&specimen.files);
        let env = || seendb::Env {
            entropy: std::sync::Arc::new(Seeded::new(9)),
            ..env_on(&sim)
        };
        let seen = manual(DIR.as_ref()).env(env()).open().unwrap();
        assert!(seen.insert("https://later.example.com/").unwrap());
        let sim = if end == End::Closed {
            seen.close().unwrap();
            sim.clone()
        } else {
            let next = sim.kill();
            drop(seen);
            next
        };
        let mut mixed = files(&sim);
        mixed.extend(specimen.files.clone());
        let mut trials = Trials::default();
        let what = "a copy put back";
        trials.try_disk(&specimen, "put back", &disk(&mixed), what, Expect::Error);
    }
}
