//! What `fetched`, `failed` and `release` are told, as arguments or lines, is what `get`
//! shows.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use serde_json::{Value, json};
use support::Place;

const URL: &str = "http://a.example/";
const HASH: &str = "000102030405060708090a0b0c0d0e0f";

/// A store in which the URL is claimed under the token `1-1`.
fn claimed() -> Place {
    let place = Place::new();
    place.seen(&["claim", "s", "--worker", "w1"], URL).quiet(0);
    place
}

/// What is known of the URL, without the times, which pass.
fn known(place: &Place) -> Value {
    let ran = place.seen(&["get", "s", URL], "").quiet(0);
    let mut known: Value = serde_json::from_slice(&ran.out).unwrap();
    let object = known.as_object_mut().unwrap();
    for name in ["url", "key", "seen"] {
        object.remove(name).unwrap();
    }
    for name in ["first_seen", "changed", "at", "until"] {
        if let Some(time) = object.remove(name) {
            let time = time.as_str().unwrap();
            assert_eq!(time.len(), "2026-01-01T00:00:00Z".len(), "{time}");
        }
    }
    known
}

#[test]
fn a_page_that_was_fetched() {
    let place = claimed();
    let last = Value::Null;
    assert_eq!(
        known(&place),
        json!({"state": "claimed", "worker": "w1", "token": "1-1", "attempts": 1, "last": last})
    );
    place.seen(&["fetched", "s", URL, "1-1"], "").quiet(0);
    assert_eq!(
        known(&place),
        json!({"state": "fetched", "status": 200, "content": null})
    );

    let place = claimed();
    let args = [
        "fetched",
        "s",
        "--status",
        "404",
        "--content",
        HASH,
        URL,
        "1-1",
    ];
    place.seen(&args, "").quiet(0);
    let gone = json!({"state": "fetched", "status": 404, "content": HASH});
    assert_eq!(known(&place), gone);

    let place = claimed();
    place
        .seen(&["fetched", "s"], format!("{URL}\t1-1\t404\t{HASH}\n"))
        .quiet(0);
    assert_eq!(known(&place), gone);

    let place = claimed();
    let line = json!({"url": URL, "token": "1-1", "status": 404, "content": HASH, "title": "x"});
    place
        .seen(&["fetched", "s", "--status", "500"], line.to_string())
        .quiet(0);
    assert_eq!(known(&place), gone);
}

#[test]
fn a_page_that_failed_for_good_is_not_granted_again() {
    let place = claimed();
    place
        .seen(&["failed", "s", "--reason", "no such host", URL, "1-1"], "")
        .quiet(0);
    let failed =
        json!({"state": "failed", "reason": "no such host", "attempts": 1, "retry_at": null});
    assert_eq!(known(&place), failed);
    assert_eq!(place.seen(&["claim", "s"], URL).quiet(0).text(), "");

    let place = claimed();
    place
        .seen(&["failed", "s"], format!("{URL}\t1-1\tno such host\n"))
        .quiet(0);
    assert_eq!(known(&place), failed);
}

#[test]
fn a_page_that_is_to_be_tried_again_is_not_granted_before() {
    let place = claimed();
    let args = ["failed", "s", "--reason", "timeout", "--retry", "1h"];
    place.seen(&args, format!("{URL}\t1-1\n")).quiet(0);
    assert!(known(&place)["retry_at"].is_string(), "{}", known(&place));
    assert_eq!(place.seen(&["claim", "s"], URL).quiet(0).text(), "");

    let place = claimed();
    let line = json!({"url": URL, "token": "1-1", "reason": "timeout", "retry": "0s"});
    place.seen(&["failed", "s"], line.to_string()).quiet(0);
    assert_eq!(
        place.seen(&["claim", "s"], URL).quiet(0).text(),
        format!("{URL}\t2-1\n")
    );
    let last = &known(&place)["last"];
    assert_eq!(
        (&last["state"], &last["reason"]),
        (&json!("failed"), &json!("timeout"))
    );
    assert_eq!(known(&place)["attempts"], 2);
}

#[test]
fn a_claim_that_is_released_can_be_granted_at_once() {
    for (args, input) in [
        (&["release", "s", URL, "1-1"][..], String::new()),
        (&["release", "s"], format!("{URL}\t1-1\n")),
        (
            &["release", "s", "--from", "-"],
            json!({"url": URL, "token": "1-1"}).to_string(),
        ),
    ] {
        let place = claimed();
        place.seen(args, input).quiet(0);
        assert_eq!(known(&place), json!({"state": "seen"}));
        assert_eq!(
            place.seen(&["claim", "s"], URL).quiet(0).text(),
            format!("{URL}\t2-1\n")
        );
    }
}

#[test]
fn a_command_line_that_lacks_something_is_refused() {
    let place = claimed();
    for args in [
        &["fetched", "s", URL][..],
        &["fetched", "s", URL, "1"],
        &["fetched", "s", URL, "1-1", "--force"],
        &["fetched", "s", URL, "1-1", "--from", "f"],
        &["fetched", "s", URL, "1-1", "--status", "ok"],
        &["fetched", "s", URL, "1-1", "--content", "0f"],
        &["failed", "s", URL, "1-1"],
        &[
            "failed", "s", URL, "1-1", "--reason", "r", "--retry", "soon",
        ],
        &["fetched", "s", "--from", "none"],
    ] {
        let ran = place.seen(args, "").status(2);
        assert!(!ran.err.is_empty(), "{args:?}");
    }
    assert_eq!(known(&place)["state"], "claimed");
}
