//! Claims, settlings and forgetting beside one another, and beside memtables that change.

use super::memory::Memory;
use super::{any_schedule, options, options_at};
use crate::support::{SetClock, keys};
use seendb::{Claim, Durability, Error, Lease, Result, Seen, State, Token};
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// Claims that were granted.
#[derive(Debug, Default)]
struct Grants(Mutex<Vec<(&'static str, Token)>>);

impl Grants {
    fn claim(&self, seen: &Seen, some: &[&'static str]) {
        let claims = match some {
            [only] => vec![seen.claim(only, "me", LEASE).unwrap()],
            many => seen.claim_many(many, "me", LEASE).unwrap(),
        };
        for (key, claim) in some.iter().zip(claims) {
            match claim {
                Claim::Granted(lease) => self.0.lock().unwrap().push((key, lease.token())),
                Claim::Held { .. } => {}
                other => panic!("{key}: {other:?}"),
            }
            assert!(seen.contains(key).unwrap(), "{key} is gone");
        }
    }

    /// Each key was granted once, with a token of its own, which is the store's.
    fn check(&self, seen: &Seen, keys: &[&str]) {
        let grants = self.0.lock().unwrap();
        let of: BTreeMap<_, _> = grants.iter().copied().collect();
        let tokens: BTreeMap<_, _> = grants.iter().map(|(key, token)| (token, key)).collect();
        assert_eq!((of.len(), tokens.len()), (grants.len(), grants.len()));
        assert!(of.keys().copied().eq(keys.iter().copied()), "{grants:?}");
        for (key, token) in of {
            assert_eq!(token_of(seen, key), Some(token), "{key}");
        }
        assert_eq!(seen.len(), keys.len() as u64);
    }
}

fn token_of(seen: &Seen, key: &str) -> Option<Token> {
    match seen.get(key).unwrap()?.state {
        State::Claimed { token, .. } => Some(token),
        _ => None,
    }
}

fn claim(seen: &Seen, key: &str) -> Option<Lease> {
    match seen.claim(key, "me", LEASE).unwrap() {
        Claim::Granted(lease) => Some(lease),
        _ => None,
    }
}

/// Whether the lease was not lost.
fn is_settled(outcome: Result<()>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(Error::LeaseLost { .. }) => false,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn a_url_is_granted_once_while_memtables_are_frozen_and_flushed() {
    any_schedule(800, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        seen.insert("a").unwrap();
        let grants = Grants::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                grants.claim(&seen, &["a"]);
                grants.claim(&seen, &["b"]);
            });
            scope.spawn(|| {
                grants.claim(&seen, &["b", "c", "a"]);
                seen.flush().unwrap();
            });
            scope.spawn(|| {
                grants.claim(&seen, &["a"]);
                seen.flush().unwrap();
                grants.claim(&seen, &["c"]);
            });
        });
        grants.check(&seen, &["a", "b", "c"]);
        seen.close().unwrap();
        let seen = options(&memory).open().unwrap();
        grants.check(&seen, &["a", "b", "c"]);
        memory.check();
    });
}

/// Nobody is told of a claim that a power cut takes, or that rests on one it takes.
#[test]
fn a_grant_is_durable_when_it_is_told() {
    any_schedule(400, || {
        let memory = Memory::default();
        let options = |memory: &Memory| options(memory).durability(Durability::Immediate);
        let seen = options(&memory).open().unwrap();
        let grants = Grants::default();
        thread::scope(|scope| {
            for some in [&["a"][..], &["a", "b"], &["b"]] {
                let (grants, seen, memory) = (&grants, &seen, &memory);
                scope.spawn(move || {
                    grants.claim(seen, some);
                    let told = grants.0.lock().unwrap().clone();
                    let left = memory.after_a_power_cut();
                    let left = options(&left).open_read_only().unwrap();
                    for (key, token) in told {
                        assert_eq!(token_of(&left, key), Some(token), "{key}");
                    }
                    // Also who was told that another has it may rely on that.
                    for key in some {
                        assert!(left.contains(key).unwrap(), "{key}");
                    }
                });
            }
        });
        grants.check(&seen, &["a", "b"]);
        seen.close().unwrap();
        memory.check();
    });
}

/// Who held it and who claims it: one of the two has it.
#[test]
fn a_lease_that_ran_out_is_settled_or_granted_anew() {
    any_schedule(800, || {
        let memory = Memory::default();
        let clock = Arc::new(SetClock::default());
        let seen = options_at(&memory, &clock).open().unwrap();
        let old = claim(&seen, "a").unwrap();
        seen.flush().unwrap();
        clock.set(10);
        let (settled, granted) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let fetched = is_settled(old.fetched(200, None));
                settled.fetch_add(u64::from(fetched), SeqCst);
            });
            scope.spawn(|| {
                if let Some(new) = claim(&seen, "a") {
                    granted.fetch_add(1, SeqCst);
                    assert!(is_settled(new.failed("so", None)));
                }
            });
            scope.spawn(|| {
                seen.flush().unwrap();
                let again = claim(&seen, "a");
                granted.fetch_add(u64::from(again.is_some()), SeqCst);
            });
        });
        assert_eq!(settled.load(SeqCst) + granted.load(SeqCst), 1);
        let state = seen.get("a").unwrap().unwrap().state;
        assert_eq!(
            matches!(state, State::Fetched { .. }),
            settled.load(SeqCst) == 1
        );
        assert_eq!(seen.len(), 1);
        seen.close().unwrap();
        memory.check();
    });
}

/// Each time it is forgotten it is new once more, and never otherwise.
#[test]
fn a_url_is_new_as_often_as_it_was_forgotten() {
    any_schedule(800, || {
        let memory = Memory::default();
        let seen = options(&memory).open().unwrap();
        seen.insert("a").unwrap();
        seen.flush().unwrap();
        let (new, forgotten) = (AtomicU64::new(1), AtomicU64::new(0));
        let insert = || new.fetch_add(u64::from(seen.insert("a").unwrap()), SeqCst);
        let forget = || forgotten.fetch_add(u64::from(seen.forget("a").unwrap()), SeqCst);
        thread::scope(|scope| {
            scope.spawn(|| {
                forget();
                insert();
            });
            scope.spawn(|| {
                insert();
                seen.flush().unwrap();
                forget();
            });
            scope.spawn(|| {
                let many = seen.insert_many(&["b", "a"]).unwrap();
                new.fetch_add(u64::from(many[1]), SeqCst);
                seen.compact().unwrap();
                insert();
            });
        });
        let left = new.load(SeqCst) - forgotten.load(SeqCst);
        let check = |seen: &Seen| {
            assert_eq!(u64::from(seen.contains("a").unwrap()), left);
            assert_eq!(keys(seen).len() as u64, left + 1);
            assert_eq!(seen.len(), left + 1);
        };
        check(&seen);
        seen.close().unwrap();
        check(&options(&memory).open_read_only().unwrap());
        memory.check();
    });
}
