//! `seen bench` refuses at once what cannot work, says what to do, and writes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/program.rs"]
mod support;

use std::fs;
use support::Place;

fn place() -> Place {
    let place = Place::new();
    place.write("list", "https://example.com/a\nhttps://example.com/b\n");
    place.write("empty", "");
    place.mkdir("dir");
    place
}

#[test]
fn files_that_are_not_there_or_hold_nothing() {
    let place = place();
    for (args, words) in [
        (&["--urls", "missing"][..], "cannot read missing"),
        (&["--urls", "dir"], "cannot read dir"),
        (&["--urls", "empty"], "there is no URL in empty"),
        (
            &["--urls", "list", "--absent", "missing"],
            "cannot read missing",
        ),
        (
            &["--urls", "list", "--absent", "empty"],
            "no URL of empty is absent",
        ),
        (
            &["--urls", "list", "--absent", "list"],
            "no URL of list is absent",
        ),
        (&["--store", "missing"], "there is no store at missing"),
        (&["--store", "dir"], "dir"),
        (
            &["--urls", "list", "--dir", "missing"],
            "cannot use missing",
        ),
        (&["--urls", "list", "--dir", "list"], "cannot use list"),
        (
            &["--urls", "list", "--json", "missing/x"],
            "cannot write missing/x",
        ),
        (&["--urls", "list", "--json", "dir"], "cannot write dir"),
        (
            &["--urls", "list", "--report", "missing/x"],
            "cannot write missing/x",
        ),
        (
            &["--urls", "-", "--absent", "-"],
            "cannot both be standard input",
        ),
        (
            &["--urls", "list", "--json", "-", "--report", "-"],
            "cannot both be standard output",
        ),
    ] {
        let ran = place
            .seen(&[&["bench"], args].concat(), "")
            .fails_with(words);
        assert!(ran.out.is_empty(), "{args:?}");
    }
    // What was rejected is told before it is said that nothing is left.
    place.write("bad", "/about\n");
    let ran = place
        .seen(&["bench", "--urls", "bad"], "")
        .fails_with("there is no URL in bad");
    assert!(
        ran.err.contains("bad:1: rejected: it is not absolute"),
        "{}",
        ran.err
    );
}

#[test]
fn an_empty_store_has_nothing_to_ask_for() {
    let place = place();
    place.seen(&["new", "s", "empty", "-q"], "").quiet(0);
    place
        .seen(&["bench", "--store", "s"], "")
        .fails_with("there is no URL in");
}

#[test]
fn options_that_do_not_fit() {
    let place = place();
    place.seen(&["new", "s", "list", "-q"], "").quiet(0);
    for args in [
        &[][..],
        &["--urls", "list", "--generate", "1k"],
        &["--urls", "list", "--store", "s"],
        &["--store", "s", "--fpr", "1%"],
        &["--store", "s", "--filter", "bloom"],
        &["--store", "s", "--memtable", "1M"],
        &["--store", "s", "--canon", "raw"],
        &["--store", "s", "--dir", "dir"],
        &["--generate", "0"],
        &["--generate", "many"],
        &["--generate", "1k", "--lookups", "0"],
        &["--generate", "1k", "--lookups", "1B"],
        &["--generate", "1k", "--fpr", "0"],
        &["--generate", "1k", "--fpr", "100%"],
        &["--generate", "1k", "--fpr", "1%,x"],
        &["--generate", "1k", "--filter", "cuckoo"],
        &["--generate", "1k", "--hit-ratio", "1.1"],
        &["--generate", "1k", "--hit-ratio", "-0.1"],
        &["--generate", "1k", "--hit-ratio", "nan"],
        &["--generate", "1k", "--threads", "0"],
        &["--generate", "1k", "--seed", "x"],
    ] {
        let ran = place.seen(&[&["bench"], args].concat(), "").status(2);
        assert!(ran.err.starts_with("error: "), "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty(), "{args:?}");
    }
}

#[test]
fn to_write_over_what_it_reads_or_wrote() {
    let place = place();
    for (args, words) in [
        (
            ["--urls", "list", "--report", "./list"],
            "--report would replace what --urls names",
        ),
        (
            ["--absent", "empty", "--json", "empty"],
            "--json would replace what --absent names",
        ),
        (
            ["--json", "new", "--report", "new"],
            "--report would replace what --json names",
        ),
    ] {
        let args = [&["bench", "--generate", "1k"][..], &args].concat();
        let args: Vec<_> = match args.contains(&"--urls") {
            true => args
                .into_iter()
                .filter(|a| !["--generate", "1k"].contains(a))
                .collect(),
            false => args,
        };
        place.seen(&args, "").fails_with(words);
    }
    assert!(place.read("list").starts_with(b"https://"));
    assert!(!place.path("new").exists());
}

#[test]
fn nothing_was_written() {
    let place = place();
    place.write("old", "an older result");
    for name in ["old", "new"] {
        let args = [
            "bench", "--urls", "empty", "--json", name, "--report", "page",
        ];
        place.seen(&args, "").fails_with("there is no URL");
    }
    assert_eq!(place.read("old"), b"an older result");
    let mut names: Vec<_> = fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["dir", "empty", "list", "old"]);
}
