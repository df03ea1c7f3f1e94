//! What is known of a URL no longer counts at an age that depends on its state. Then the
//! URL is new: for one caller, however many ask, and whatever is flushed and merged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::{Builder, Canon, Claim, Error, Seen, State, StateKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::{SetClock, at, env_with, long, manual, place, small};

const AGE: u64 = 100;
const LEASE: Duration = Duration::from_secs(10);

fn aged(builder: Builder, clock: &Arc<SetClock>) -> Builder {
    let age = Duration::from_secs(AGE);
    builder.env(env_with(clock, 1)).expire_after(age)
}

fn fetched(time: u64) -> State {
    State::Fetched {
        at: at(time),
        status: 200,
        content: None,
    }
}

fn failed(time: u64) -> State {
    State::Failed {
        at: at(time),
        reason: "so".into(),
        attempts: 1,
        retry_at: None,
    }
}

fn claims(seen: &Seen, key: &str) -> bool {
    matches!(
        seen.claim(key, "me", LEASE).unwrap(),
        Claim::Granted(lease) if lease.attempts() == 1 && lease.last().is_none()
    )
}

/// Half of eight threads insert, the others claim what they find new; memtables fill,
/// and everything is merged meanwhile.
#[test]
fn among_eight_threads() {
    const COUNT: u64 = 6_000;
    let url = |i: u64| format!("https://host{}.example/{i:0100}", i % 50);
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    let seen = aged(small(&path).canon(Canon::raw()), &clock)
        .open()
        .unwrap();
    for round in 1..=4 * long() {
        clock.set(round * AGE);
        let times_new: Vec<AtomicU64> = (0..COUNT).map(|_| AtomicU64::new(0)).collect();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    seen.compact().unwrap();
                }
            });
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let (seen, times_new) = (&seen, &times_new);
                    scope.spawn(move || {
                        for start in 0..COUNT / 50 {
                            // They meet at some, and are alone at others.
                            let first = (start * 50 + thread % 3 * 1_000) % COUNT;
                            let urls: Vec<_> = (first..first + 50).map(url).collect();
                            let new = insert_or_claim(seen, thread, &urls);
                            for (times, new) in times_new[first as usize..].iter().zip(new) {
                                times.fetch_add(u64::from(new), Ordering::SeqCst);
                            }
                        }
                    })
                })
                .collect();
            let _done = support::Done(&done);
            threads.into_iter().for_each(|one| one.join().unwrap());
        });
        for (i, times) in times_new.iter().enumerate() {
            assert_eq!(times.load(Ordering::SeqCst), 1, "URL {i} in round {round}");
        }
        // Claims do not expire: what they left is fetched, to be old in the next round.
        for lease in claimed(&seen) {
            lease.fetched(200, None).unwrap();
        }
        seen.compact().unwrap();
        assert_eq!(seen.len(), COUNT);
        assert_eq!(support::keys(&seen).len() as u64, COUNT);
    }
}

/// Whether each was recorded by this call, be it as seen or as claimed.
fn insert_or_claim(seen: &Seen, thread: u64, urls: &[String]) -> Vec<bool> {
    if thread.is_multiple_of(2) {
        return seen.insert_many(urls).unwrap();
    }
    let mut batch = seen.batch();
    for url in urls {
        // Only who finds it new claims it; in one batch nobody comes between.
        batch.insert(url).unwrap();
    }
    let new = seen.apply(batch).unwrap().new;
    let news = urls.iter().zip(&new).filter(|(_, new)| **new);
    let news: Vec<_> = news.map(|(url, _)| url).collect();
    let claims = seen.claim_many(&news, "me", LEASE).unwrap();
    assert!(
        claims
            .iter()
            .all(|claim| matches!(claim, Claim::Granted(_)))
    );
    new
}

fn claimed(seen: &Seen) -> Vec<seendb::Lease> {
    let found = support::entries(seen).into_iter();
    let leases = found.filter_map(|(key, record)| match record.state {
        State::Claimed { token, .. } => Some(seen.lease(&key, token).unwrap()),
        _ => None,
    });
    leases.collect()
}

/// Not a second before, each state at its own age; a claim never.
#[test]
fn at_the_age_of_its_state() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    clock.set(1_000);
    let open = |path: &Path| {
        manual(path)
            .env(env_with(&clock, 1))
            .expire_state_after(StateKind::Fetched, Duration::from_secs(30))
            .expire_state_after(StateKind::Failed, Duration::from_secs(20))
            .open()
            .unwrap()
    };
    let of_claims = manual(&path).expire_state_after(StateKind::Claimed, Duration::from_secs(1));
    assert!(matches!(
        of_claims.open().unwrap_err(),
        Error::InvalidOption {
            option: "expire_state_after",
            ..
        }
    ));
    let seen = open(&path);
    seen.insert("seen").unwrap();
    seen.put("fetched", fetched(1_000)).unwrap();
    seen.put("failed", failed(1_000)).unwrap();
    assert!(claims(&seen, "claimed"));
    let live = |seen: &Seen| {
        let all = ["claimed", "failed", "fetched", "seen"];
        let found = seen.get_many(&all).unwrap();
        let single = all.map(|key| seen.contains(key).unwrap());
        assert!(found.iter().map(Option::is_some).eq(single));
        assert_eq!(
            support::keys(seen).len(),
            single.iter().filter(|one| **one).count()
        );
        single
    };
    for stage in 0..3 {
        for (time, expected) in [
            (1_019, [true, true, true, true]),
            (1_020, [true, false, true, true]),
            (1_029, [true, false, true, true]),
            (1_030, [true, false, false, true]),
            (1_000_000, [true, false, false, true]),
        ] {
            clock.set(time);
            // A handle never goes back in time; another begins anew.
            let (_copy_dir, copy) = place();
            support::copy_dir(&path, &copy);
            assert_eq!(live(&open(&copy)), expected, "{time}, stage {stage}");
            let reader = manual(&path).env(env_with(&clock, 1));
            let reader = reader.open_read_only().unwrap();
            assert_eq!(live(&reader), expected, "{time}, stage {stage}");
        }
        clock.set(1_000);
        match stage {
            0 => seen.flush().unwrap(),
            _ => seen.compact().unwrap(),
        }
    }
    clock.set(1_000_000);
    assert!(seen.insert("fetched").unwrap() && !seen.insert("fetched").unwrap());
    assert!(claims(&seen, "failed") && !claims(&seen, "failed"));
    assert!(!seen.insert("seen").unwrap() && !seen.insert("claimed").unwrap());
    assert!(!seen.forget("nothing").unwrap());
}

