//! Every byte of every file of small stores is flipped in turn: each answer is right, or it
//! is an error that names file and offset; never a panic, never "not seen", and `verify`
//! finds the damage whether a lookup met it or not.
//!
//! Where a flipped byte is no error, and what comes of it then, is in
//! `damage::expect`: bytes behind the recorded length of a log mean nothing, and
//! in a log whose writer was killed, what no later frame calls synced looks like a write
//! that was never finished, so that the log ends before it and that is reported.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/damage/mod.rs"]
mod damage;
mod support;

use damage::specimen::{Kind, Specimen};
use damage::{Trials, places};
use support::long;

/// Flips bits of all bytes of the files; of those with more than `dense` bytes, only some
/// of the bytes between the ends.
fn flip(kinds: &[Kind], dense: usize) {
    let mut trials = Trials::default();
    for &kind in kinds {
        let specimen = Specimen::new(kind);
        for (name, bytes) in &specimen.files {
            for at in places(bytes.len(), dense) {
                let patterns = [1 << (at % 8), 0xff];
                let all = long() > 1 || dense == usize::MAX;
                for (_, pattern) in patterns
                    .into_iter()
                    .enumerate()
                    .filter(|(number, _)| all || at % 2 == *number)
                {
                    let mut files = specimen.files.clone();
                    files.get_mut(name).unwrap()[at] ^= pattern;
                    let what = format!("byte {at} ^ {pattern:02x} of {name}");
                    trials.try_files(&specimen, "flips", &files, &what);
                }
            }
        }
    }
}

#[test]
fn by_flipping_any_byte_of_a_closed_store() {
    flip(&[Kind::CLOSED], usize::MAX);
}

#[test]
fn by_flipping_any_byte_of_a_killed_store() {
    flip(&[Kind::KILLED], usize::MAX);
}

#[test]
fn by_flipping_bytes_of_every_kind_of_store() {
    flip(&Kind::all()[2..], 40);
}

#[test]
fn by_flipping_bytes_of_files_that_the_system_maps() {
    let mut trials = Trials::default();
    for kind in [Kind::CLOSED, Kind::KILLED] {
        let specimen = Specimen::new(kind);
        for (name, bytes) in &specimen.files {
            for at in places(bytes.len(), 8) {
                let mut files = specimen.files.clone();
                files.get_mut(name).unwrap()[at] ^= 0x40;
                trials.try_system_files(&specimen, "flips", &files);
            }
        }
    }
}
