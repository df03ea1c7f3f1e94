//! `seen forget` forgets URLs, files, hosts and prefixes, and nothing else.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

const INPUT: &str = "http://a.example/1\nhttp://a.example/2\nhttps://a.example:8080/3\n\
                     http://b.example/1\nhttp://b.example/2\nhttp://www.a.example/\n";

fn store() -> Place {
    let place = Place::new();
    place.seen(&["new", "s"], INPUT).quiet(0);
    place
}

#[test]
fn urls_are_new_again() {
    let place = store();
    let ran = place.seen(
        &["forget", "s", "HTTP://a.example/1", "http://b.example/1"],
        "",
    );
    assert_eq!(ran.status(0).err, "seen: forgot 2 of 2 URLs\n");
    assert_eq!(place.keys("s").len(), 4);
    let ran = place.seen(&["new", "s"], INPUT).quiet(0);
    assert_eq!(ran.text(), "http://a.example/1\nhttp://b.example/1\n");
}

#[test]
fn what_was_not_recorded_is_counted_and_the_exit_status_tells() {
    let place = store();
    let ran = place.seen(
        &["forget", "s", "http://a.example/1", "http://c.example/"],
        "",
    );
    assert_eq!(ran.status(1).err, "seen: forgot 1 of 2 URLs\n");
    let ran = place
        .seen(&["forget", "s", "http://a.example/2", "/no"], "")
        .status(1);
    assert!(ran.err.contains("argument:2: rejected: "), "{}", ran.err);
    assert!(ran.err.contains("seen: forgot 1 of 1 URL\n"), "{}", ran.err);
    assert_eq!(place.keys("s").len(), 4);
}

#[test]
fn a_file_names_them_or_standard_input() {
    let place = store();
    place.write("gone", "http://a.example/1\n\nhttp://a.example/2\r\n");
    let ran = place.seen(&["forget", "s", "--from", "gone"], "");
    assert_eq!(ran.status(0).err, "seen: forgot 2 of 2 URLs\n");
    let ran = place.seen(
        &["forget", "-0", "s", "--from", "-"],
        "http://b.example/1\0",
    );
    assert_eq!(ran.status(0).err, "seen: forgot 1 of 1 URL\n");
    assert_eq!(place.keys("s").len(), 3);
    place
        .seen(&["forget", "s"], "http://b.example/2\n")
        .status(2);
    assert_eq!(place.keys("s").len(), 3, "not without being told to read");
}

#[test]
fn hosts_and_prefixes_select() {
    let place = store();
    let ran = place.seen(&["forget", "s", "--host", "A.example"], "");
    assert_eq!(ran.status(0).err, "seen: forgot 3 of 3 URLs\n");
    assert_eq!(
        place.keys("s"),
        [
            "http://b.example/1",
            "http://b.example/2",
            "http://www.a.example/"
        ]
    );
    let ran = place.seen(&["forget", "s", "--prefix", "http://b.example/"], "");
    assert_eq!(ran.status(0).err, "seen: forgot 2 of 2 URLs\n");
    assert_eq!(place.keys("s"), ["http://www.a.example/"]);
}

#[test]
fn all_that_is_named_is_forgotten_and_counted_once() {
    let place = store();
    let all = ["forget", "s", "http://a.example/1", "--host", "a.example"];
    let more = ["--prefix", "http://", "--from", "-"];
    let ran = place.seen(&[&all[..], &more].concat(), "http://b.example/1\n");
    assert_eq!(ran.status(0).err, "seen: forgot 6 of 6 URLs\n");
    assert_eq!(place.keys("s").len(), 0);
}

#[test]
fn a_dry_run_prints_and_changes_nothing() {
    let place = store();
    let before = place.files("s");
    let args = [
        "forget",
        "s",
        "--dry-run",
        "http://a.example/2",
        "http://c.example/",
    ];
    let ran = place
        .seen(&[&args[..], &["--host", "a.example"]].concat(), "")
        .status(1);
    assert_eq!(
        ran.text(),
        "http://a.example/2\nhttp://a.example/1\nhttps://a.example:8080/3\n"
    );
    assert_eq!(ran.err, "seen: would forget 3 of 4 URLs\n");
    assert!(place.files("s") == before);
}

#[test]
fn more_than_a_thousand_are_selected_only_with_yes() {
    let place = Place::new();
    let many: Vec<_> = (0..1_001)
        .map(|i| format!("http://m.example/{i}"))
        .collect();
    place.seen(&["new", "s"], lines(&many)).quiet(0);
    place.seen(&["new", "s"], lines(&urls(10))).quiet(0);
    let other = urls(1).remove(0);
    for select in [["--host", "m.example"], ["--prefix", "http://m."]] {
        let args = [&["forget", "s", &*other][..], &select].concat();
        let ran = place.seen(&args, "").fails_with("more than 1,000 URLs");
        assert!(ran.err.contains("--yes"), "{}", ran.err);
        assert_eq!(place.keys("s").len(), 1_011, "nothing is forgotten");
    }
    let dry = place
        .seen(&["forget", "s", "--dry-run", "--host", "m.example"], "")
        .status(0);
    assert_eq!(dry.text().lines().count(), 1_001);
    let ran = place.seen(&["forget", "s", "--yes", "--host", "m.example"], "");
    assert_eq!(ran.status(0).err, "seen: forgot 1,001 of 1,001 URLs\n");
    assert_eq!(place.keys("s").len(), 10);
}

#[test]
fn exactly_a_thousand_are_forgotten_without_more_ado() {
    let place = Place::new();
    let many: Vec<_> = (0..1_000)
        .map(|i| format!("http://m.example/{i}"))
        .collect();
    place.seen(&["new", "s"], lines(&many)).quiet(0);
    let ran = place.seen(&["forget", "s", "--host", "m.example"], "");
    assert_eq!(ran.status(0).err, "seen: forgot 1,000 of 1,000 URLs\n");
}
