//! Breaks the promises one after the other, each in one place of the code, and expects a
//! test to fail each time.
//!
//! ```text
//! cargo test --test every_promise_has_a_test_that_fails_without_it -- --ignored --nocapture
//! ```
//!
//! That takes about half an hour, in a copy of the sources. By default only the
//! list is checked: each place must still be there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and this one changes sources"
)]

#[path = "support/mutations.rs"]
mod mutations;

use mutations::{ALL, Mutation};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn the_places_are_still_there() {
    for mutation in ALL {
        let source = fs::read_to_string(root().join(mutation.file)).unwrap();
        let count = source.matches(mutation.old).count();
        assert_eq!(count, 1, "{}: {:?}", mutation.breaks, mutation.old);
        for test in mutation.caught_by.iter().filter(|test| **test != "--lib") {
            assert!(root().join(format!("tests/{test}.rs")).exists(), "{test}");
        }
    }
    println!("{} mutations", ALL.len());
}

#[test]
#[ignore = "builds the crate once for each promise"]
fn each_broken_promise_is_noticed() {
    let copy = tempfile::tempdir().unwrap();
    for part in ["src", "tests", "benches", "examples", "docs"] {
        copy_tree(&root().join(part), &copy.path().join(part));
    }
    for file in ["Cargo.toml", "Cargo.lock", "README.md", "clippy.toml"] {
        fs::copy(root().join(file), copy.path().join(file)).unwrap();
    }
    let only = std::env::var("SEENDB_MUTATIONS").unwrap_or_default();
    let chosen = || {
        let is_chosen = |one: &&Mutation| only.split(',').any(|part| one.breaks.contains(part));
        ALL.iter().filter(is_chosen)
    };
    let unchanged = chosen().flat_map(|mutation| mutation.caught_by);
    let mut tests: Vec<&str> = unchanged.copied().collect();
    tests.sort_unstable();
    tests.dedup();
    for test in tests {
        let (passed, output) = run(copy.path(), test);
        assert!(passed, "{test} fails without any change:\n{output}");
    }
    let missed: Vec<&str> = chosen()
        .filter(|mutation| !is_noticed(copy.path(), mutation))
        .map(|mutation| mutation.breaks)
        .collect();
    println!(
        "{} of {} are noticed",
        chosen().count() - missed.len(),
        chosen().count()
    );
    assert!(missed.is_empty(), "not noticed: {missed:#?}");
}

/// Whether a test fails once the promise is broken. Prints which.
fn is_noticed(copy: &Path, mutation: &Mutation) -> bool {
    let path = copy.join(mutation.file);
    let source = fs::read_to_string(&path).unwrap();
    let changed = source.replacen(mutation.old, mutation.new, 1);
    assert_ne!(changed, source, "{}", mutation.breaks);
    fs::write(&path, changed).unwrap();
    let caught = mutation.caught_by.iter().find_map(|test| {
        let (passed, output) = run(copy, test);
        assert!(
            passed || output.contains("test result: FAILED"),
            "{} does not build:\n{output}",
            mutation.breaks
        );
        let is_failed = |line: &&str| line.starts_with("test ") && line.ends_with("FAILED");
        let failed = output
            .lines()
            .find(is_failed)
            .unwrap_or_default()
            .to_string();
        (!passed).then_some((*test, failed))
    });
    fs::write(&path, source).unwrap();
    match &caught {
        Some((test, failed)) => println!("{}: {test}: {failed}", mutation.breaks),
        None => println!("{}: NOT NOTICED", mutation.breaks),
    }
    caught.is_some()
}

/// Whether a test passes, and what it printed. One that hangs is ended, and failed.
fn run(copy: &Path, test: &str) -> (bool, String) {
    let printed = copy.join("printed");
    let file = fs::File::create(&printed).unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.arg("test").current_dir(copy);
    match test {
        "--lib" => command.arg("--lib"),
        name => command.args(["--test", name]),
    };
    let mut child = command
        .env("CARGO_TARGET_DIR", root().join("target/mutations"))
        .env("RUSTFLAGS", "--cap-lints warn")
        .env("RUST_BACKTRACE", "0")
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .process_group(0)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let passed = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.success();
        }
        if begun.elapsed() > Duration::from_secs(400) {
            let group = format!("-{}", child.id());
            Command::new("kill")
                .args(["-9", "--", &group])
                .status()
                .unwrap();
            child.wait().unwrap();
            fs::write(&printed, "test result: FAILED: it did not end").unwrap();
            break false;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = fs::read(&printed).unwrap();
    (passed, String::from_utf8_lossy(&text).into_owned())
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_tree(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
