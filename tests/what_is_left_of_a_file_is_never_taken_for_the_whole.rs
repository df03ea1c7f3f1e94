//! Files that were cut, emptied, zeroed or lengthened: each answer is right, or an error that
//! names file and offset.
//!
//! The only part that may be missing without an error is the end of a log whose writer was
//! killed: what is left of it ends with a whole frame then, as `damage::expect` says. A log
//! that was cut exactly behind a frame looks whole; every other cut is reported.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/damage/mod.rs"]
mod damage;
mod support;

use damage::specimen::{Kind, Specimen};
use damage::{Trials, places};
use support::{Seeded, long};

/// How many bytes of a file are damaged each, not only some: in the long form, all.
fn dense(number: usize) -> usize {
    if number < 2 { usize::MAX } else { 40 }
}

/// Tries every file of every kind of store with other bytes, which `change` makes; it is
/// given the number of the kind.
fn change_each(
    trials: &mut Trials,
    kind: &'static str,
    mut change: impl FnMut(usize, &[u8]) -> Vec<(String, Vec<u8>)>,
) {
    for (number, of) in Kind::all().into_iter().enumerate() {
        let specimen = Specimen::new(of);
        for (name, bytes) in &specimen.files {
            for (what, changed) in change(number, bytes) {
                let mut files = specimen.files.clone();
                files.insert(name.clone(), changed);
                trials.try_files(&specimen, kind, &files, &format!("{name} {what}"));
            }
        }
    }
}

#[test]
fn when_files_are_cut() {
    change_each(&mut Trials::default(), "cuts", |number, bytes| {
        places(bytes.len(), dense(number))
            .into_iter()
            .map(|at| (format!("cut at {at}"), bytes[..at].to_vec()))
            .collect()
    });
}

#[test]
fn when_the_rest_of_files_is_zeroed() {
    change_each(&mut Trials::default(), "zeroed ends", |number, bytes| {
        let dense = if number < 2 { 100 } else { 10 };
        places(bytes.len(), dense)
            .into_iter()
            .map(|at| {
                let mut changed = bytes[..at].to_vec();
                changed.resize(bytes.len(), 0);
                (format!("zeroed from {at} on"), changed)
            })
            .collect()
    });
}

#[test]
fn when_sectors_are_zeroed() {
    change_each(&mut Trials::default(), "zeroed sectors", |_, bytes| {
        let mut changes = vec![("zeroed".to_string(), vec![0; bytes.len()])];
        for from in (0..bytes.len()).step_by(512) {
            let mut changed = bytes.to_vec();
            let end = bytes.len().min(from + 512);
            changed[from..end].fill(0);
            changes.push((format!("zeroed from {from} to {end}"), changed));
        }
        changes
    });
}

/// Zeros of any length, at any place of a log: what a power loss leaves of sectors that were
/// not written.
#[test]
fn when_parts_of_a_log_are_zeroed() {
    let mut trials = Trials::default();
    for kind in [Kind::KILLED, Kind::all()[6]] {
        let specimen = Specimen::new(kind);
        let name = specimen.live.as_ref().unwrap();
        let used = specimen.frames.last().unwrap().end;
        for from in (0..used).step_by(if long() > 1 { 1 } else { 8 }) {
            for len in [8, 24, 56, 112, 300] {
                let mut files = specimen.files.clone();
                let end = used.min(from + len);
                files.get_mut(name).unwrap()[from..end].fill(0);
                let what = format!("{name} zeroed from {from} to {end}");
                trials.try_files(&specimen, "zeroed parts", &files, &what);
            }
        }
    }
}

#[test]
fn when_files_are_lengthened() {
    let random = Seeded::new(5);
    change_each(&mut Trials::default(), "lengthened", |_, bytes| {
        let with = |end: &[u8]| [bytes, end].concat();
        let garbage = || -> Vec<u8> {
            let len = 1 + random.below(3000);
            (0..len).map(|_| random.next() as u8).collect()
        };
        vec![
            ("with a zero".into(), with(&[0])),
            ("with a byte".into(), with(&[0x55])),
            ("with zeros".into(), with(&[0; 512])),
            ("with a page of zeros".into(), with(&[0; 4096])),
            ("with garbage".into(), with(&garbage())),
            ("with other garbage".into(), with(&garbage())),
            (
                "with aligned garbage".into(),
                with(&[&[0; 64], &garbage()[..]].concat()),
            ),
            ("with itself".into(), with(bytes)),
            ("with its end".into(), with(&bytes[bytes.len() / 2..])),
        ]
    });
}
