//! Keys expire, come back, are claimed and forgotten, while merges that leave expired
//! records out are half done. Once everything is merged, `len()` and the counts by state
//! are what a scan finds: in the store, and in what a kill at any moment would leave of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use seendb::{Builder, Claim, Durability, Reads, Seen, State, StateKind, Writes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use support::workload::{How, Known, LEASE, Setting, What};
use support::{Seeded, SetClock, at, copy_dir, entries, env_with, long, manual, place, tell};

/// Seconds after which all but claims expire.
const AGE: u64 = 100;
/// Keys that operations choose from: so few that most meet older versions of theirs.
const KEYS: u64 = 4_000;

const SETTING: Setting = Setting {
    durability: Durability::Manual,
    writes: Writes::Map,
    reads: Reads::Map,
    stamps: true,
    expiry: Some(AGE),
};

/// A store, and what is known of its keys, expired or not.
struct Books {
    seed: u64,
    random: Seeded,
    clock: Arc<SetClock>,
    now: u64,
    dir: tempfile::TempDir,
    path: PathBuf,
    copies: u64,
    seen: Seen,
    known: BTreeMap<String, Known>,
    /// What was tried: merges, steps of them, kills.
    tried: [u64; 3],
}

fn options(path: &Path, clock: &Arc<SetClock>) -> Builder {
    let age = Duration::from_secs(AGE);
    manual(path)
        .merge_piece(200)
        .env(env_with(clock, 1))
        .expire_after(age)
}

impl Books {
    fn new(seed: u64) -> Books {
        let (dir, path) = place();
        let clock = Arc::new(SetClock::default());
        clock.set(1_000);
        Books {
            seed,
            random: Seeded::new(seed),
            now: 1_000,
            seen: options(&path, &clock).open().unwrap(),
            clock,
            dir,
            path,
            copies: 0,
            known: BTreeMap::new(),
            tried: [0; 3],
        }
    }

    /// Keys in a random part of all, so that a merge's frontier lies in the middle of some.
    fn keys(&self, most: u64) -> Vec<String> {
        let first = self.random.below(KEYS);
        let width = 1 + self.random.below(KEYS - first);
        (0..self.random.below(most))
            .map(|_| format!("{:05}", first + self.random.below(width)))
            .collect()
    }

    /// Whether a key counts at `time`; `None` where that depends on what was merged: it has
    /// expired by now, and had not then.
    fn counts(&self, key: &str, time: u64) -> Option<bool> {
        let Some(known) = self.known.get(key) else {
            return Some(false);
        };
        let (then, now) = (
            known.has_expired(SETTING, time),
            known.has_expired(SETTING, self.now),
        );
        (then || !now).then_some(!then)
    }

    fn live(&self, key: &str) -> Option<&Known> {
        let known = self.known.get(key)?;
        (!known.has_expired(SETTING, self.now)).then_some(known)
    }

    fn operate(&mut self) {
        match self.random.below(20) {
            0..6 => self.insert(),
            6..8 => self.put(),
            8..10 => self.claim(),
            10..12 => self.settle(),
            12..14 => self.forget(),
            14 => self.seen.flush().unwrap(),
            _ => self.merge(),
        }
        let live = self.known.keys().filter(|key| self.live(key).is_some());
        let (least, most) = (live.count() as u64, self.known.len() as u64);
        let len = self.seen.len();
        assert!((least..=most).contains(&len), "{len} of {least} to {most}");
    }

    /// The batch's time: often the clock's, else one before it or after it.
    fn time(&self) -> u64 {
        match self.random.below(4) {
            0 => self.now - self.random.below(2 * AGE),
            1 => self.now + self.random.below(AGE),
            _ => self.now,
        }
    }

    fn insert(&mut self) {
        let (keys, time) = (self.keys(1_200), self.time());
        let mut batch = self.seen.batch();
        keys.iter().for_each(|key| batch.insert(key).unwrap());
        batch.at(at(time));
        let new = self.seen.apply(batch).unwrap().new;
        for (key, new) in keys.into_iter().zip(new) {
            let expected = self.counts(&key, time).map(|counts| !counts);
            assert_eq!(new, expected.unwrap_or(new), "{key}");
            if new {
                self.known.insert(key, Known::seen(time));
            }
        }
    }

    fn put(&mut self) {
        let (keys, time) = (self.keys(100), self.time());
        for key in keys {
            let state = State::Fetched {
                at: at(time),
                status: 200,
                content: None,
            };
            let new = self.seen.put(&key, state).unwrap();
            let live = self.live(&key);
            assert_eq!(new, live.is_none(), "{key}");
            let known = Known {
                first: live.map_or(time, |known| known.first.min(time)),
                changed: time,
                state: What::Fetched(200),
            };
            self.known.insert(key, known);
        }
    }

