//! `seen get` prints one JSON object a line.

#[path = "support/program.rs"]
mod support;

use serde_json::{Value, json};
use support::Place;

#[test]
fn an_object_a_line_with_url_seen_and_first_seen() {
    let place = Place::new();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    let ran = place
        .seen(&["get", "s", "HTTP://A.example", "http://b.example/"], "")
        .quiet(1);
    let objects: Vec<Value> = ran
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["url"], "HTTP://A.example");
    assert_eq!(objects[0]["key"], "http://a.example/");
    assert_eq!(objects[0]["seen"], true);
    let time = objects[0]["first_seen"].as_str().unwrap();
    assert_eq!(time.len(), "2026-01-01T00:00:00Z".len(), "{time}");
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
    assert_eq!(objects[0]["changed"], time);
    assert_eq!(objects[0]["state"], "seen");
    assert_eq!(
        objects[1],
        json!({"url": "http://b.example/", "key": "http://b.example/", "seen": false, "first_seen": null})
    );
}

#[test]
fn the_exit_status_tells_whether_all_were_seen() {
    let place = Place::new();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    place.seen(&["get", "s", "http://a.example/"], "").quiet(0);
    place.seen(&["get", "s", "http://b.example/"], "").quiet(1);
    let ran = place
        .seen(&["get", "s", "nope", "http://a.example/"], "")
        .fails_with("invalid");
    let first: Value = serde_json::from_str(ran.text().lines().next().unwrap()).unwrap();
    assert_eq!(first["seen"], false);
    assert!(first["invalid"].as_str().unwrap().contains("not absolute"));
    place
        .seen(&["get", "none", "http://a.example/"], "")
        .fails_with("there is no store");
}

#[test]
fn the_first_time_stays_the_first() {
    let place = Place::new();
    let get = || {
        place
            .seen(&["get", "s", "http://a.example/"], "")
            .quiet(0)
            .text()
    };
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    let first = get();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    place.seen(&["compact", "s"], "").quiet(0);
    assert_eq!(get(), first);
}
