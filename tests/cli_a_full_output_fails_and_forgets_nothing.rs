//! When standard output takes no more, the run fails with a message, and lines
//! that were not written whole are not remembered.

#[path = "support/program.rs"]
mod support;

use std::process::Stdio;
use support::{Place, end, lines, urls};

#[test]
fn nothing_is_remembered_that_a_full_device_refused() {
    let Some(full) = support::device("/dev/full") else {
        return;
    };
    let place = Place::new();
    let all = lines(&urls(3_000));
    place.write("links", &all);
    let child = place
        .command(&["new", "s", "links"])
        .stdout(Stdio::from(full))
        .spawn()
        .unwrap();
    end(child).fails_with("standard output");
    let ran = place.seen(&["new", "s", "links"], "").quiet(0);
    assert!(ran.text() == all, "everything is still new");
}
