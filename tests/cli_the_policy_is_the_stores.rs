//! Options are for creation; an existing store keeps its policy.

#[path = "support/program.rs"]
mod support;

use support::Place;

#[test]
fn the_default_is_standard_and_may_be_left_out_later() {
    let place = Place::new();
    place.seen(&["new", "s"], "HTTP://a.example\n").quiet(0);
    assert_eq!(place.keys("s"), ["http://a.example/"]);
    place
        .seen(&["new", "raw", "--canon", "raw"], "HTTP://a.example\n")
        .quiet(0);
    let ran = place.seen(&["new", "raw"], "http://a.example/\n").quiet(0);
    assert_eq!(ran.text(), "http://a.example/\n", "still raw: another key");
    assert_eq!(place.keys("raw"), ["HTTP://a.example", "http://a.example/"]);
}

#[test]
fn another_policy_is_refused_and_both_are_named() {
    let place = Place::new();
    place
        .seen(&["new", "s", "--canon", "standard"], "http://a.example/\n")
        .quiet(0);
    place
        .seen(&["new", "s", "--canon", "standard"], "http://b.example/\n")
        .quiet(0);
    let ran = place
        .seen(&["new", "s", "--canon", "raw"], "http://c.example/\n")
        .fails_with("standard/1");
    assert!(ran.err.contains("raw/1"), "{}", ran.err);
    assert_eq!(ran.text(), "");
    assert_eq!(place.keys("s").len(), 2);
}

#[test]
fn the_other_options_are_taken_at_creation_and_later() {
    let place = Place::new();
    for durability in ["immediate", "manual", "50ms"] {
        let args = [
            "new",
            "s",
            "--fpr",
            "0.1%",
            "--durability",
            durability,
            "--memtable",
            "1MiB",
        ];
        let ran = place
            .seen(&args, format!("http://{durability}.example/\n"))
            .quiet(0);
        assert_eq!(ran.text(), format!("http://{durability}.example/\n"));
    }
    assert_eq!(place.keys("s").len(), 3);
}

#[test]
fn values_that_cannot_work_are_refused_and_nothing_is_created() {
    let place = Place::new();
    for args in [
        ["--canon", "other"],
        ["--fpr", "2"],
        ["--fpr", "0"],
        ["--durability", "sometimes"],
        ["--memtable", "lots"],
        ["--memtable", "1k"],
        ["--wait", "soon"],
    ] {
        let ran = place
            .seen(&[&["new", "s"], &args[..]].concat(), "")
            .status(2);
        assert!(!ran.err.is_empty());
        assert!(!place.exists("s"), "{args:?}");
    }
}
