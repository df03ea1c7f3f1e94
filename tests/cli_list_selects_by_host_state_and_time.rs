//! `seen list` narrows by host, state and time, and shows whole records as JSON.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use support::Place;

/// One URL in each state, and one of another host.
fn store() -> Place {
    let place = Place::new();
    place
        .seen(&["new", "s"], "http://a.example/seen\nhttp://b.example/\n")
        .quiet(0);
    let input = "http://a.example/claimed\nhttp://a.example/failed\nhttp://a.example/fetched\n";
    let claims = place.seen(&["claim", "s"], input).quiet(0).text();
    let claims: Vec<_> = claims
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .collect();
    let (url, token) = claims[1];
    place
        .seen(&["failed", "s", "--reason", "r", url, token], "")
        .quiet(0);
    let (url, token) = claims[2];
    place.seen(&["fetched", "s", url, token], "").quiet(0);
    place
}

fn list(place: &Place, args: &[&str]) -> String {
    place
        .seen(&[&["list", "s"], args].concat(), "")
        .quiet(0)
        .text()
}

#[test]
fn by_state() {
    let place = store();
    for state in ["claimed", "failed", "fetched"] {
        assert_eq!(
            list(&place, &["--state", state]),
            format!("http://a.example/{state}\n")
        );
    }
    assert_eq!(
        list(&place, &["--state", "seen"]),
        "http://a.example/seen\nhttp://b.example/\n"
    );
    assert_eq!(
        list(&place, &["--state", "fetched", "--state", "failed"]),
        "http://a.example/failed\nhttp://a.example/fetched\n"
    );
    place.seen(&["list", "s", "--state", "done"], "").status(2);
}

#[test]
fn by_host_or_prefix() {
    let place = store();
    assert_eq!(
        list(&place, &["--host", "B.example"]),
        "http://b.example/\n"
    );
    assert_eq!(list(&place, &["--host", "a.example"]).lines().count(), 4);
    let both = ["--prefix", "http://a.example/f", "--state", "failed"];
    assert_eq!(list(&place, &both), "http://a.example/failed\n");
    place
        .seen(
            &["list", "s", "--host", "a.example", "--prefix", "http"],
            "",
        )
        .status(2);
}

#[test]
fn by_time() {
    let place = store();
    for since in ["1h", "2020-01-01", "2020-01-01T00:00:00Z"] {
        assert_eq!(
            list(&place, &["--since", since]).lines().count(),
            5,
            "{since}"
        );
    }
    for since in ["2200-01-01", "2200-01-01T00:00:00Z"] {
        assert_eq!(list(&place, &["--since", since]), "", "{since}");
    }
    let ran = place
        .seen(&["list", "s", "--since", "yesterday"], "")
        .status(2);
    assert!(ran.err.contains("an age such as 2h"), "{}", ran.err);
}

#[test]
fn json_is_what_get_shows() {
    let place = store();
    let text = list(&place, &["--json"]);
    assert_eq!(text.lines().count(), 5);
    for line in text.lines() {
        let mut listed: Value = serde_json::from_str(line).unwrap();
        let key = listed["key"].as_str().unwrap().to_owned();
        assert!(line.starts_with(r#"{"key":"#), "{line}");
        let ran = place.seen(&["get", "s", &key], "").quiet(0);
        let got: Value = serde_json::from_slice(&ran.out).unwrap();
        let object = listed.as_object_mut().unwrap();
        object.insert("url".to_owned(), key.into());
        object.insert("seen".to_owned(), true.into());
        assert_eq!(listed, got);
    }
}

#[test]
fn the_states_are_counted() {
    let place = store();
    let ran = place.seen(&["stats", "s", "--json"], "").quiet(0);
    let stats: Value = serde_json::from_slice(&ran.out).unwrap();
    let states = serde_json::json!({"seen": 2, "claimed": 1, "fetched": 1, "failed": 1});
    assert_eq!(stats["states"], states);
    let text = place.seen(&["stats", "s"], "").quiet(0).text();
    assert!(
        text.contains("  seen            2\n  claimed         1\n"),
        "{text}"
    );
}
