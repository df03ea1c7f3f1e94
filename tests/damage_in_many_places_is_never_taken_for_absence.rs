//! Damage of all kinds in several places at once, at random: each answer is right, or it is an
//! error.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/damage/mod.rs"]
mod damage;
mod support;

use damage::Trials;
use damage::specimen::{Files, Kind, Specimen};
use support::{Seeded, long};

/// Damages one file in one way; what was done.
fn damage_one(files: &mut Files, random: &Seeded) -> String {
    let below = |bound: usize| random.below(bound.max(1) as u64) as usize;
    let names: Vec<String> = files.keys().cloned().collect();
    let name = names[below(names.len())].clone();
    let Some(bytes) = files.get_mut(&name) else {
        return String::new();
    };
    let at = below(bytes.len());
    let end = bytes.len().min(at + 1 + below(600));
    let what = match random.below(9) {
        0 | 1 if !bytes.is_empty() => {
            bytes[at] ^= 1 << random.below(8);
            "flipped"
        }
        2 => {
            bytes[at..end].fill(0);
            "zeroed"
        }
        3 => {
            bytes[at..end].fill(0xff);
            "filled"
        }
        4 => {
            for byte in &mut bytes[at..end] {
                *byte = random.next() as u8;
            }
            "overwritten"
        }
        5 => {
            bytes.truncate(at);
            "cut"
        }
        6 => {
            let len = bytes.len() + below(700);
            bytes.resize(len, (random.below(2) * 0xa7) as u8);
            "lengthened"
        }
        7 => {
            // The same bytes, moved.
            let part = bytes[at..end].to_vec();
            bytes.drain(at..end);
            let to = below(bytes.len());
            bytes.splice(to..to, part);
            "disordered"
        }
        _ => {
            files.remove(&name);
            "removed"
        }
    };
    format!("{name} {what} {at}..{end}")
}

#[test]
fn at_random() {
    let mut trials = Trials::default();
    trials.allow_unsupported = true;
    let rounds = 120 * long();
    for (number, kind) in Kind::all().into_iter().enumerate() {
        let specimen = Specimen::new(kind);
        for round in 0..rounds {
            let random = Seeded::new(round * 100 + number as u64);
            let mut files = specimen.files.clone();
            let places = 1 + random.below(4);
            let what: Vec<String> = (0..places)
                .map(|_| damage_one(&mut files, &random))
                .collect();
            trials.try_files(&specimen, "combinations", &files, &what.join(", "));
        }
    }
}
