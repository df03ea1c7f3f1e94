//! Lines that cannot be settled are told with their numbers and counted; the others are
//! settled.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

fn fetched(place: &Place) -> String {
    place
        .seen(&["list", "s", "--state", "fetched"], "")
        .quiet(0)
        .text()
}

#[test]
fn lost_and_malformed_lines_are_told_and_counted() {
    let place = Place::new();
    let input = "http://a.example/\nhttp://b.example/\nhttp://c.example/\n";
    place
        .seen(&["claim", "s", "--worker", "w1"], input)
        .quiet(0);
    place
        .seen(&["forget", "s", "http://b.example/"], "")
        .status(0);
    let settled = "http://a.example/\t1-1\n\
                   http://b.example/\t1-2\n\
                   http://c.example/\t1-9\n\
                   http://c.example/\n\
                   {\"url\":\"http://c.example/\"}\n\
                   /c\t1-3\n\
                   http://c.example/\t1-3\n";
    let ran = place.seen(&["fetched", "s"], settled).status(1);
    for told in [
        "stdin:2: rejected: the claim is lost: it is not recorded: ",
        "stdin:3: rejected: the claim is lost: w1 has claimed it with 1-3: ",
        "stdin:4: rejected: it has no token",
        "stdin:5: rejected: it has no string `token`",
        "stdin:6: rejected: it is not absolute",
        "seen: 5 lines were rejected",
    ] {
        assert!(ran.err.contains(told), "{told:?} is not in: {}", ran.err);
    }
    assert_eq!(ran.text(), "");
    assert_eq!(fetched(&place), "http://a.example/\nhttp://c.example/\n");
}

#[test]
fn a_claim_that_two_lines_settle_is_settled_once_and_the_others_too() {
    let place = Place::new();
    let mut all = urls(500);
    let claims = place.seen(&["claim", "s"], lines(&all)).quiet(0).text();
    let mut twice: Vec<&str> = claims.lines().collect();
    twice.insert(250, twice[0]);
    place.write("claims", twice.join("\n"));
    let ran = place
        .seen(&["fetched", "s", "--from", "claims"], "")
        .status(1);
    let told = "claims:251: rejected: the claim is lost: it is fetched";
    assert!(ran.err.contains(told), "{}", ran.err);
    all.sort();
    assert_eq!(fetched(&place), lines(&all));
}

#[test]
fn a_url_that_was_granted_to_another_stays_with_it() {
    let place = Place::new();
    let url = "http://a.example/";
    place.seen(&["claim", "s"], url).quiet(0);
    place.seen(&["release", "s", url, "1-1"], "").quiet(0);
    let again = place
        .seen(&["claim", "s", "--worker", "other"], url)
        .quiet(0);
    assert_eq!(again.text(), format!("{url}\t2-1\n"));
    for command in ["fetched", "release"] {
        let ran = place.seen(&[command, "s", url, "1-1"], "").status(1);
        let told = "argument:1: rejected: the claim is lost: other has claimed it with 2-1";
        assert!(ran.err.contains(told), "{}", ran.err);
    }
    assert_eq!(
        place.seen(&["list", "s", "--state", "claimed"], "").text(),
        format!("{url}\n")
    );
}

#[test]
fn a_line_longer_than_any_url_is_rejected_alone() {
    let place = Place::new();
    let url = format!("http://a.example/{}", "x".repeat(65_000));
    let claims = place.seen(&["claim", "s"], &url).quiet(0).text();
    let long = format!("{}\n{claims}", "y".repeat(400_000));
    let ran = place.seen(&["fetched", "s"], long).status(1);
    assert!(
        ran.err.contains("stdin:1: rejected: it is longer than"),
        "{}",
        ran.err
    );
    assert_eq!(fetched(&place), format!("{url}\n"));
}

#[test]
fn a_mistyped_store_is_a_failure_and_created_by_none() {
    let place = Place::new();
    for command in ["fetched", "failed", "release"] {
        place
            .seen(&[command, "none"], "")
            .fails_with("there is no store");
    }
    place
        .seen(&["forget", "none", "http://a.example/"], "")
        .fails_with("there is no store");
    assert!(!place.exists("none"));
}
