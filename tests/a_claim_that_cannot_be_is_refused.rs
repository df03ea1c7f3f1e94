//! A claim takes a store with times, a worker with a name, and a lease with some time in
//! it. What cannot be one is refused, and changes nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::{Builder, Claim, Error, Lease, Result, State};
use std::time::Duration;
use support::{at, manual, place};

const MINUTE: Duration = Duration::from_secs(60);

fn granted(claim: Result<Claim>) -> Lease {
    match claim.unwrap() {
        Claim::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// The error of every way to claim.
fn refused(builder: Builder, worker: &str, lease: Duration) -> Error {
    let seen = builder.open().unwrap();
    let mut batch = seen.batch();
    let outcome = batch.claim("a", worker, lease);
    let applied = outcome.and_then(|()| seen.apply(batch)).unwrap_err();
    let many = seen.claim_many(&["a"], worker, lease).unwrap_err();
    let one = seen.claim("a", worker, lease).unwrap_err();
    assert_eq!(one.to_string(), many.to_string());
    assert_eq!(one.to_string(), applied.to_string());
    assert!(seen.is_empty());
    one
}

#[test]
fn a_worker_needs_a_name_and_a_lease_some_time() {
    let (_dir, path) = place();
    for (worker, lease) in [
        (String::new(), MINUTE),
        ("x".repeat(65), MINUTE),
        ("a\nb".into(), MINUTE),
        ("x".into(), Duration::ZERO),
    ] {
        let error = refused(manual(&path), &worker, lease);
        assert!(matches!(error, Error::InvalidOption { .. }), "{error:?}");
    }
    let seen = manual(&path).open().unwrap();
    for worker in ["x".repeat(64), "a \u{fe}".into()] {
        let lease = granted(seen.claim(&worker, &worker, Duration::MAX));
        assert!(lease.until() > at(1 << 39));
        let held = seen.claim(&worker, "y", MINUTE).unwrap();
        assert!(matches!(held, Claim::Held { by, .. } if by == worker));
    }
}

#[test]
fn a_store_needs_times() {
    let (_dir, path) = place();
    let error = refused(manual(&path).stamps(false), "x", MINUTE);
    assert!(matches!(error, Error::StampsOff { .. }), "{error:?}");
    let seen = manual(&path).open().unwrap();
    let state = State::Fetched {
        at: at(1),
        status: 200,
        content: None,
    };
    let put = seen.put("a", state);
    assert!(matches!(put, Err(Error::StampsOff { .. })), "{put:?}");
    assert!(seen.put("a", State::Seen).unwrap());
    let due = seen.due(at(1)).map(drop);
    assert!(matches!(due, Err(Error::StampsOff { .. })), "{due:?}");
}
