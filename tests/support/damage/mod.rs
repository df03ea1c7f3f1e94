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
mod ask;
mod maker;
mod oracle;
pub mod specimen;

pub use oracle::{Expect, expect};

use crate::support::{env_on, long, place, small};
use ask::{Asker, Role, check_kept};
use seendb::vfs::sim::Sim;
use seendb::{Driver, Reads};
use specimen::{DIR, Files, Specimen, disk};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The places of a file to be damaged: all of files up to `dense` bytes, else those near the
/// ends and some between; in the long form all, but in files above 30,000 bytes every third
/// or fifth.
pub fn places(len: usize, dense: usize) -> Vec<usize> {
    let near = |at: usize| at < dense / 2 || len - at <= dense / 2;
    let step = match long() {
        _ if len <= dense => 1,
        1 => len.div_ceil(60),
        _ => len.div_ceil(30_000),
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
}

impl Drop for Trials {
    fn drop(&mut self) {
        let total: u64 = self.counts.values().sum();
        let each: Vec<String> = self
            .counts
            .iter()
            .map(|(k, n)| format!("{k} {n}"))
            .collect();
        crate::support::tell(&format!(
            "damaged files tried: {total} ({}); {} of them must be errors; at most {} KiB allocated",
            each.join(", "),
            self.errors,
            self.most / 1024
        ));
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
                let asker = self.asker(specimen, &dir);
                let builder = || small(&dir).driver(Driver::Manual).reads(reads);
                if let Role::Reader = role {
                    asker.verify(builder(), expected);
                }
                asker.ask(builder(), &role).check(expected);
            }
        }
    }

    fn asker<'a>(&self, specimen: &'a Specimen, dir: &'a Path) -> Asker<'a> {
        Asker {
            specimen,
            dir,
            allow_unsupported: self.allow_unsupported,
        }
    }

    fn try_all(&self, specimen: &Specimen, damaged: &Arc<Sim>, expected: Expect, turn: u64) {
        let before = damaged.fingerprint();
        let reads = [Reads::Map, Reads::Pread];
        let all = long() > 1 || turn == 0;
        // In an order that no order of cases is likely to follow.
        let first = (turn.count_ones() % 2) as usize;
        let builder = |sim: &Arc<Sim>| small(DIR.as_ref()).driver(Driver::Manual).env(env_on(sim));
        let asker = self.asker(specimen, Path::new(DIR));
        for (number, reads) in reads.into_iter().enumerate() {
            if all || first == number {
                asker
                    .ask(builder(damaged).reads(reads), &Role::Reader)
                    .check(expected);
            }
            // The other one, so that both are tried as often.
            if all || first != number {
                let copy = damaged.copy();
                let role = Role::Writer(Some(&copy));
                let asked = asker.ask(builder(&copy).reads(reads), &role);
                asked.check(expected);
                if expected == Expect::Error {
                    check_kept(specimen, &copy, damaged, asked.frames.is_some());
                }
            }
        }
        asker.verify(builder(damaged), expected);
        assert_eq!(damaged.fingerprint(), before, "it was changed by readers");
    }
}
