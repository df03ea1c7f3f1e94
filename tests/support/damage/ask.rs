//! Asks a store for everything, and compares.

use super::oracle::Expect;
use super::specimen::{DIR, Specimen};
use seendb::vfs::sim::Sim;
use seendb::{Builder, Cut, Error, Seen};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

/// Asks a store that is at `dir`.
#[derive(Debug)]
pub struct Asker<'a> {
    pub specimen: &'a Specimen,
    pub dir: &'a Path,
    /// Damage in several places may look like a later version's.
    pub allow_unsupported: bool,
}

/// Who asks.
pub enum Role<'a> {
    Reader,
    /// On a disk that can be taken from it.
    Writer(Option<&'a Sim>),
}

impl Asker<'_> {
    /// Reads everything and checks everything, and judges what was found.
    pub fn verify(&self, builder: Builder, expected: Expect) {
        let mut asked = Asked::default();
        match builder.verify(&mut |_| {}) {
            Ok(report) => {
                if report.damage.is_empty()
                    && let Expect::Frames(count, _) = expected
                {
                    assert_eq!(report.entries, self.specimen.known(count).written);
                    asked.frames = Some(count);
                }
                asked.cuts = report.cuts;
                asked.errors = report.damage;
            }
            Err(error) => asked.errors.push(error),
        }
        for error in &asked.errors {
            self.check_error(error);
        }
        asked.check(expected);
    }

    /// Asks for everything.
    pub fn ask(&self, builder: Builder, role: &Role<'_>) -> Asked {
        let specimen = self.specimen;
        let asked = Cell::new(Asked::default());
        let note = |error: Error| {
            self.check_error(&error);
            let mut so_far = asked.take();
            so_far.errors.push(error);
            asked.set(so_far);
        };
        let opened = match role {
            Role::Writer(_) => builder.open(),
            Role::Reader => builder.open_read_only(),
        };
        let seen = match opened {
            Ok(seen) => seen,
            Err(error) => {
                note(error);
                return asked.into_inner();
            }
        };
        let frames =
            (0..=specimen.frames.len()).find(|&frames| specimen.known(frames).keys == seen.len());
        let frames = frames.unwrap_or_else(|| panic!("a store of {} entries", seen.len()));
        assert_eq!(seen.position(), specimen.known(frames).position);
        ask_for_all(specimen, &seen, frames, &note);
        if let Role::Writer(sim) = role {
            insert_all(specimen, &seen, frames, &note);
            // A merge meets the damage, or goes around it: nothing is lost.
            match seen.compact() {
                Ok(()) => {}
                Err(error) => note(error),
            }
            for (key, record) in &specimen.known(frames).entries {
                match seen.get(key) {
                    Ok(found) => assert_eq!(found, Some(record.clone())),
                    Err(error) => note(error),
                }
            }
            if let Some(sim) = sim {
                // It need not be closed in order.
                let _ = sim.kill();
            }
        }
        let mut asked = asked.into_inner();
        asked.frames = Some(frames);
        asked.cuts.clone_from(&seen.recovery().cuts);
        asked
    }

    /// Every error says where, what and what to do.
    fn check_error(&self, error: &Error) {
        let text = error.to_string();
        match error {
            Error::Corrupt(corrupt) => {
                assert!(corrupt.path.starts_with(self.dir) && corrupt.path != self.dir);
                let offset = format!("at byte {}:", corrupt.offset);
                for part in [&*corrupt.path.to_string_lossy(), &offset, &corrupt.expected] {
                    assert!(!part.is_empty() && text.contains(part), "{text}");
                }
                assert!(!corrupt.found.is_empty() && text.contains(&corrupt.found));
                assert_ne!(corrupt.expected, corrupt.found, "{text}");
                assert!(corrupt.remedy.len() > 20 && text.ends_with(corrupt.remedy));
            }
            Error::UnsupportedFormat { path, .. } if self.allow_unsupported => {
                assert!(path.starts_with(self.dir), "{text}");
            }
            // A directory in the place of a file: there is no offset to tell.
            Error::Io { path, source, .. } if source.kind() == std::io::ErrorKind::IsADirectory => {
                assert!(path.starts_with(self.dir) && text.contains("; "), "{text}");
            }
            other => panic!("not an error for damage: {other}"),
        }
    }
}

