//! `seen list` prints the keys in bytewise order.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

#[test]
fn all_keys_come_in_order() {
    let place = Place::new();
    let mut all = urls(20_000);
    place.seen(&["new", "s"], lines(&all)).quiet(0);
    all.sort();
    assert!(place.keys("s") == all);
    place.seen(&["compact", "s"], "").quiet(0);
    assert!(place.keys("s") == all, "the same after a merge");
}

#[test]
fn a_prefix_selects_a_site() {
    let place = Place::new();
    let input = "http://a.example/2\nhttp://a.example/1\nhttp://ab.example/\nhttp://b.example/\n";
    place.seen(&["new", "s"], input).quiet(0);
    let list = |prefix: &str| {
        place
            .seen(&["list", "s", "--prefix", prefix], "")
            .quiet(0)
            .text()
    };
    assert_eq!(
        list("http://a.example/"),
        "http://a.example/1\nhttp://a.example/2\n"
    );
    assert_eq!(list("http://c"), "");
    assert_eq!(list("").lines().count(), 4);
}

#[test]
fn keys_may_end_with_nul() {
    let place = Place::new();
    place
        .seen(&["new", "-0", "--canon", "raw", "s"], "b\n1\0a\0")
        .quiet(0);
    let ran = place.seen(&["list", "-0", "s"], "").quiet(0);
    assert_eq!(ran.out, b"a\0b\n1\0");
}
