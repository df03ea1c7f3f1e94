//! What cannot be right is refused with a message, and nothing is changed.

#[path = "support/program.rs"]
mod support;

use support::Place;

const READERS: [&[&str]; 5] = [
    &["has", "s", "http://a.example/"],
    &["get", "s", "http://a.example/"],
    &["list", "s"],
    &["stats", "s"],
    &["verify", "s"],
];

#[test]
fn a_missing_input_stops_everything_before_it_starts() {
    let place = Place::new();
    place.write("links", "http://a.example/\n");
    let ran = place
        .seen(&["new", "s", "links", "lniks"], "")
        .fails_with("cannot read lniks");
    assert!(ran.out.is_empty());
    assert!(!place.exists("s"), "nothing was recorded");
    place.seen(&["new", "s", "links"], "").quiet(0);
    place
        .seen(&["has", "s", "--from", "lniks"], "")
        .fails_with("cannot read lniks");
}

#[test]
fn a_directory_is_no_input() {
    let place = Place::new();
    place.mkdir("links");
    place
        .seen(&["new", "s", "links"], "")
        .fails_with("cannot read links");
    assert!(!place.exists("s"));
}

#[test]
fn a_file_is_no_store() {
    let place = Place::new();
    place.write("s", "mine");
    for args in READERS
        .iter()
        .chain(&[&["new", "s"][..], &["compact", "s"]])
    {
        place
            .seen(args, "http://a.example/\n")
            .fails_with("s is not a store");
    }
    assert_eq!(place.read("s"), b"mine");
}

#[test]
fn a_directory_with_other_files_is_no_store() {
    let place = Place::new();
    place.mkdir("s");
    place.write("s/mine", "mine");
    for args in READERS
        .iter()
        .chain(&[&["new", "s"][..], &["compact", "s"]])
    {
        place
            .seen(args, "http://a.example/\n")
            .fails_with("s is not a store");
    }
    let files = place.files("s");
    assert_eq!(files.len(), 1);
    assert_eq!(files["mine"], b"mine");
}

#[test]
fn readers_create_no_store() {
    let place = Place::new();
    for args in READERS {
        place.seen(args, "").fails_with("there is no store at s");
        assert!(!place.exists("s"));
    }
}

#[test]
fn an_empty_directory_becomes_a_store() {
    let place = Place::new();
    place.mkdir("s");
    let ran = place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    assert_eq!(ran.text(), "http://a.example/\n");
}

#[test]
fn a_wrong_command_line_is_exit_status_2() {
    let place = Place::new();
    for args in [
        &[][..],
        &["nwe", "s"],
        &["new"],
        &["get", "s"],
        &["list", "s", "t"],
    ] {
        let ran = place.seen(args, "").status(2);
        assert!(!ran.err.is_empty());
    }
}