/// What a store answered.
#[derive(Debug, Default)]
pub struct Asked {
    errors: Vec<Error>,
    /// Frames of the live log that are there; `None` if it could not be opened.
    pub frames: Option<usize>,
    cuts: Vec<Cut>,
}

impl Asked {
    /// Judges what was found.
    pub fn check(&self, expected: Expect) {
        match expected {
            Expect::Error => assert!(!self.errors.is_empty(), "the damage was not noticed"),
            Expect::Frames(frames, cut) => {
                assert!(self.errors.is_empty(), "{:?}", self.errors);
                assert_eq!(self.frames, Some(frames));
                let cuts: Vec<u64> = self.cuts.iter().map(|cut| cut.offset).collect();
                assert_eq!(cuts, cut.into_iter().collect::<Vec<_>>());
                assert!(self.cuts.iter().all(|cut| !cut.reason.is_empty()));
            }
        }
    }
}

/// Keys that never were in a store.
const ABSENT: [&str; 3] = [
    "https://a0.example.com/0000",
    "https://a0.example.com/00",
    "https://absent.example.net/",
];

fn ask_for_all(specimen: &Specimen, seen: &Seen, frames: usize, note: &dyn Fn(Error)) {
    let here = &specimen.known(frames).entries;
    let known: BTreeSet<&Vec<u8>> = here.iter().map(|(key, _)| key).collect();
    let gone = specimen.keys.iter().filter(|key| !known.contains(key));
    let gone = gone.map(Vec::as_slice);
    for (key, record) in here {
        match seen.get(key) {
            Ok(found) => assert_eq!(found, Some(record.clone()), "{}", key.escape_ascii()),
            Err(error) => note(error),
        }
    }
    for key in gone.chain(ABSENT.map(str::as_bytes)) {
        match seen.get(key) {
            Ok(found) => assert_eq!(found, None, "{}", key.escape_ascii()),
            Err(error) => note(error),
        }
    }
    let keys: Vec<&[u8]> = here.iter().map(|(key, _)| key.as_slice()).collect();
    match seen.get_many(&keys) {
        Ok(found) => {
            for (found, (key, record)) in found.iter().zip(here) {
                assert_eq!(*found, Some(record.clone()), "{}", key.escape_ascii());
            }
        }
        Err(error) => note(error),
    }
    let mut expected = here.iter();
    match seen.scan("") {
        Ok(scan) => {
            for entry in scan {
                match entry {
                    // What comes before an error is right, and nothing was passed by.
                    Ok(entry) => assert_eq!(Some(&entry), expected.next()),
                    Err(error) => return note(error),
                }
            }
            assert_eq!(expected.next(), None, "the scan ended too early");
        }
        Err(error) => note(error),
    }
}

fn insert_all(specimen: &Specimen, seen: &Seen, frames: usize, note: &dyn Fn(Error)) {
    let here = specimen.known(frames).entries.iter();
    let here: BTreeSet<&Vec<u8>> = here.map(|(key, _)| key).collect();
    for key in &specimen.keys {
        match seen.insert(key) {
            Ok(new) => assert_eq!(new, !here.contains(key), "{}", key.escape_ascii()),
            Err(error) => note(error),
        }
    }
    for key in ABSENT {
        match seen.insert(key) {
            Ok(new) => assert!(new, "{key}"),
            Err(error) => note(error),
        }
    }
    let keys: Vec<_> = here.into_iter().collect();
    match seen.insert_many(&keys) {
        Ok(new) => assert!(new.iter().all(|&new| !new)),
        Err(error) => note(error),
    }
}

/// A writer that met damage leaves everything as it was: segments, and if it could not open
/// the store the manifest, and of logs at least what was read.
pub fn check_kept(specimen: &Specimen, after: &Sim, before: &Sim, opened: bool) {
    for name in specimen.files.keys() {
        let path = Path::new(DIR).join(name);
        let Ok(was) = before.read(&path) else {
            continue;
        };
        if name.ends_with(".seg") || (name == "MANIFEST" && !opened) {
            assert_eq!(after.read(&path).unwrap(), was, "{name} was changed");
        } else if name.ends_with(".log") && !opened {
            let is = after.read(&path).unwrap();
            assert!(was.starts_with(&is), "{name} was changed");
        }
    }
}
