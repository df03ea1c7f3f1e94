//! A line that the policy rejects goes to standard error, and the run goes on.

#[path = "support/program.rs"]
mod support;

use support::Place;

#[test]
fn a_rejected_line_is_named_with_its_number_and_reason() {
    let place = Place::new();
    let input = "http://a.example/\n\nnot a url\nhttp://b.example/\n";
    let ran = place.seen(&["new", "s"], input).status(1);
    assert_eq!(ran.text(), "http://a.example/\nhttp://b.example/\n");
    let told: Vec<_> = ran.err.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("seen: stdin:3: rejected: it is not absolute"));
    assert_eq!(told[1], "seen: 1 line was rejected");
    // Rejected again, and nothing is new.
    let again = place.seen(&["new", "s"], input).status(1);
    assert_eq!(again.text(), "");
}

#[test]
fn at_most_ten_are_shown_and_then_a_count() {
    let place = Place::new();
    place.write(
        "links",
        "http://a.example/\n".to_owned() + &"nope\n".repeat(3_000),
    );
    let ran = place.seen(&["new", "s", "links"], "").status(1);
    assert_eq!(ran.text(), "http://a.example/\n");
    let told: Vec<_> = ran.err.lines().collect();
    assert_eq!(told.len(), 11, "{told:?}");
    assert!(told[9].starts_with("seen: links:11: rejected: "));
    assert_eq!(
        told[10],
        "seen: 3000 lines were rejected; the first 10 are shown"
    );
}

#[test]
fn a_line_that_is_too_long_is_told_with_its_length() {
    for policy in ["raw", "standard"] {
        for length in [65_536, 70_000, 5_000_000] {
            let place = Place::new();
            let mut input = b"http://a.example/".to_vec();
            input.resize(length, b'x');
            input.extend_from_slice(b"\nhttp://b.example/\n");
            let ran = place
                .seen(&["new", "s", "--canon", policy], input)
                .status(1);
            assert_eq!(ran.text(), "http://b.example/\n");
            assert!(ran.err.contains("stdin:1: "), "{}", ran.err);
            assert!(ran.err.contains(&format!(" {length} bytes")), "{}", ran.err);
        }
    }
}

#[test]
fn a_closed_standard_error_is_no_panic() {
    let place = Place::new();
    let script = format!(
        "printf 'nope\\nhttp://a.example/\\n' | '{}' new s 2>&-",
        env!("CARGO_BIN_EXE_seen")
    );
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert_eq!(support::status(ran.status), 1);
    assert_eq!(ran.stdout, b"http://a.example/\n");
}
