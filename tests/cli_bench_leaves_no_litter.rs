//! Whatever ends `seen bench`, its temporary stores and half-written results are gone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};
use support::{Place, lines, signal, urls, wait};

fn names(place: &Place, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(place.path(dir)).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn place() -> Place {
    let place = Place::new();
    place.mkdir("tmp");
    place.mkdir("out");
    place
}

#[test]
fn success_leaves_the_results_only() {
    let place = place();
    let args = [
        "bench",
        "--generate",
        "5k",
        "--lookups",
        "1k",
        "--dir",
        "tmp",
        "--json",
        "out/bench.json",
    ];
    place.seen(&args, "").quiet(0);
    assert!(names(&place, "tmp").is_empty());
    assert_eq!(names(&place, "out"), ["bench.json"]);
}

#[test]
fn the_temporary_directory_is_the_systems_unless_told() {
    let place = place();
    let mut command = place.command(&["bench", "--generate", "200M", "-q"]);
    let child = command.env("TMPDIR", place.path("tmp")).spawn().unwrap();
    await_store(&place);
    signal(&child, "TERM");
    wait(child).quiet(143);
    assert!(names(&place, "tmp").is_empty());
}

/// Waits until the program has begun to work.
fn await_store(place: &Place) {
    let until = Instant::now() + Duration::from_secs(30);
    while names(place, "tmp").is_empty() {
        assert!(Instant::now() < until, "nothing was begun");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(200));
}

#[test]
fn a_signal_ends_it_promptly_and_an_older_result_stays() {
    let place = place();
    place.write("list", lines(&urls(200_000)));
    place.write("out/bench.json", "an older result");
    for (from, name, status) in [
        (["--generate", "500M"], "INT", 130),
        (["--generate", "500M"], "TERM", 143),
        (["--urls", "list"], "INT", 130),
    ] {
        let mut args = vec![
            "bench",
            "--dir",
            "tmp",
            "--json",
            "out/bench.json",
            "--lookups",
            "20M",
        ];
        if from[0] == "--generate" {
            args.truncate(5);
        }
        args.extend(from);
        let child = place.start(&args);
        await_store(&place);
        let start = Instant::now();
        signal(&child, name);
        let ran = wait(child).status(status);
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(ran.err.contains("interrupted"), "{}", ran.err);
        assert!(ran.out.is_empty());
        assert!(names(&place, "tmp").is_empty());
        assert_eq!(names(&place, "out"), ["bench.json"]);
        assert_eq!(place.read("out/bench.json"), b"an older result");
    }
}

#[test]
fn a_failure_leaves_nothing() {
    let place = place();
    place.write("empty", "\n\n");
    let args = [
        "bench", "--urls", "empty", "--dir", "tmp", "--json", "out/b",
    ];
    place.seen(&args, "").fails_with("there is no URL in empty");
    place.write("list", "https://example.com/\n");
    // No memtable is as small.
    let args = [
        "bench",
        "--urls",
        "list",
        "--dir",
        "tmp",
        "--json",
        "out/b",
        "--memtable",
        "1k",
    ];
    place.seen(&args, "").fails_with("memtable");
    assert!(names(&place, "tmp").is_empty());
    assert!(names(&place, "out").is_empty());
}
