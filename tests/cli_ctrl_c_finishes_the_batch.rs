//! Ctrl-C and SIGTERM end `seen new` in order: everything printed is remembered.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};
use support::{Place, lines, signal, urls, wait};

#[test]
fn a_run_that_waits_for_input_ends_promptly() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let place = Place::new();
        let mut child = place.start(&["new", "s", "-q"]);
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "http://a.example/").unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(line, "http://a.example/\n");
        let start = Instant::now();
        signal(&child, name);
        wait(child).quiet(status);
        assert!(start.elapsed() < Duration::from_secs(5));
        drop(stdin);
        assert_eq!(place.keys("s"), ["http://a.example/"]);
    }
}

#[test]
fn a_busy_run_remembers_exactly_what_it_printed() {
    let place = Place::new();
    let mut all = urls(300_000);
    place.write("links", lines(&all));
    let mut child = place.start(&["new", "s", "-q", "links"]);
    let mut stdout = child.stdout.take().unwrap();
    let mut printed = vec![0; 100_000];
    stdout.read_exact(&mut printed).unwrap();
    signal(&child, "INT");
    stdout.read_to_end(&mut printed).unwrap();
    wait(child).quiet(130);
    let count = printed.iter().filter(|&&b| b == b'\n').count();
    assert!(count < all.len(), "it was interrupted before its end");
    assert!(
        printed == lines(&all[..count]).as_bytes(),
        "whole lines, in order"
    );
    all.truncate(count);
    all.sort();
    assert!(place.keys("s") == all);
}

#[test]
fn it_says_so_unless_it_is_told_to_be_quiet() {
    let place = Place::new();
    let mut child = place.start(&["new", "s"]);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "http://a.example/").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    signal(&child, "INT");
    let ran = wait(child).status(130);
    assert!(ran.err.contains("interrupted"), "{}", ran.err);
}
