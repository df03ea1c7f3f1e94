//! What `seen new` prints is the input's bytes, line ends included.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test appends to a file of its own"
)]

#[path = "support/program.rs"]
mod support;

use support::Place;

#[track_caller]
fn check(args: &[&str], input: &[u8], expected: &[u8]) {
    let place = Place::new();
    let ran = place.seen(&[&["new", "s"], args].concat(), input).quiet(0);
    assert_eq!(
        String::from_utf8_lossy(&ran.out),
        String::from_utf8_lossy(expected)
    );
    let again = place.seen(&[&["new", "s"], args].concat(), input).quiet(0);
    assert_eq!(again.text(), "", "a second run prints nothing");
}

#[test]
fn both_line_ends_are_kept_and_are_not_part_of_the_url() {
    check(
        &["--canon", "raw"],
        b"http://a.example/\r\nhttp://b.example/\nhttp://a.example/\nhttp://b.example/\r\n",
        b"http://a.example/\r\nhttp://b.example/\n",
    );
}

#[test]
fn a_carriage_return_within_a_line_is_no_line_end() {
    check(
        &["--canon", "raw"],
        b"a\rb\na\r\r\na\n",
        b"a\rb\na\r\r\na\n",
    );
}

#[test]
fn blank_lines_are_skipped() {
    check(
        &[],
        b"\n\r\nhttp://a.example/\n\n\n",
        b"http://a.example/\n",
    );
    // A space is a key under the policy raw.
    check(&["--canon", "raw"], b"\n \n\n", b" \n");
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_very_start_only() {
    check(
        &["--canon", "raw"],
        b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\na\n",
        b"a\n\xEF\xBB\xBFb\n",
    );
}

#[test]
fn a_missing_last_line_end_is_added() {
    check(
        &[],
        b"http://a.example/\nhttp://b.example/",
        b"http://a.example/\nhttp://b.example/\n",
    );
}

#[test]
fn lines_of_two_files_are_never_joined() {
    let place = Place::new();
    place.write("one", "http://a.example/");
    place.write("two", "http://b.example/");
    let ran = place.seen(&["new", "s", "one", "two"], "").quiet(0);
    assert_eq!(ran.text(), "http://a.example/\nhttp://b.example/\n");
    assert_eq!(place.keys("s").len(), 2);
}

#[test]
fn a_line_that_a_killed_run_left_unfinished_is_ended() {
    let place = Place::new();
    place.write("out", "http://a.example/\nhttp://b.exa");
    place.write("in", "http://b.example/\n");
    let out = std::fs::OpenOptions::new()
        .append(true)
        .open(place.path("out"))
        .unwrap();
    let ran = place
        .command(&["new", "s", "in"])
        .stdout(std::process::Stdio::from(out))
        .status()
        .unwrap();
    assert!(ran.success());
    assert_eq!(
        String::from_utf8(place.read("out")).unwrap(),
        "http://a.example/\nhttp://b.exa\nhttp://b.example/\n"
    );
}

#[test]
fn records_may_be_separated_by_nul_both_ways() {
    check(
        &["-0", "--canon", "raw"],
        b"a\nb\0\0c\r\n\0a\nb\0d",
        b"a\nb\0c\r\n\0d\0",
    );
}

#[test]
fn any_bytes_pass_unchanged_under_the_policy_raw() {
    let mut input = Vec::new();
    for byte in 0..=255_u8 {
        if byte != b'\n' {
            input.extend_from_slice(&[byte, b'x', byte, b'y', b'\n']);
        }
    }
    check(&["--canon", "raw"], &input, &input);
}

#[test]
fn the_longest_line_passes_whole() {
    let mut input = vec![b'x'; 65_535];
    input.extend_from_slice(b"\r\nshort\n");
    check(&["--canon", "raw"], &input, &input);
}