/// It counts from when the state changed, not from when the URL was first seen.
#[test]
fn from_its_last_change() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    let seen = aged(manual(&path), &clock).open().unwrap();
    clock.set(1_000);
    seen.insert("a").unwrap();
    clock.set(1_000 + AGE - 1);
    assert!(claims(&seen, "a"));
    // The claim ran out long ago; it is the claim's, not new.
    clock.set(1_000 + 5 * AGE);
    assert!(!seen.insert("a").unwrap());
    let Claim::Granted(lease) = seen.claim("a", "me", LEASE).unwrap() else {
        panic!("it ran out");
    };
    assert_eq!(lease.attempts(), 2);
    lease.fetched(200, None).unwrap();
    clock.set(1_000 + 6 * AGE - 1);
    assert!(!seen.insert("a").unwrap());
    // What is known is as if it had never been there before.
    clock.set(1_000 + 6 * AGE);
    assert_eq!(seen.get("a").unwrap(), None);
    assert!(!seen.forget("a").unwrap());
    assert!(seen.insert("a").unwrap() && !seen.insert("a").unwrap());
    let record = seen.get("a").unwrap().unwrap();
    assert_eq!(record, support::inserted(Some(at(1_000 + 6 * AGE))));
}

/// Kept with the store until another age is asked for; a reader goes by the store's.
#[test]
fn by_the_age_that_the_store_keeps() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    let plain = || manual(&path).env(env_with(&clock, 1));
    clock.set(1_000);
    let seen = aged(manual(&path), &clock).open().unwrap();
    seen.insert("a").unwrap();
    seen.close().unwrap();

    clock.set(1_000 + AGE);
    let is_there = |builder: Builder| {
        let seen = builder.open().unwrap();
        let reader = plain().open_read_only().unwrap();
        let there = seen.contains("a").unwrap();
        assert_eq!(reader.contains("a").unwrap(), there);
        assert_eq!(support::keys(&reader).len(), usize::from(there));
        there
    };
    assert!(!is_there(plain()));
    let twice = Duration::from_secs(2 * AGE);
    assert!(is_there(plain().expire_after(twice)));
    assert!(is_there(plain()));
    clock.set(1_000 + 2 * AGE);
    assert!(!is_there(plain()));
    // Another state's age changes nothing for this one.
    let day = Duration::from_secs(86_400);
    assert!(!is_there(
        plain().expire_state_after(StateKind::Fetched, day)
    ));
    // Nothing was merged meanwhile: it is still there, if nothing expires.
    assert!(is_there(plain().expire_after(None)));
    assert!(is_there(plain()));
}

/// A merge of newer runs must not uncover what an older run says of the same key.
#[test]
fn although_an_older_run_has_a_version_that_would_count() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    clock.set(1_000);
    let open = || {
        let builder = manual(&path).env(env_with(&clock, 1));
        let failed_after = Duration::from_secs(AGE);
        builder.expire_state_after(StateKind::Failed, failed_after)
    };
    let seen = open().open().unwrap();
    // So large that the policy leaves it alone.
    for i in 0..20_000 {
        seen.insert(format!("filler{i:05}")).unwrap();
    }
    let key = |run: u64, i: u64| format!("{i:04}/{run}");
    for run in 0..10 {
        for i in 0..100 {
            seen.put(key(run, i), fetched(1_000)).unwrap();
        }
    }
    seen.compact().unwrap();
    for run in 0..10 {
        for i in 0..100 {
            seen.put(key(run, i), failed(1_000)).unwrap();
            seen.put(format!("alone{run}/{i}"), failed(1_000)).unwrap();
        }
        seen.flush().unwrap();
    }
    clock.set(1_000 + AGE);
    while seen.step().unwrap() {}
    let stats = seen.stats();
    assert!(stats.merges >= 2 && stats.runs > 1, "{stats:?}");
    seen.close().unwrap();

    let seen = open().open().unwrap();
    for run in 0..10 {
        let keys: Vec<_> = (0..100).map(|i| key(run, i)).collect();
        assert!(seen.get_many(&keys).unwrap().iter().all(Option::is_none));
        assert_eq!(seen.insert_many(&keys).unwrap(), [true; 100]);
        assert_eq!(seen.insert_many(&keys).unwrap(), [false; 100]);
    }
    seen.compact().unwrap();
    assert_eq!(seen.len(), 20_000 + 1_000);
    assert_eq!(support::keys(&seen).len(), 21_000);
}
