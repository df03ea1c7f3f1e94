//! What a damaged store must answer, and whether it does.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests, of which each test uses some"
)]

mod allocation;
pub mod specimen;

use crate::support::{env_on, long, place, small};
use seendb::vfs::sim::Sim;
use seendb::{Builder, Cut, Driver, Error, Reads, Seen};
use specimen::{DIR, Files, LOG_HEADER, Specimen, disk};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What must come of some damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Whoever meets it gets an error, and `verify` finds it.
    Error,
    /// All answers are right, as if the live log had so many frames and no more; the
    /// rest is reported as a cut at that offset, if anything is left of it.
    Frames(usize, Option<u64>),
}

/// What must come of a live log that has these bytes: a flipped byte below the largest
/// offset that a later frame knows to be synced is an error; else the first bad frame
/// is the end.
fn expect_of_live_log(specimen: &Specimen, original: &[u8], bytes: &[u8]) -> Expect {
    let same = |from: usize, end: usize| bytes.get(from..end) == original.get(from..end);
    if !same(0, LOG_HEADER) {
        return Expect::Error;
    }
    let frames = &specimen.frames;
    let good = |place: usize| same(frames[place].offset, frames[place].end);
    let end = frames.last().map_or(LOG_HEADER, |frame| frame.end);
    let bad = (0..frames.len()).find(|&place| !good(place));
    let (count, offset) = match bad {
        Some(place) => (place, frames[place].offset),
        None => (frames.len(), end),
    };
    let knows = |place: usize| good(place) && frames[place].synced > offset;
    if (count..frames.len()).any(knows) {
        return Expect::Error;
    }
    let rest = bytes.get(offset..).unwrap_or_default();
    let is_cut = rest.iter().any(|&byte| byte != 0);
    Expect::Frames(count, is_cut.then_some(offset as u64))
}

/// What must come of a store that has these files instead of its own.
///
/// So nothing comes of bytes in `LOCK`, of bytes behind the recorded length of a log,
/// and of files under other names.
pub fn expect(specimen: &Specimen, files: &Files) -> Expect {
    let mut expected = Expect::Frames(specimen.frames.len(), None);
    for (name, original) in &specimen.files {
        let Some(bytes) = files.get(name) else {
            if name == "LOCK" {
                continue;
            }
            return Expect::Error;
        };
        if Some(name) == specimen.live.as_ref() {
            expected = expect_of_live_log(specimen, original, bytes);
            if expected == Expect::Error {
                return expected;
            }
        } else if let Some(&length) = specimen.recorded.get(name) {
            if bytes.get(..length) != original.get(..length) {
                return Expect::Error;
            }
        } else if name != "LOCK" && bytes != original {
            return Expect::Error;
        }
    }
    expected
}

/// The places of a file to be damaged: all in the long form and in files of `dense` bytes,
/// else those near the ends and some between.
pub fn places(len: usize, dense: usize) -> Vec<usize> {
    let near = |at: usize| at < dense / 2 || len - at <= dense / 2;
    let step = if long() > 1 || len <= dense {
        1
    } else {
        len.div_ceil(60)
    };
    (0..len)
        .filter(|&at| near(at) || at.is_multiple_of(step))
        .collect()
}

/// Damages stores and counts the cases; prints them when it goes.
#[derive(Debug, Default)]
pub struct Trials {
    counts: BTreeMap<&'static str, u64>,
    errors: u64,
    /// What an undamaged store takes.
    memory: BTreeMap<String, usize>,
    most: usize,
    /// Damage in several places may look like a later version's.
    pub allow_unsupported: bool,
    /// Where the store is, if not on a simulated disk.
    dir: Option<PathBuf>,
}

impl Drop for Trials {
    fn drop(&mut self) {
        let total: u64 = self.counts.values().sum();
        let each: Vec<String> = self
            .counts
            .iter()
            .map(|(k, n)| format!("{k} {n}"))
            .collect();
        println!(
            "damaged files tried: {total} ({}); {} of them must be errors; at most {} KiB allocated",
            each.join(", "),
            self.errors,
            self.most / 1024
        );
    }
}

