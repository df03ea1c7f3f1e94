//! Writers exclude each other; `--wait` is for patience.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::thread;
use std::time::{Duration, Instant};
use support::{Place, end};

/// A writer that has the store open.
fn writer(place: &Place) -> (Child, ChildStdin) {
    let mut child = place.start(&["new", "s"]);
    let mut stdin = child.stdin.take().unwrap_or_else(|| unreachable!());
    let wrote = writeln!(stdin, "http://first.example/");
    let mut line = String::new();
    let read = child
        .stdout
        .as_mut()
        .map(|out| BufReader::new(out).read_line(&mut line));
    assert!(wrote.is_ok() && read.is_some() && line == "http://first.example/\n");
    (child, stdin)
}

#[test]
fn without_wait_it_fails_at_once_and_names_the_store() {
    let place = Place::new();
    let (first, stdin) = writer(&place);
    for args in [&["new", "s"][..], &["compact", "s"]] {
        let start = Instant::now();
        let ran = place
            .seen(args, "http://a.example/\n")
            .fails_with("is locked");
        assert!(ran.err.contains(" s "), "{}", ran.err);
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(ran.text(), "");
    }
    drop(stdin);
    end(first).quiet(0);
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
}

#[test]
fn with_wait_it_goes_on_when_the_first_is_done() {
    let place = Place::new();
    let (first, stdin) = writer(&place);
    let second = place
        .command(&["compact", "s", "--wait", "1min"])
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    drop(stdin);
    end(first).quiet(0);
    end(second).quiet(0);
}

#[test]
fn the_wait_ends() {
    let place = Place::new();
    let (first, stdin) = writer(&place);
    let start = Instant::now();
    place
        .seen(&["new", "s", "--wait", "300ms"], "http://a.example/\n")
        .fails_with("is locked");
    assert!(start.elapsed() >= Duration::from_millis(300));
    drop(stdin);
    end(first).quiet(0);
}
