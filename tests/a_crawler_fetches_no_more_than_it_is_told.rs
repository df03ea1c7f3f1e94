//! `--max-pages` of the example crawler counts the pages of all runs on a store.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/crawler.rs"]
mod crawler;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "support/site.rs"]
mod site;

use crawler::{start, states, wait};
use seendb::StateKind;
use site::Site;

#[test]
fn runs_add_up() {
    let site = Site::open();
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("crawl.seen");
    for (most, fetched) in [("5", 5), ("12", 12), ("12", 12), ("3", 12)] {
        let options = ["--workers", "3", "--delay", "0.001", "--max-pages", most];
        assert!(wait(&mut start(&site, &store, &options)).success());
        let of = |kind| {
            let states = states(&store);
            states.values().filter(|state| state.kind() == kind).count()
        };
        assert_eq!(of(StateKind::Fetched), fetched, "at most {most}");
        assert_eq!(
            of(StateKind::Claimed),
            0,
            "what is not fetched is given back"
        );
    }
}
