//! `seen compact` merges everything, and creates nothing.

#[path = "support/program.rs"]
mod support;

use support::{Place, lines, urls};

#[test]
fn one_run_holds_everything() {
    let place = Place::new();
    for part in urls(6_000).chunks(2_000) {
        place.seen(&["new", "s"], lines(part)).quiet(0);
    }
    let ran = place.seen(&["compact", "s"], "").quiet(0);
    assert!(ran.text().contains("-> 1 run"), "{}", ran.text());
    assert_eq!(place.stat("s", "runs"), 1);
    assert_eq!(place.stat("s", "entries"), 6_000);
    assert_eq!(place.keys("s").len(), 6_000);
    place.seen(&["verify", "s"], "").quiet(0);
}

#[test]
fn where_no_store_is_none_is_created() {
    let place = Place::new();
    place
        .seen(&["compact", "s"], "")
        .fails_with("there is no store");
    assert!(!place.exists("s"));
}
