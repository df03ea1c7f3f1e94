//! When the reader of the output closes the pipe, `seen` ends quietly, and
//! remembers only lines that were written whole.

#[path = "support/program.rs"]
mod support;

use std::collections::HashSet;
use std::io::Read;
use support::{Place, end, lines, urls};

#[test]
fn only_lines_written_whole_are_remembered() {
    let all = urls(50_000);
    for take in [0, 1, 1_000, 70_001, 500_000] {
        let place = Place::new();
        place.write("links", lines(&all));
        let mut child = place.start(&["new", "s", "--canon", "raw", "links"]);
        let mut read = vec![0; take];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut read).unwrap();
        drop(stdout);
        end(child).quiet(0);

        // What was remembered is a prefix of the lines, and what was read is within it.
        let remembered = place.keys("s");
        let kept: HashSet<_> = remembered.iter().map(String::as_str).collect();
        let first = all
            .iter()
            .take_while(|url| kept.contains(url.as_str()))
            .count();
        assert_eq!(first, kept.len(), "a prefix of the lines");
        assert!(first < all.len(), "the pipe was closed before the end");
        let whole = read.iter().filter(|&&b| b == b'\n').count();
        assert!(first >= whole, "{first} remembered, {whole} read");

        // The next run prints exactly the others.
        let rest = place.seen(&["new", "s", "links"], "").quiet(0);
        assert!(rest.text() == lines(&all[first..]), "the others, in order");
    }
}

#[test]
fn a_command_that_lists_ends_quietly_too() {
    let place = Place::new();
    place.write("links", lines(&urls(20_000)));
    place.seen(&["new", "s", "links"], "").quiet(0);
    for args in [&["list", "s"][..], &["has", "s", "--from", "links"]] {
        let mut child = place.start(args);
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 100]).unwrap();
        drop(stdout);
        end(child).quiet(0);
    }
}