thread_local! {
    static TRYING: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Says what was being tried, if it panics.
struct Trying;

impl Trying {
    fn new(what: &str) -> Trying {
        TRYING.with_borrow_mut(|trying| what.clone_into(trying));
        Trying
    }
}

impl Drop for Trying {
    fn drop(&mut self) {
        if std::thread::panicking() {
            TRYING.with_borrow(|trying| eprintln!("while trying {trying}"));
        }
    }
}

/// More than the answers to any damage may take beyond those of the whole store.
const MORE_MEMORY: usize = 4 << 20;

impl Trials {
    /// Tries a store with these files, as the oracle says.
    pub fn try_files(
        &mut self,
        specimen: &Specimen,
        kind: &'static str,
        files: &Files,
        what: &str,
    ) {
        let expected = expect(specimen, files);
        self.try_disk(specimen, kind, &disk(files), what, expected);
    }

    /// Tries a store on a disk.
    pub fn try_disk(
        &mut self,
        specimen: &Specimen,
        kind: &'static str,
        damaged: &Arc<Sim>,
        what: &str,
        expected: Expect,
    ) {
        let count = self.counts.entry(kind).or_default();
        let turn = *count;
        *count += 1;
        self.errors += u64::from(expected == Expect::Error);
        let what = format!("{what} of {}", specimen.name);
        let _trying = Trying::new(&what);
        let baseline = match self.memory.get(&specimen.name) {
            Some(&baseline) => baseline,
            None => {
                let whole = disk(&specimen.files);
                let all = Expect::Frames(specimen.frames.len(), None);
                let (_, most) = allocation::peak(|| self.try_all(specimen, &whole, all, 0));
                self.memory.insert(specimen.name.clone(), most);
                most
            }
        };
        let (_, most) = allocation::peak(|| self.try_all(specimen, damaged, expected, turn));
        self.most = self.most.max(most);
        assert!(most < baseline + MORE_MEMORY, "{most} bytes were allocated");
    }

    /// Tries a store with these files on the system's own file system, as the oracle says.
    pub fn try_system_files(&mut self, specimen: &Specimen, kind: &'static str, files: &Files) {
        *self.counts.entry(kind).or_default() += 1;
        let expected = expect(specimen, files);
        self.errors += u64::from(expected == Expect::Error);
        for reads in [Reads::Map, Reads::Pread] {
            for role in [Role::Reader, Role::Writer(None)] {
                let (_guard, dir) = place();
                std::fs::create_dir(&dir).unwrap();
                for (name, bytes) in files {
                    std::fs::write(dir.join(name), bytes).unwrap();
                }
                self.dir = Some(dir.clone());
                let builder = || small(&dir).driver(Driver::Manual).reads(reads);
                if let Role::Reader = role {
                    self.verify(specimen, builder(), expected);
                }
                self.ask(specimen, builder(), &role).check(expected);
            }
        }
        self.dir = None;
    }

    fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new(DIR))
    }

    fn try_all(&self, specimen: &Specimen, damaged: &Arc<Sim>, expected: Expect, turn: u64) {
        let before = damaged.fingerprint();
        let reads = [Reads::Map, Reads::Pread];
        let all = long() > 1 || turn == 0;
        // In an order that no order of cases is likely to follow.
        let first = (turn.count_ones() % 2) as usize;
        let builder = |sim: &Arc<Sim>| small(DIR.as_ref()).driver(Driver::Manual).env(env_on(sim));
        for (number, reads) in reads.into_iter().enumerate() {
            if all || first == number {
                let asked = self.ask(specimen, builder(damaged).reads(reads), &Role::Reader);
                asked.check(expected);
            }
            // The other one, so that both are tried as often.
            if all || first != number {
                let copy = damaged.copy();
                let asked = self.ask(
                    specimen,
                    builder(&copy).reads(reads),
                    &Role::Writer(Some(&copy)),
                );
                asked.check(expected);
            }
        }
        self.verify(specimen, small(DIR.as_ref()).env(env_on(damaged)), expected);
        assert_eq!(damaged.fingerprint(), before, "it was changed by readers");
    }

    fn verify(&self, specimen: &Specimen, builder: Builder, expected: Expect) {
        let mut asked = Asked::default();
        match builder.verify(&mut |_| {}) {
            Ok(report) => {
                if report.damage.is_empty()
                    && let Expect::Frames(count, _) = expected
                {
                    assert_eq!(report.entries, specimen.entries(count).count() as u64);
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
    fn ask(&self, specimen: &Specimen, builder: Builder, role: &Role<'_>) -> Asked {
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
        let frames = (0..=specimen.frames.len())
            .find(|&frames| specimen.entries(frames).count() as u64 == seen.len());
        let frames = frames.unwrap_or_else(|| panic!("a store of {} entries", seen.len()));
        assert_eq!(seen.position(), specimen.position(frames));
        ask_for_all(specimen, &seen, frames, &note);
        if let Role::Writer(sim) = role {
            insert_all(specimen, &seen, frames, &note);
            // A merge meets the damage, or goes around it: nothing is lost.
            match seen.compact() {
                Ok(()) => {}
                Err(error) => note(error),
            }
            for (key, record) in specimen.entries(frames) {
                match seen.get(key) {
                    Ok(found) => assert_eq!(found, Some(*record)),
                    Err(error) => note(error),
                }
            }
            // It need not be closed in order.
            let _ = sim.map(Sim::kill);
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
                assert!(corrupt.path.starts_with(self.dir()) && corrupt.path != self.dir());
                let offset = format!("at byte {}:", corrupt.offset);
                for part in [&*corrupt.path.to_string_lossy(), &offset, &corrupt.expected] {
                    assert!(!part.is_empty() && text.contains(part), "{text}");
                }
                assert!(!corrupt.found.is_empty() && text.contains(&corrupt.found));
                assert_ne!(corrupt.expected, corrupt.found, "{text}");
                assert!(corrupt.remedy.len() > 20 && text.ends_with(corrupt.remedy));
            }
            Error::UnsupportedFormat { path, .. } if self.allow_unsupported => {
                assert!(path.starts_with(self.dir()), "{text}");
            }
            // A directory in the place of a file: there is no offset to tell.
            Error::Io { path, source, .. } if source.kind() == std::io::ErrorKind::IsADirectory => {
                assert!(
                    path.starts_with(self.dir()) && text.contains("; "),
                    "{text}"
                );
            }
            other => panic!("not an error for damage: {other}"),
        }
    }
}

/// Who asks.
enum Role<'a> {
    Reader,
    /// On a disk that can be taken from it.
    Writer(Option<&'a Sim>),
}

/// What a store answered.
#[derive(Debug, Default)]
struct Asked {
    errors: Vec<Error>,
    /// Frames of the live log that are there; `None` if it could not be opened.
    frames: Option<usize>,
    cuts: Vec<Cut>,
}

impl Asked {
    fn check(&self, expected: Expect) {
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
    let here: Vec<_> = specimen.entries(frames).collect();
    let in_all = specimen.entries(specimen.frames.len());
    let gone = in_all.skip(here.len()).map(|(key, _)| key.as_slice());
    for (key, record) in &here {
        match seen.get(key) {
            Ok(found) => assert_eq!(found, Some(*record), "{}", key.escape_ascii()),
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
            for (found, (key, record)) in found.iter().zip(&here) {
                assert_eq!(*found, Some(*record), "{}", key.escape_ascii());
            }
        }
        Err(error) => note(error),
    }
    let mut ordered = here;
    ordered.sort_by_key(|(key, _)| key);
    let mut expected = ordered.into_iter();
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
    let here: BTreeSet<_> = specimen.entries(frames).map(|entry| &entry.0).collect();
    let in_all = specimen.entries(specimen.frames.len());
    for (key, _) in in_all {
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
