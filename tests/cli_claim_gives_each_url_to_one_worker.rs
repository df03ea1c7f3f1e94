//! Workers that claim from one store at once: each URL is granted to one of them, and its
//! outcome recorded while the others go on.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use std::fs::File;
use std::process::{Child, Command, Stdio};
use support::{Place, end, lines, urls};

/// `seen claim s < urls | worker | seen fetched s`, where the worker notes what it fetched.
fn pipeline(place: &Place, fetched: &str) -> Child {
    let script = r#"
        "$SEEN" claim s --worker "$1" --batch 50 < urls |
        while IFS='	' read -r url token; do
            echo "$url" >> "$1"
            printf '%s\t%s\t200\n' "$url" "$token"
        done |
        "$SEEN" fetched s"#;
    Command::new("sh")
        .args(["-c", script, "sh", fetched])
        .env("SEEN", env!("CARGO_BIN_EXE_seen"))
        .current_dir(place.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn two_workers_at_once_fetch_every_url_once() {
    let place = Place::new();
    let mut all = urls(2_000);
    place.write("urls", lines(&all));
    let (one, two) = (pipeline(&place, "one"), pipeline(&place, "two"));
    end(one).quiet(0);
    end(two).quiet(0);
    let mut fetched = Vec::new();
    for worker in ["one", "two"].into_iter().filter(|w| place.exists(w)) {
        let text = String::from_utf8(place.read(worker)).unwrap();
        fetched.extend(text.lines().map(str::to_owned));
    }
    fetched.sort();
    all.sort();
    assert!(fetched == all, "{} of {}", fetched.len(), all.len());
    let listed = place.seen(&["list", "s", "--state", "fetched"], "");
    assert_eq!(listed.quiet(0).text(), lines(&all));
    assert_eq!(place.seen(&["due", "s"], "").quiet(0).text(), "");
}

#[test]
fn lines_come_as_they_were_given_in_order_and_equal_ones_once() {
    let place = Place::new();
    let input =
        "http://B.example\r\nhttp://a.example/\n\nhttp://b.example/\n/no\nhttp://c.example/";
    let ran = place.seen(&["claim", "s"], input).status(1);
    assert_eq!(
        ran.text(),
        "http://B.example\t1-1\nhttp://a.example/\t1-2\nhttp://c.example/\t1-3\n"
    );
    assert!(ran.err.contains("stdin:5: rejected: "), "{}", ran.err);
    assert_eq!(
        place
            .seen(&["claim", "s"], "http://a.example/\n")
            .quiet(0)
            .text(),
        ""
    );
}

#[test]
fn a_worker_has_a_name_and_a_lease_of_its_own() {
    let place = Place::new();
    let claim = |args: &[&str]| {
        let ran = place.seen(&[&["claim", "s"], args].concat(), "http://a.example/\n");
        ran.quiet(0).text()
    };
    assert_eq!(
        claim(&["--worker", "w1", "--lease", "1s"]),
        "http://a.example/\t1-1\n"
    );
    let known = place
        .seen(&["get", "s", "http://a.example/"], "")
        .quiet(0)
        .text();
    assert!(known.contains(r#""worker":"w1""#), "{known}");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut granted = String::new();
    while granted.is_empty() {
        assert!(
            std::time::Instant::now() < until,
            "the claim does not run out"
        );
        std::thread::sleep(std::time::Duration::from_millis(100));
        granted = claim(&[]);
    }
    let known = place
        .seen(&["get", "s", "http://a.example/"], "")
        .quiet(0)
        .text();
    assert!(known.contains(r#""attempts":2"#), "{known}");
    for wrong in [["--worker", ""], ["--lease", "0s"], ["--batch", "0"]] {
        let args = [&["claim", "s"][..], &wrong].concat();
        place.seen(&args, "").status(2);
    }
}

/// A URL cannot pass for another one with its token.
#[test]
fn what_is_printed_is_read_as_what_was_granted() {
    let place = Place::new();
    let line = "https://victim.example/\t1-1\n";
    let printed = place.seen(&["claim", "s"], line).quiet(0).text();
    assert_eq!(printed, "https://victim.example/1-1\t1-1\n");
    for line in ["a\t1-1\n", "{\"url\":\"a\"}\n"] {
        let ran = place.seen(&["claim", "raw", "--canon", "raw"], line);
        ran.status(1);
    }
    assert_eq!(place.seen(&["list", "raw"], "").quiet(0).text(), "");
}

#[test]
fn records_may_end_with_nul() {
    let place = Place::new();
    let ran = place.seen(&["claim", "-0", "s", "--canon", "raw"], "a b\0c\nd\0");
    assert_eq!(ran.text(), "a b\t1-1\0c\nd\t1-2\0");
    place
        .seen(&["fetched", "-0", "s"], ran.quiet(0).out)
        .quiet(0);
    assert_eq!(place.seen(&["due", "-0", "s"], "").quiet(0).text(), "");
}

#[test]
fn a_store_without_times_grants_nothing() {
    let place = Place::new();
    place
        .seen(&["new", "s", "--no-stamps"], "http://a.example/\n")
        .quiet(0);
    let ran = place.seen(&["claim", "s"], "http://a.example/\n");
    ran.fails_with("created without stamps");
    place
        .seen(&["due", "s"], "")
        .fails_with("created without stamps");
}

#[test]
fn what_appends_does_not_go_on_with_a_line_cut_short() {
    let place = Place::new();
    place.write("out", "http://cut");
    let out = File::options()
        .append(true)
        .open(place.path("out"))
        .unwrap();
    place.write("urls", "http://a.example/\n");
    let claim = place.command(&["claim", "s", "urls"]).stdout(out).spawn();
    end(claim.unwrap()).quiet(0);
    assert_eq!(place.read("out"), b"http://cut\nhttp://a.example/\t1-1\n");
}
