//! With `--force` a URL's state is set, whatever it was, and no token is needed.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use serde_json::Value;
use support::Place;

fn get(place: &Place, url: &str) -> Value {
    let ran = place.seen(&["get", "s", url], "").quiet(0);
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn whatever_the_state_is_it_is_set() {
    let place = Place::new();
    let url = "http://a.example/";
    place.seen(&["new", "s"], url).quiet(0);
    let failed = ["failed", "s", "--force", "--reason", "gone", url];
    place.seen(&failed, "").quiet(0);
    place.seen(&failed, "").quiet(0);
    let known = get(&place, url);
    assert_eq!(
        (&known["state"], &known["attempts"]),
        (&"failed".into(), &2.into())
    );
    place
        .seen(&["fetched", "s", "--force", "--status", "304", url], "")
        .quiet(0);
    let known = get(&place, url);
    assert_eq!(
        (&known["state"], &known["status"]),
        (&"fetched".into(), &304.into())
    );
    assert_eq!(place.seen(&["claim", "s"], url).quiet(0).text(), "");
    place.seen(&["release", "s", "--force", url], "").quiet(0);
    assert_eq!(get(&place, url)["state"], "seen");
    assert_eq!(
        place.seen(&["claim", "s"], url).quiet(0).text(),
        format!("{url}\t2-1\n")
    );
    place.seen(&["release", "s", "--force", url], "").quiet(0);
    assert_eq!(
        place.seen(&["due", "s"], "").quiet(0).text(),
        format!("{url}\n")
    );
}

#[test]
fn lines_may_lack_the_token() {
    let place = Place::new();
    place.seen(&["new", "s"], "http://a.example/\n").quiet(0);
    let input = "http://a.example/\nhttp://b.example/\t\t404\nhttp://c.example/\t7-7\t410\n\
                 {\"url\":\"http://d.example/\",\"status\":500}\n/no\n";
    let ran = place.seen(&["fetched", "s", "--force"], input).status(1);
    assert!(ran.err.contains("stdin:5: rejected: "), "{}", ran.err);
    for (host, status) in [("a", 200), ("b", 404), ("c", 410), ("d", 500)] {
        let known = get(&place, &format!("http://{host}.example/"));
        assert_eq!(known["status"], status, "{known}");
    }
}
