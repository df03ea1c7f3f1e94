//! A claim that is printed survives a kill and can be settled; one that is not is granted
//! again when its lease is over. Ctrl-C finishes the batch.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::thread;
use std::time::{Duration, Instant};
use support::{Place, lines, signal, urls, wait};

#[test]
fn what_was_printed_is_settled_and_the_rest_granted_again() {
    let place = Place::new();
    let all = urls(3_000);
    place.write("urls", lines(&all));
    let mut fetched = 0;
    for round in 1..6 {
        let args = ["claim", "s", "urls", "--lease", "1s", "--batch", "100"];
        let mut claim = place.command(&args).spawn().unwrap();
        let mut out = BufReader::new(claim.stdout.take().unwrap());
        let mut printed = String::new();
        for _ in 0..round * 70 {
            out.read_line(&mut printed).unwrap();
        }
        claim.kill().unwrap();
        out.read_to_string(&mut printed).unwrap();
        claim.wait().unwrap();
        // The kill may have cut the last line: nobody knows of that claim.
        printed.truncate(printed.rfind('\n').map_or(0, |end| end + 1));
        fetched += printed.lines().count();
        place.seen(&["fetched", "s"], printed).quiet(0);
    }
    let mut left = all.len() - fetched;
    assert!(fetched > 0 && left > 0, "{fetched} of {}", all.len());
    let until = Instant::now() + Duration::from_secs(60);
    while left > 0 {
        assert!(Instant::now() < until, "{left} are not granted again");
        let claims = place.seen(&["claim", "s", "urls"], "").quiet(0).text();
        left -= claims.lines().count();
        place.seen(&["fetched", "s"], claims).quiet(0);
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn ctrl_c_finishes_the_batch() {
    let place = Place::new();
    for (args, input) in [
        (&["claim", "s"][..], "http://a.example/\n"),
        (&["fetched", "s"], "http://a.example/\t1-1\n"),
    ] {
        let mut child = place.start(args);
        write!(child.stdin.as_mut().unwrap(), "{input}").unwrap();
        let state = if args[0] == "claim" {
            "claimed"
        } else {
            "fetched"
        };
        let until = Instant::now() + Duration::from_secs(60);
        while place
            .seen(&["list", "s", "--state", state], "")
            .text()
            .is_empty()
        {
            assert!(Instant::now() < until, "{args:?}");
            thread::sleep(Duration::from_millis(10));
        }
        signal(&child, "INT");
        let ran = wait(child).quiet(130);
        if args[0] == "claim" {
            assert_eq!(ran.text(), "http://a.example/\t1-1\n");
        }
    }
}