    fn claim(&mut self) {
        let keys = self.keys(100);
        let lease = Duration::from_secs(LEASE);
        let claims = self.seen.claim_many(&keys, "me", lease).unwrap();
        for (key, claim) in keys.into_iter().zip(claims) {
            let mut claimed = Known::claimed(self.live(&key), self.now);
            let Claim::Granted(lease) = claim else {
                assert_eq!(claimed, None, "{claim:?}");
                continue;
            };
            let Some(Known {
                first,
                state: What::Claimed { token, .. },
                ..
            }) = &mut claimed
            else {
                panic!("granted: {lease:?}");
            };
            // It may have been inserted with a time to come.
            *first = self.now.min(*first);
            *token = Some(lease.token());
            self.known.extend(claimed.map(|claimed| (key, claimed)));
        }
    }

    fn settle(&mut self) {
        for key in self.keys(300) {
            let Some(known) = self.live(&key) else {
                continue;
            };
            let What::Claimed {
                token: Some(token), ..
            } = known.state
            else {
                continue;
            };
            let lease = self.seen.lease(&key, token).unwrap();
            let retry = Duration::from_secs(9);
            let how = match self.random.below(3) {
                0 => lease.fetched(404, None).map(|()| How::Fetched(404)),
                1 => lease.failed("so", retry).map(|()| How::Failed(Some(9))),
                _ => lease.release().map(|()| How::Release),
            };
            let settled = known.settled(how.unwrap(), self.now).unwrap();
            self.known.insert(key, settled);
        }
    }

    fn forget(&mut self) {
        let (keys, time) = (self.keys(200), self.time());
        let mut batch = self.seen.batch();
        keys.iter().for_each(|key| batch.forget(key).unwrap());
        batch.at(at(time));
        let there = self.seen.apply(batch).unwrap().new;
        for (key, there) in keys.into_iter().zip(there) {
            let expected = self.counts(&key, time);
            assert_eq!(there, expected.unwrap_or(there), "{key}");
            // What has expired by that time too.
            self.known.remove(&key);
        }
    }

    /// A few pieces, of which the first begins a merge if there are runs enough.
    fn merge(&mut self) {
        let before = self.seen.stats().merges;
        for _ in 0..1 + self.random.below(2) {
            self.tried[1] += u64::from(self.seen.step().unwrap());
        }
        self.tried[0] += self.seen.stats().merges - before;
        self.now += self.random.below(12);
        self.clock.set(self.now);
    }

    /// What a kill at this moment would leave.
    fn copy(&mut self) -> PathBuf {
        self.copies += 1;
        let copy = self.dir.path().join(format!("copy{}", self.copies));
        copy_dir(&self.path, &copy);
        copy
    }

    /// Merges everything that a kill would leave, and compares.
    fn check_after_a_kill(&mut self) {
        let copy = self.copy();
        let seen = options(&copy, &self.clock).open().unwrap();
        self.check(&seen);
        drop(seen);
        std::fs::remove_dir_all(copy).unwrap();
        self.tried[2] += 1;
    }

    /// Goes on with that.
    fn kill(&mut self) {
        self.path = self.copy();
        self.seen = options(&self.path, &self.clock).open().unwrap();
        self.tried[2] += 1;
    }

    fn check(&self, seen: &Seen) {
        seen.compact().unwrap();
        let found = entries(seen);
        let live = self
            .known
            .iter()
            .filter(|(key, _)| self.live(key).is_some());
        let expected: Vec<_> = live.collect();
        assert_eq!(found.len(), expected.len());
        let mut states = [0; 4];
        for ((key, record), (expected, known)) in found.iter().zip(expected) {
            assert_eq!(key, expected.as_bytes());
            let kind = match known.state {
                What::Seen => StateKind::Seen,
                What::Claimed { .. } => StateKind::Claimed,
                What::Fetched(_) => StateKind::Fetched,
                What::Failed { .. } => StateKind::Failed,
            };
            let times = (Some(at(known.first)), Some(at(known.changed)));
            assert_eq!((record.first_seen, record.changed), times, "{expected}");
            assert_eq!(record.state.kind(), kind, "{expected}");
            states[kind as usize] += 1;
        }
        assert_eq!(seen.len(), found.len() as u64, "seed {}", self.seed);
        let counted = seen.stats().states;
        let counted = [
            counted.seen,
            counted.claimed,
            counted.fetched,
            counted.failed,
        ];
        assert_eq!(counted, states, "seed {}", self.seed);
    }
}

#[test]
fn whatever_is_in_progress() {
    let mut tried = [0; 3];
    for seed in 0..6 * long() {
        let mut books = Books::new(seed);
        for operation in 1..=400 {
            books.operate();
            // Runs enough for the policy to merge some, and to leave others alone.
            if operation % 3 == 0 && books.seen.stats().runs < 14 {
                books.seen.flush().unwrap();
            }
            match operation % 40 {
                7 | 21 => books.check_after_a_kill(),
                39 => books.kill(),
                _ => {}
            }
            if operation == 250 {
                books.check(&books.seen);
            }
        }
        books.check(&books.seen);
        let all = tried.iter_mut().zip(books.tried);
        all.for_each(|(all, these)| *all += these);
    }
    let [merges, steps, kills] = tried;
    tell(&format!("{merges} merges in {steps} steps, {kills} kills"));
    // Merges were in progress at most of the operations.
    assert!(merges > 0 && steps > 3 * merges);
}
