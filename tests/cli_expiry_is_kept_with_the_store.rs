//! `--expire-after` makes URLs new again at an age, until another is given.

#[path = "support/program.rs"]
mod support;

use std::thread;
use std::time::{Duration, Instant};
use support::Place;

const URLS: &str = "http://a.example/\nhttp://b.example/\n";

fn new(place: &Place, args: &[&str]) -> String {
    place
        .seen(&[&["new", "s"], args].concat(), URLS)
        .quiet(0)
        .text()
}

#[test]
fn what_is_old_is_new_again() {
    let place = Place::new();
    assert_eq!(new(&place, &["--expire-after", "seen=1s"]), URLS);
    place
        .seen(&["fetched", "s", "--force", "http://a.example/"], "")
        .quiet(0);
    let until = Instant::now() + Duration::from_secs(60);
    while place.seen(&["has", "s", "http://b.example/"], "").status == 0 {
        assert!(Instant::now() < until, "it does not expire");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(
        new(&place, &[]),
        "http://b.example/\n",
        "also when it is not said again"
    );
}

#[test]
fn never_ends_it() {
    let place = Place::new();
    new(&place, &["--expire-after", "1s"]);
    place
        .seen(&["compact", "s", "-q", "--expire-after", "never"], "")
        .quiet(0);
    thread::sleep(Duration::from_millis(2_100));
    assert_eq!(new(&place, &[]), "");
}

#[test]
fn a_store_without_times_has_no_ages() {
    let place = Place::new();
    let ran = place.seen(&["new", "s", "--no-stamps", "--expire-after", "1d"], URLS);
    ran.fails_with("created without stamps");
    assert!(!place.exists("s"));
    for wrong in ["1", "claimed=1d", "0s", "fetched=1d,"] {
        place
            .seen(&["new", "s", "--expire-after", wrong], "")
            .status(2);
    }
}
