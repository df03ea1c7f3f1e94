//! However many ask, a URL is granted to one, until the lease runs out or is settled; and
//! who lost a lease settles nothing, whatever the clock says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::{Canon, Claim, Error, Lease, Outcome, Result, Seen, State, Token};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Seeded, SetClock, at, copy_dir, env_with, manual, place, small};

const MINUTE: Duration = Duration::from_secs(60);

fn open(path: &Path, clock: &Arc<SetClock>) -> Seen {
    manual(path).env(env_with(clock, 1)).open().unwrap()
}

fn clock_at(seconds: u64) -> Arc<SetClock> {
    let clock = Arc::new(SetClock::default());
    clock.set(seconds);
    clock
}

fn granted(claim: Result<Claim>) -> Lease {
    match claim.unwrap() {
        Claim::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn is_lost<T: std::fmt::Debug>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::LeaseLost { .. }))
}

/// Every way to settle answers that the lease is lost, and changes nothing.
fn assert_lost(lease: &mut Lease, seen: &Seen) {
    let before = seen.get(lease.key()).unwrap();
    let again = seen.lease(lease.key(), lease.token());
    assert!(is_lost(&again), "{again:?}");
    let all = [
        lease.fetched(200, None),
        lease.failed("late", MINUTE),
        lease.failed("late", None),
        lease.release(),
        lease.extend(MINUTE),
    ];
    assert!(all.iter().all(is_lost), "{all:?}");
    let mut batch = seen.batch();
    batch.insert("beside").unwrap();
    batch.fetched(lease, 200, None);
    batch.position(seen.position().unwrap_or(0) + 1);
    let position = seen.position();
    assert!(is_lost(&seen.apply(batch)));
    assert!(!seen.contains("beside").unwrap());
    assert_eq!(seen.position(), position);
    assert_eq!(seen.get(lease.key()).unwrap(), before);
}

/// Eight threads claim the same URLs, singly and many at once, in several rounds: in each
/// the leases of the one before have just run out.
#[test]
fn among_eight_threads() {
    const COUNT: u64 = 100_000 / 8;
    let url = |i: u64| format!("https://host{}.example/{i:060}", i % 50);
    let (_dir, path) = place();
    let clock = clock_at(1_000);
    let seen = small(&path).canon(Canon::raw()).env(env_with(&clock, 1));
    let seen = seen.open().unwrap();
    let tokens = Mutex::new(BTreeSet::new());
    for round in 0..3 {
        let granted: Vec<AtomicU64> = (0..COUNT).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (seen, granted, tokens) = (&seen, &granted, &tokens);
                scope.spawn(move || {
                    let random = Seeded::new(thread);
                    let worker = format!("worker {thread}");
                    let mut first = 0;
                    while first < COUNT {
                        let count = [1, 1 + random.below(200)][random.below(2) as usize];
                        let numbers: Vec<_> = (first..COUNT.min(first + count)).collect();
                        first += count;
                        let urls: Vec<_> = numbers.iter().map(|&i| url(i)).collect();
                        let claims = match urls.as_slice() {
                            [only] => vec![seen.claim(only, &worker, MINUTE).unwrap()],
                            many => seen.claim_many(many, &worker, MINUTE).unwrap(),
                        };
                        for (&i, claim) in numbers.iter().zip(claims) {
                            match claim {
                                Claim::Granted(lease) => {
                                    assert_eq!(u64::from(lease.attempts()), round + 1);
                                    assert!(tokens.lock().unwrap().insert(lease.token()));
                                    granted[i as usize].fetch_add(1, Ordering::SeqCst);
                                }
                                Claim::Held { until, .. } => {
                                    assert_eq!(until, at(1_060 + round * 60));
                                }
                                other => panic!("{other:?}"),
                            }
                        }
                    }
                });
            }
        });
        let times = granted.iter().map(|times| times.load(Ordering::SeqCst));
        assert!(times.clone().all(|times| times == 1), "round {round}");
        let all: Vec<_> = (0..COUNT).map(url).collect();
        clock.set(1_060 + round * 60 - 1);
        let early = all
            .chunks(500)
            .flat_map(|some| seen.claim_many(some, "early", MINUTE).unwrap());
        let held = |claim: &Claim| matches!(claim, Claim::Held { by, .. } if by != "early");
        assert!(early.into_iter().all(|claim| held(&claim)));
        clock.set(1_060 + round * 60);
    }
    assert!(seen.stats().flushes > 0);
    seen.compact().unwrap();
    assert_eq!((seen.len(), seen.stats().states.claimed), (COUNT, COUNT));
}

