//! Inputs of a plain generator for the targets of `fuzz/`: files with anything in them
//! give right answers or typed errors, and any operations the answers of a map. No
//! panic, no endless loop, no request for memory that a file's length would not explain.
//!
//! `fuzz/README.md` says how to let a fuzzer find inputs by the code that they reach;
//! `fuzz/seeds` has some that it found.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "../fuzz/src/lib.rs"]
mod targets;

mod support;

#[path = "support/program.rs"]
mod program;

use std::path::Path;
use std::time::{Duration, Instant};
use support::{Seeded, long};

/// The inputs that are committed for a target.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(name);
    let mut seeds: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    seeds
}

/// A seed changed in a few places, or bytes of any kind.
fn input(random: &Seeded, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len() as u64) as usize].clone();
    if random.below(3) == 0 {
        input.clear();
    }
    if input.is_empty() {
        let len = random.below(200);
        // Small numbers choose; all numbers are what is chosen.
        let most = [4, 32, 256][random.below(3) as usize];
        return (0..len).map(|_| random.below(most) as u8).collect();
    }
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() as u64) as usize;
        match random.below(4) {
            0 => input.insert(at, random.next() as u8),
            1 if input.len() > 1 => drop(input.remove(at)),
            2 => input.extend_from_within(at..),
            _ => input[at] = random.next() as u8,
        }
        input.truncate(2_000);
    }
    input
}

/// Runs a target on its seeds and on `count` more inputs.
fn run(name: &str, count: u64) {
    let (_, target) = targets::TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    let seeds = seeds(name);
    let random = Seeded::new(7);
    let began = Instant::now();
    let generated = (0..count * long()).map(|_| input(&random, &seeds));
    let mut slowest = Duration::ZERO;
    let mut tried = 0;
    for input in seeds.iter().cloned().chain(generated) {
        let began = Instant::now();
        let done = std::panic::catch_unwind(|| target(&input));
        if let Err(cause) = done {
            eprintln!("the target {name} fails with the input {input:?}");
            std::panic::resume_unwind(cause);
        }
        slowest = slowest.max(began.elapsed());
        tried += 1;
    }
    support::tell(&format!(
        "{name}: {tried} inputs in {:?}, the slowest {slowest:?}",
        began.elapsed()
    ));
    assert!(
        slowest < Duration::from_secs(20),
        "an input took {slowest:?}"
    );
}

#[test]
fn as_a_log() {
    run("log", 3_000);
}

#[test]
fn as_a_manifest() {
    run("manifest", 3_000);
}

#[test]
fn as_a_segment() {
    run("segment", 600);
}

#[test]
fn as_files_to_repair() {
    run("repair", 1_500);
}

#[test]
fn as_a_dictionary() {
    run("dictionary", 5_000);
}

#[test]
fn as_an_index() {
    run("index", 5_000);
}

#[test]
fn as_a_block() {
    run("block", 20_000);
}

#[test]
fn as_a_filter() {
    run("filter", 20_000);
}

#[test]
fn as_lines_of_input() {
    run("lines", 2_000);
}

/// What the target does with the program's parts, the program does as a whole.
#[test]
fn as_standard_input_of_the_program() {
    let seeds = seeds("lines");
    let random = Seeded::new(8);
    let tried = 40 * long();
    for _ in 0..tried {
        let input = input(&random, &seeds);
        let case = targets::lines::Case::new(&input);
        let mut args = vec!["new", "s", "--quiet", "--canon", case.canon.text()];
        if case.separator == 0 {
            args.push("-0");
        }
        let place = program::Place::new();
        let status = i32::from(case.expected.rejected > 0);
        let ran = place.seen(&args, &case.bytes).status(status);
        assert!(ran.out == case.expected.printed, "{input:?}");
        let ran = place.seen(&args, &case.bytes).status(status);
        assert!(ran.out.is_empty(), "{input:?}");
        if case.expected.keys.is_empty() {
            continue;
        }
        assert_eq!(place.stat("s", "entries"), case.expected.keys.len() as u64);
    }
    println!("the program: {tried} inputs");
}

#[test]
fn nor_does_any_sequence_of_operations_give_a_wrong_answer() {
    run("operations", 500);
}
