use super::*;

const A: Token = Token {
    epoch: 1,
    counter: 1,
};
const B: Token = Token {
    epoch: 2,
    counter: 1,
};

fn terms(now: u64) -> Terms {
    Terms {
        now,
        ceiling: now,
        is_clock: true,
        expiry: Expiry::default(),
        stamps: true,
    }
}

fn run(op: &Op, current: Option<&Stored>, now: u64) -> Result<(Answer, Option<Stored>), Lost> {
    decide(op, current, &terms(now), &mut || A)
}

fn claim_op(lease: u64) -> Op {
    Op::Claim {
        worker: "me".into(),
        lease,
    }
}

fn settle_op(token: Token, how: Settle) -> Op {
    Op::Settle { token, how }
}

/// What a claim at `now` of what is stored is granted, and what is stored then.
fn granted(current: Option<&Stored>, now: u64) -> (Grant, Stored) {
    match run(&claim_op(10), current, now).unwrap() {
        (Answer::Granted(grant), Some(stored)) => (grant, stored),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_is_granted_once_until_it_runs_out() {
    let (grant, stored) = granted(None, 100);
    assert_eq!((grant.until, grant.attempts), (110, 1));
    for now in 100..110 {
        let (answer, write) = run(&claim_op(10), Some(&stored), now).unwrap();
        assert!(matches!(answer, Answer::Held { until: 110, .. }), "{now}");
        assert_eq!(write, None);
        assert!(!is_due(&stored, &Expiry::default(), now));
    }
    assert!(is_due(&stored, &Expiry::default(), 110));
    assert_eq!(granted(Some(&stored), 110).0.attempts, 2);
}

#[test]
fn a_claim_of_a_clock_that_was_ahead_has_run_out() {
    let (_, stored) = granted(None, 1000);
    assert!(is_due(&stored, &Expiry::default(), 999));
    let (grant, again) = granted(Some(&stored), 999);
    assert_eq!(grant.until, 1009);
    // And then it holds, by the clock as it is.
    assert_eq!(again.first(), Some(999));
    assert!(!is_due(&again, &Expiry::default(), 999));
}

#[test]
fn a_batch_of_the_past_takes_no_claim_and_ends_no_wait() {
    let past = Terms {
        is_clock: false,
        ..terms(50)
    };
    let (_, claimed) = granted(None, 100);
    let claim = |stored| {
        decide(&claim_op(10), Some(stored), &past, &mut || B)
            .unwrap()
            .0
    };
    assert!(matches!(claim(&claimed), Answer::Held { .. }));
    let fail = Settle::Failed {
        reason: "so".into(),
        retry_after: Some(5),
    };
    let (_, failed) = run(&settle_op(A, fail), Some(&claimed), 105).unwrap();
    assert_eq!(claim(&failed.unwrap()), Answer::NotYet { retry_at: 110 });
}

#[test]
fn only_the_holder_settles() {
    let (_, stored) = granted(None, 100);
    let done = Settle::Fetched {
        status: 200,
        content: None,
    };
    assert!(run(&settle_op(B, done.clone()), Some(&stored), 101).is_err());
    assert!(run(&settle_op(A, done.clone()), None, 101).is_err());
    assert!(
        run(
            &settle_op(A, done.clone()),
            Some(&Stored::Seen(Some(1))),
            101
        )
        .is_err()
    );
    // Long after it ran out, as nobody else was granted it.
    let (_, fetched) = run(&settle_op(A, done.clone()), Some(&stored), 900).unwrap();
    let fetched = fetched.unwrap();
    assert_eq!((fetched.first(), fetched.changed()), (Some(100), Some(900)));
    assert!(run(&settle_op(A, done), Some(&fetched), 901).is_err());
    let (answer, write) = run(&claim_op(10), Some(&fetched), 902).unwrap();
    assert_eq!((answer, write), (Answer::Done(fetched), None));
}

#[test]
fn a_failure_is_retried_when_it_is_due() {
    let (_, claimed) = granted(None, 100);
    let fail = |retry_after| Settle::Failed {
        reason: "so".into(),
        retry_after,
    };
    let (_, failed) = run(&settle_op(A, fail(Some(50))), Some(&claimed), 105).unwrap();
    let failed = failed.unwrap();
    for (now, due) in [(104, true), (105, false), (154, false), (155, true)] {
        assert_eq!(is_due(&failed, &Expiry::default(), now), due, "{now}");
        let (answer, _) = run(&claim_op(10), Some(&failed), now).unwrap();
        assert_eq!(matches!(answer, Answer::Granted(_)), due, "{now}");
        assert_eq!(answer == Answer::NotYet { retry_at: 155 }, !due, "{now}");
    }
    let (grant, claimed) = granted(Some(&failed), 155);
    assert_eq!(grant.attempts, 2);
    assert!(matches!(grant.last, Some(Last::Failed { at: 105, .. })));
    // Given back, it is as before.
    let (_, released) = run(&settle_op(A, Settle::Release), Some(&claimed), 156).unwrap();
    let (grant, claimed) = granted(released.as_ref(), 156);
    assert_eq!(grant.attempts, 2);
    // For good.
    let (_, failed) = run(&settle_op(A, fail(None)), Some(&claimed), 160).unwrap();
    let (answer, _) = run(&claim_op(10), failed.as_ref(), 10_000).unwrap();
    assert!(matches!(answer, Answer::Done(_)));
}

#[test]
fn an_extended_claim_ends_later() {
    let (_, claimed) = granted(None, 100);
    let extend = Settle::Extend { by: 5 };
    for (now, until) in [(101, 115), (110, 115), (200, 205)] {
        let (answer, stored) = run(&settle_op(A, extend.clone()), Some(&claimed), now).unwrap();
        assert_eq!(answer, Answer::Settled { until: Some(until) });
        assert!(!is_due(&stored.unwrap(), &Expiry::default(), until - 1));
    }
}

#[test]
fn what_expired_is_as_if_it_was_never_there() {
    let expiry = Expiry {
        seen: Some(10),
        fetched: Some(20),
        failed: None,
    };
    let terms = |now| Terms {
        expiry,
        ..terms(now)
    };
    let seen = Stored::Seen(Some(100));
    let run = |op: &Op, now| decide(op, Some(&seen), &terms(now), &mut || A).unwrap();
    assert_eq!(run(&Op::Insert, 109).0, Answer::Inserted(false));
    let (answer, stored) = run(&Op::Insert, 110);
    assert_eq!(answer, Answer::Inserted(true));
    assert_eq!(stored, Some(Stored::Seen(Some(110))));
    assert_eq!(run(&Op::Forget, 109).0, Answer::Forgotten(true));
    let gone = (Answer::Forgotten(false), Some(Stored::Forgotten));
    assert_eq!(run(&Op::Forget, 110), gone);
    // A record of the future is not old.
    assert_eq!(run(&Op::Insert, 3).0, Answer::Inserted(false));
    // A claim does not expire.
    let (_, claimed) = run(&claim_op(10), 105);
    let settled = settle_op(A, Settle::Release);
    assert!(decide(&settled, claimed.as_ref(), &terms(9999), &mut || A).is_ok());
}