#[test]
fn until_it_runs_out_to_the_second() {
    let (_dir, path) = place();
    let clock = clock_at(1_000);
    let seen = open(&path, &clock);
    let url = "https://example.com/";
    let mut first = granted(seen.claim(url, "one", MINUTE));
    assert_eq!((first.until(), first.attempts()), (at(1_060), 1));
    assert_eq!(first.last(), None);
    clock.set(1_059);
    let held = seen.claim(url, "two", MINUTE).unwrap();
    assert!(
        matches!(&held, Claim::Held { by, until } if by == "one" && *until == at(1_060)),
        "{held:?}"
    );
    clock.set(1_060);
    let mut second = granted(seen.claim(url, "two", MINUTE));
    assert_eq!((second.until(), second.attempts()), (at(1_120), 2));
    assert_lost(&mut first, &seen);

    // What an attempt came to is told to the next, also if one ran out in between.
    second.failed("no route", MINUTE).unwrap();
    assert_lost(&mut second, &seen);
    for (time, retry_at) in [(1_060, 1_120), (1_119, 1_120)] {
        clock.set(time);
        let wait = seen.claim(url, "three", MINUTE).unwrap();
        assert!(matches!(wait, Claim::NotYet { retry_at: then } if then == at(retry_at)));
    }
    for (time, attempts) in [(1_120, 3), (1_180, 4)] {
        clock.set(time);
        let lease = granted(seen.claim(url, "three", MINUTE));
        assert_eq!(lease.attempts(), attempts);
        let Some(Outcome::Failed {
            at: then, reason, ..
        }) = lease.last()
        else {
            panic!("{lease:?}");
        };
        assert_eq!((*then, reason.as_str()), (at(1_060), "no route"));
    }
    // One that ran out can be settled as long as nobody else was granted it.
    clock.set(2_000);
    let state = seen.get(url).unwrap().unwrap().state;
    let State::Claimed { token, .. } = state else {
        panic!("{state:?}");
    };
    seen.lease(url, token)
        .unwrap()
        .fetched(200, [7; 16])
        .unwrap();
    for time in [2_000, 1 << 39] {
        clock.set(time);
        let done = seen.claim(url, "four", MINUTE).unwrap();
        let Claim::Done(record) = done else {
            panic!("{done:?}");
        };
        let fetched = State::Fetched {
            at: at(2_000),
            status: 200,
            content: Some([7; 16]),
        };
        assert_eq!(
            (record.first_seen, record.state),
            (Some(at(1_000)), fetched)
        );
    }
    // So is what failed for good.
    let lease = granted(seen.claim("https://example.com/gone", "one", MINUTE));
    lease.failed("gone", None).unwrap();
    let done = seen
        .claim("https://example.com/gone", "two", MINUTE)
        .unwrap();
    assert!(
        matches!(&done, Claim::Done(record)
            if matches!(record.state, State::Failed { attempts: 1, retry_at: None, .. })),
        "{done:?}"
    );
}

#[test]
fn until_it_is_given_back() {
    let (_dir, path) = place();
    let clock = clock_at(1_000);
    let seen = open(&path, &clock);
    seen.insert("seen").unwrap();
    for key in ["new", "seen"] {
        clock.set(1_001);
        let mut lease = granted(seen.claim(key, "one", MINUTE));
        lease.release().unwrap();
        assert_lost(&mut lease, &seen);
        assert_eq!(seen.get(key).unwrap().unwrap().state, State::Seen);
        let again = granted(seen.claim(key, "two", MINUTE));
        assert_eq!(again.attempts(), 1);
        again.failed("busy", Duration::ZERO).unwrap();
        let third = granted(seen.claim(key, "three", MINUTE));
        assert_eq!(third.attempts(), 2);
        third.release().unwrap();
        // The failure is what is known again, and may be tried again at once.
        let record = seen.get(key).unwrap().unwrap();
        assert!(matches!(record.state, State::Failed { attempts: 1, .. }));
        assert_eq!(granted(seen.claim(key, "four", MINUTE)).attempts(), 2);
    }
}

#[test]
fn as_long_as_it_is_extended() {
    let (_dir, path) = place();
    let clock = clock_at(1_000);
    let seen = open(&path, &clock);
    let mut lease = granted(seen.claim("a", "one", MINUTE));
    clock.set(1_030);
    lease.extend(MINUTE).unwrap();
    assert_eq!(lease.until(), at(1_120));
    clock.set(1_119);
    assert!(matches!(
        seen.claim("a", "two", MINUTE).unwrap(),
        Claim::Held { .. }
    ));
    // From now, if it ran out and nobody was granted it.
    clock.set(2_000);
    lease.extend(MINUTE).unwrap();
    assert_eq!(lease.until(), at(2_060));
    clock.set(2_060);
    granted(seen.claim("a", "two", MINUTE));
    assert_lost(&mut lease, &seen);
}

