//! `claim`, `fetched`, `failed` and `release` lock the store for a batch, and not while they
//! wait for input or for the reader of their output.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout};
use std::thread;
use std::time::{Duration, Instant};
use support::{Place, end, lines, urls, wait};

/// Gives a line to a program that goes on waiting for others.
fn write(child: &mut Child, line: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
}

fn line(out: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    line
}

/// Another writer, which waits for no more than the end of a batch.
fn others_can_write(place: &Place, url: &str) {
    let out = place
        .seen(&["new", "s", "--wait", "20s"], format!("{url}\n"))
        .quiet(0);
    assert_eq!(out.text(), format!("{url}\n"));
}

#[test]
fn not_while_waiting_for_input() {
    let place = Place::new();
    let mut claim = place.start(&["claim", "s"]);
    let mut out = BufReader::new(claim.stdout.take().unwrap());
    // What comes slowly is granted at once.
    write(&mut claim, "http://a.example/");
    assert_eq!(line(&mut out), "http://a.example/\t1-1\n");
    others_can_write(&place, "http://x.example/");
    let mut settling = ["fetched", "failed", "release"].map(|command| {
        let reason: &[&str] = if command == "failed" {
            &["--reason", "r"]
        } else {
            &[]
        };
        place.start(&[&[command, "s"], reason].concat())
    });
    others_can_write(&place, "http://y.example/");
    write(&mut settling[0], "http://a.example/\t1-1");
    let until = Instant::now() + Duration::from_secs(60);
    while place
        .seen(&["list", "s", "--state", "fetched"], "")
        .text()
        .is_empty()
    {
        assert!(Instant::now() < until, "the line is not settled");
        thread::sleep(Duration::from_millis(10));
    }
    others_can_write(&place, "http://z.example/");
    for child in settling {
        end(child).quiet(0);
    }
    drop(claim.stdin.take());
    assert_eq!(line(&mut out), "");
    assert!(claim.wait().unwrap().success());
}

#[test]
fn not_while_nobody_reads_the_output() {
    let place = Place::new();
    let all = urls(5_000);
    place.write("urls", lines(&all));
    let mut claim = place.command(&["claim", "s", "urls"]).spawn().unwrap();
    let mut out = BufReader::new(claim.stdout.take().unwrap());
    let mut text = line(&mut out);
    // The pipe fills, and nobody empties it.
    thread::sleep(Duration::from_millis(300));
    others_can_write(&place, "http://x.example/");
    out.read_to_string(&mut text).unwrap();
    wait(claim).quiet(0);
    assert_eq!(text.lines().count(), all.len());
}

#[test]
fn a_lock_that_is_held_is_waited_for() {
    let place = Place::new();
    let mut new = place.start(&["new", "s"]);
    let mut out = BufReader::new(new.stdout.take().unwrap());
    write(&mut new, "http://a.example/");
    line(&mut out);
    let impatient = ["claim", "s", "--wait", "100ms"];
    place
        .seen(&impatient, "http://a.example/\n")
        .fails_with("is locked");
    let mut claim = place.start(&["claim", "s"]);
    write(&mut claim, "http://a.example/");
    drop(claim.stdin.take());
    thread::sleep(Duration::from_millis(100));
    assert!(claim.try_wait().unwrap().is_none(), "it waits");
    drop(new.stdin.take());
    assert!(new.wait().unwrap().success());
    assert_eq!(end(claim).quiet(0).text(), "http://a.example/\t1-1\n");
}
