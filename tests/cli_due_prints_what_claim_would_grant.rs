//! `seen due` prints what could be claimed, beside a writer, and changes nothing.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use support::{Place, end};

fn due(place: &Place, args: &[&str]) -> String {
    place
        .seen(&[&["due", "s"], args].concat(), "")
        .quiet(0)
        .text()
}

#[test]
fn what_it_prints_is_granted_and_nothing_else_is() {
    let place = Place::new();
    let input = "http://a.example/\nhttp://b.example/\nhttp://c.example/\nhttp://d.example/\n";
    place.seen(&["new", "s"], input).quiet(0);
    assert_eq!(due(&place, &[]), input);
    assert_eq!(
        due(&place, &["--limit", "2"]),
        "http://a.example/\nhttp://b.example/\n"
    );
    assert_eq!(due(&place, &["--limit", "1", "-0"]), "http://a.example/\0");
    let three = due(&place, &["--limit", "3"]);
    assert_eq!(
        place
            .seen(&["claim", "s"], three)
            .quiet(0)
            .text()
            .lines()
            .count(),
        3
    );
    assert_eq!(due(&place, &[]), "http://d.example/\n");
    place
        .seen(&["fetched", "s", "http://a.example/", "1-1"], "")
        .quiet(0);
    let later = [
        "failed",
        "s",
        "--reason",
        "r",
        "--retry",
        "1h",
        "http://b.example/",
        "1-2",
    ];
    place.seen(&later, "").quiet(0);
    let now = [
        "failed",
        "s",
        "--reason",
        "r",
        "--retry",
        "0s",
        "http://c.example/",
        "1-3",
    ];
    place.seen(&now, "").quiet(0);
    let left = "http://c.example/\nhttp://d.example/\n";
    assert_eq!(due(&place, &[]), left);
    let granted = place.seen(&["claim", "s"], input).quiet(0).text();
    let granted: String = granted
        .lines()
        .filter_map(|line| line.split('\t').next())
        .map(|url| format!("{url}\n"))
        .collect();
    assert_eq!(granted, left);
}

#[test]
fn it_works_beside_a_writer_and_changes_nothing() {
    let place = Place::new();
    let mut writer = place.start(&["new", "s"]);
    let mut out = BufReader::new(writer.stdout.take().unwrap());
    writeln!(writer.stdin.as_mut().unwrap(), "http://a.example/").unwrap();
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    // The line is printed before it is remembered.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while due(&place, &[]) != "http://a.example/\n" {
        assert!(std::time::Instant::now() < until);
    }
    end(writer).quiet(0);
    let before = place.files("s");
    due(&place, &[]);
    assert!(place.files("s") == before);
}