/// Clocks that were ahead, or were set back, grant nothing to two, and keep nobody waiting
/// until they come true.
#[test]
fn whatever_the_clock_says() {
    let (_dir, path) = place();
    let clock = clock_at(1_000_000);
    let seen = open(&path, &clock);
    let mut ahead = granted(seen.claim("a", "ahead", MINUTE));
    let failed = granted(seen.claim("b", "ahead", MINUTE));
    failed.failed("so", MINUTE).unwrap();
    // An open store does not go back.
    clock.set(1_000);
    let held = seen.claim("a", "behind", MINUTE).unwrap();
    assert!(matches!(held, Claim::Held { until, .. } if until == at(1_000_060)));
    let token = ahead.token();
    seen.close().unwrap();

    let seen = open(&path, &clock);
    assert_eq!(seen.lease("a", token).unwrap().until(), at(1_000_060));
    let lease = granted(seen.claim("a", "behind", MINUTE));
    assert_eq!((lease.until(), lease.attempts()), (at(1_060), 2));
    assert!(is_lost(&seen.lease("a", token)));
    assert_eq!(granted(seen.claim("b", "behind", MINUTE)).attempts(), 2);
    // The handle is closed, so the old lease can do nothing at all.
    assert!(ahead.extend(MINUTE).is_err());
    // The clock comes right: the old one is none the better for it.
    for time in [1_059, 1_000_000, 1_000_059] {
        clock.set(time);
        assert!(is_lost(&seen.lease("a", token)));
    }
    lease.fetched(200, None).unwrap();
    let record = seen.get("a").unwrap().unwrap();
    assert_eq!(record.state.kind().name(), "fetched");
    assert!(record.first_seen.unwrap() <= record.changed.unwrap());
}

/// A claim is in the log, in segments, in what a kill leaves, and where readers see it;
/// tokens never come twice.
#[test]
fn across_restarts_and_kills() {
    let (dir, mut path) = place();
    let clock = clock_at(1_000);
    let mut seen = open(&path, &clock);
    let mut tokens = BTreeSet::new();
    let lease = granted(seen.claim("a", "one", MINUTE));
    let token = lease.token();
    assert_eq!(token.to_string().parse::<Token>().unwrap(), token);
    tokens.insert(token);
    for life in 0..12 {
        for other in 0..3 {
            let lease = granted(seen.claim(format!("{life}/{other}"), "two", MINUTE));
            assert!(tokens.insert(lease.token()), "{} again", lease.token());
        }
        match life % 3 {
            0 => {}
            1 => seen.flush().unwrap(),
            _ => seen.compact().unwrap(),
        }
        let reader = manual(&path).env(env_with(&clock, 1));
        let reader = reader.open_read_only().unwrap();
        for seen in [&seen, &reader] {
            let lease = seen.lease("a", token).unwrap();
            assert_eq!((lease.until(), lease.attempts()), (at(1_060), 1));
            assert!(is_lost(&seen.lease("0/0", token)));
            let state = seen.get("a").unwrap().unwrap().state;
            assert!(matches!(state, State::Claimed { worker, .. } if worker == "one"));
        }
        let refused = reader.lease("a", token).unwrap().fetched(200, None);
        assert!(
            matches!(refused, Err(Error::ReadOnly { .. })),
            "{refused:?}"
        );
        if life % 2 == 0 {
            seen.close().unwrap();
        } else {
            let copy = dir.path().join(format!("copy{life}"));
            copy_dir(&path, &copy);
            path = copy;
        }
        seen = open(&path, &clock);
        let held = seen.claim("a", "three", MINUTE).unwrap();
        assert!(matches!(held, Claim::Held { by, .. } if by == "one"));
    }
    seen.lease("a", token).unwrap().fetched(200, None).unwrap();
    assert!(is_lost(&seen.lease("a", token)));
}

/// What else may come between a claim and its settling.
#[test]
fn unless_something_else_becomes_of_it() {
    let (_dir, path) = place();
    let clock = clock_at(1_000);
    let seen = open(&path, &clock);
    let mut forgotten = granted(seen.claim("forgotten", "one", MINUTE));
    assert!(seen.forget("forgotten").unwrap());
    assert_lost(&mut forgotten, &seen);
    assert!(seen.insert("forgotten").unwrap());
    assert_lost(&mut forgotten, &seen);
    let mut put = granted(seen.claim("put", "one", MINUTE));
    assert!(!seen.put("put", State::Seen).unwrap());
    assert_lost(&mut put, &seen);
    granted(seen.claim("put", "two", MINUTE));
    assert_lost(&mut put, &seen);
    // An insert says nothing of a claim.
    let claimed = granted(seen.claim("claimed", "one", MINUTE));
    assert!(!seen.insert("claimed").unwrap());
    // In one batch: settled, and so not settled again.
    let mut batch = seen.batch();
    batch.fetched(&claimed, 200, None);
    batch.release(&claimed);
    assert!(is_lost(&seen.apply(batch)));
    assert_eq!(seen.stats().states.claimed, 2);
    let mut batch = seen.batch();
    batch.release(&claimed);
    batch.claim("claimed", "two", MINUTE).unwrap();
    batch.claim("claimed", "three", MINUTE).unwrap();
    let applied = seen.apply(batch).unwrap();
    assert_eq!(applied.new, [false, true, false]);
    assert!(matches!(
        &applied.claims[..],
        [Claim::Granted(_), Claim::Held { .. }]
    ));
}
