//! What was granted and not printed is given back when the pipe is closed.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader};
use support::{Place, lines, urls, wait};

#[test]
fn a_closed_pipe_gives_back_what_was_not_written_whole() {
    let place = Place::new();
    let all = urls(20_000);
    place.write("urls", lines(&all));
    let mut claim = place.command(&["claim", "s", "urls"]).spawn().unwrap();
    let mut out = BufReader::with_capacity(1 << 20, claim.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with(&all[0]));
    drop(out);
    wait(claim).quiet(0);
    let count = |state: &str| {
        let listed = place.seen(&["list", "s", "--state", state], "").quiet(0);
        listed.text().lines().count()
    };
    // The last batch: a part of it went into the pipe, and the rest came back.
    assert!(count("seen") > 0, "nothing was given back");
    assert!(
        count("claimed") + count("seen") < all.len(),
        "it did not stop"
    );
}

#[test]
fn a_full_output_is_told_and_keeps_nothing() {
    let Some(full) = support::device("/dev/full") else {
        return;
    };
    let place = Place::new();
    place.write("urls", lines(&urls(10)));
    let mut claim = place.command(&["claim", "s", "urls"]);
    wait(claim.stdout(full).spawn().unwrap()).fails_with("cannot write to standard output");
    assert_eq!(
        place
            .seen(&["due", "s"], "")
            .quiet(0)
            .text()
            .lines()
            .count(),
        10
    );
}
