//! `seen new --dry-run` prints without remembering.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

#[test]
fn nothing_is_created_where_no_store_is() {
    let place = Place::new();
    let all = urls(2_500);
    // Twice the same: more than a batch apart.
    let input = lines(&all).repeat(2);
    for _ in 0..2 {
        let ran = place.seen(&["new", "s", "--dry-run"], &input).quiet(0);
        assert!(ran.text() == lines(&all), "each once");
        assert!(!place.exists("s"));
    }
}

#[test]
fn a_store_stays_as_it_is() {
    let place = Place::new();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    let before = place.files("s");
    let input = "http://b.example/\nhttp://a.example/\nHTTP://B.example\nnope\n";
    for _ in 0..2 {
        let ran = place.seen(&["new", "--dry-run", "s"], input).status(1);
        assert_eq!(ran.text(), "http://b.example/\n");
    }
    assert!(before == place.files("s"), "not a byte has changed");
    assert_eq!(place.keys("s"), ["http://a.example/"]);
}

#[test]
fn it_works_beside_a_writer() {
    let place = Place::new();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    let writer = place.start(&["new", "s"]);
    let ran = place
        .seen(
            &["new", "s", "--dry-run"],
            "http://a.example/\nhttp://b.example/\n",
        )
        .quiet(0);
    assert_eq!(ran.text(), "http://b.example/\n");
    support::end(writer).quiet(0);
}

#[test]
fn a_policy_that_is_given_must_be_the_stores() {
    let place = Place::new();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    place
        .seen(&["new", "s", "--dry-run", "--canon", "raw"], "x\n")
        .fails_with("policy");
    let ran = place
        .seen(&["new", "none", "--dry-run", "--canon", "raw"], "x\n")
        .quiet(0);
    assert_eq!(ran.text(), "x\n");
}
