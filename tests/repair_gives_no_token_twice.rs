//! A repaired store gives no token that the old one gave, nor one that another repair's
//! gave: who still has one settles nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Claim, Error, Lease, Seen, State, Token};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use support::damaged::repair;
use support::{copy_dir, manual, place};

const URL: &str = "https://example.com/";

fn claim(seen: &Seen, url: &str) -> Lease {
    match seen
        .claim(url, "worker", Duration::from_secs(3600))
        .unwrap()
    {
        Claim::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// Claims in several openings, and leaves one claim, or none, beside a URL that nobody claims.
fn work(path: &Path, given: &mut BTreeSet<Token>, leaves_one: bool) {
    for opening in 0..3 {
        let seen = manual(path).open().unwrap();
        seen.insert("https://example.org/").unwrap();
        for i in 0..3 {
            let lease = claim(&seen, &format!("{URL}{opening}/{i}"));
            assert!(given.insert(lease.token()), "{} again", lease.token());
            lease.fetched(200, None).unwrap();
        }
        if leaves_one && opening == 2 {
            assert!(given.insert(claim(&seen, URL).token()));
        }
        seen.forget_prefix(format!("{URL}{opening}/")).unwrap();
        seen.close().unwrap();
    }
}

#[test]
fn however_often_the_manifest_is_lost() {
    for leaves_one in [true, false] {
        let (dir, path) = place();
        let mut given = BTreeSet::new();
        work(&path, &mut given, leaves_one);
        let mut from = path;
        for round in 0..4 {
            if round > 0 {
                std::fs::remove_file(from.join("MANIFEST")).unwrap();
            }
            let into = dir.path().join(format!("new {round}"));
            let report = repair(&from, &into);
            assert!(report.entries <= 2, "{report:?}");
            let seen = manual(&into).open().unwrap();
            seen.forget(URL).unwrap();
            let again = claim(&seen, URL);
            for &token in &given {
                let stale = seen.lease(URL, token).map(drop);
                assert!(matches!(stale, Err(Error::LeaseLost { .. })), "{token}");
            }
            assert!(given.insert(again.token()), "{} again", again.token());
            seen.forget(URL).unwrap();
            seen.close().unwrap();
            work(&into, &mut given, leaves_one);
            from = into;
        }
    }
}

/// A claim that was found is as it was: its worker goes on.
#[test]
fn and_those_that_are_found_are_good_still() {
    let (dir, path) = place();
    let seen = manual(&path).open().unwrap();
    let token = claim(&seen, URL).token();
    seen.sync().unwrap();
    let copy = dir.path().join("copy");
    copy_dir(&path, &copy);
    std::fs::remove_file(copy.join("MANIFEST")).unwrap();
    let into = dir.path().join("new");
    // Only a log is left, which does not tell the policy.
    Seen::builder(&copy)
        .canon(seendb::Canon::raw())
        .repair_into(&into, &mut |_| std::ops::ControlFlow::Continue(()))
        .unwrap();
    let seen = manual(&into).open().unwrap();
    let other = claim(&seen, "https://example.net/");
    assert!(other.token() > token);
    seen.lease(URL, token).unwrap().fetched(404, None).unwrap();
    let state = seen.get(URL).unwrap().unwrap().state;
    assert!(matches!(state, State::Fetched { status: 404, .. }));
}
