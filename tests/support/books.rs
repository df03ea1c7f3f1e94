//! What writers that are killed keep books of. Each operation of each lane is a pure
//! function of its number, and each lane has keys of its own, so that who knows how many
//! were done, and when, knows what is known of every key.

use crate::support::workload::{How, Known, Setting, What};
use crate::support::{Seeded, at, entries};
use seendb::{Durability, Reads, Seen, StateKind, Token, Writes};
use std::collections::{BTreeMap, BTreeSet};

/// Threads that write at once.
pub(crate) const LANES: usize = 3;
/// Keys of each.
const KEYS: u64 = 300;
/// Seconds after which all but claims expire.
pub(crate) const AGE: u64 = 2_000;

pub(crate) const SETTING: Setting = Setting {
    durability: Durability::Manual,
    writes: Writes::Map,
    reads: Reads::Map,
    stamps: true,
    expiry: Some(AGE),
};

/// One atomic operation, on different keys.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Insert(Vec<String>),
    Claim(Vec<String>),
    /// Those that are claimed; and keys to be inserted with them.
    Settle(Vec<(String, How)>, Vec<String>),
    Extend(String, u64),
    Forget(Vec<String>),
    /// Sets it to fetched, with this status.
    Put(String, u16),
    /// Changes nothing.
    Flush,
}

/// What one lane knows of its keys, expired or not.
pub(crate) type Page = BTreeMap<String, Known>;

/// All lanes.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    pub(crate) seed: u64,
    pub(crate) now: u64,
    /// The first operation of each lane that was not reported.
    pub(crate) ends: [u64; LANES],
    pages: [Page; LANES],
    tokens: BTreeSet<Token>,
}

/// A key of a lane. Neighbours in number are not neighbours in order; some are long, so
/// that memtables fill while a writer lives.
fn key(seed: u64, lane: usize, number: u64) -> String {
    let random = Seeded::new(seed ^ (lane as u64) << 56 ^ number << 8);
    let place = random.next();
    let padding = [10, 40, 200, 700, 4_000][random.below(5) as usize];
    format!("{place:016x}/{lane}/{number}/{:padding$}", "")
}

/// Operation `i` of a lane.
pub(crate) fn operation(seed: u64, lane: usize, i: u64) -> Operation {
    let random = Seeded::new(seed ^ (lane as u64) << 48 ^ i << 8 ^ 7);
    // Different ones: a batch with a key twice is another test's.
    let first = random.below(KEYS);
    let stride = [1, 7, 11][random.below(3) as usize];
    let some = |most: u64| {
        let numbers = (0..1 + random.below(most)).map(|j| (first + j * stride) % KEYS);
        numbers.map(|n| key(seed, lane, n)).collect::<Vec<_>>()
    };
    match random.below(32) {
        0..8 => Operation::Insert(some(7)),
        8..16 => Operation::Claim(some(7)),
        16..25 => {
            let mut keys = some(9);
            let inserts = keys.split_off(keys.len() / 2);
            let how = |key| {
                let how = match random.below(5) {
                    0 => How::Fetched(200),
                    1 => How::Fetched(404),
                    2 => How::Failed(Some(random.below(900))),
                    3 => How::Failed(None),
                    _ => How::Release,
                };
                (key, how)
            };
            Operation::Settle(keys.into_iter().map(how).collect(), inserts)
        }
        25 => Operation::Extend(key(seed, lane, first), random.below(900)),
        26..30 => Operation::Forget(some(5)),
        30 => Operation::Put(key(seed, lane, first), 301),
        _ if lane == 1 && random.below(3) == 0 => Operation::Flush,
        _ => Operation::Insert(some(1)),
    }
}

/// What counts for a key.
fn live<'a>(page: &'a Page, key: &str, now: u64) -> Option<&'a Known> {
    page.get(key)
        .filter(|known| !known.has_expired(SETTING, now))
}

/// The answers to an operation, one for each of its keys, and what it makes of the page.
/// Of a claim that is granted the answer is `g` and the token.
fn perform(page: &mut Page, operation: &Operation, now: u64) -> Vec<&'static str> {
    let mut answers = Vec::new();
    let mut insert = |page: &mut Page, key: &String| {
        let new = live(page, key, now).is_none();
        if new {
            page.insert(key.clone(), Known::seen(now));
        }
        answers.push(if new { "1" } else { "0" });
    };
    match operation {
        Operation::Insert(keys) => keys.iter().for_each(|key| insert(page, key)),
        Operation::Settle(settled, inserted) => {
            for (key, how) in settled {
                let settled = live(page, key, now).and_then(|known| known.settled(*how, now));
                page.extend(settled.map(|known| (key.clone(), known)));
            }
            inserted.iter().for_each(|key| insert(page, key));
        }
        Operation::Extend(key, by) => {
            let how = How::Extend(*by);
            let extended = live(page, key, now).and_then(|known| known.settled(how, now));
            page.extend(extended.map(|known| (key.clone(), known)));
        }
        Operation::Claim(keys) => {
            for key in keys {
                let claimed = Known::claimed(live(page, key, now), now);
                answers.push(if claimed.is_some() { "g" } else { "-" });
                page.extend(claimed.map(|known| (key.clone(), known)));
            }
        }
        Operation::Forget(keys) => {
            for key in keys {
                let there = live(page, key, now).is_some();
                if there {
                    page.remove(key);
                }
                answers.push(if there { "1" } else { "0" });
            }
        }
        Operation::Put(key, status) => {
            let before = live(page, key, now);
            answers.push(if before.is_none() { "1" } else { "0" });
            let known = Known {
                first: before.map_or(now, |known| known.first),
                changed: now,
                state: What::Fetched(*status),
            };
            page.insert(key.clone(), known);
        }
        Operation::Flush => {}
    }
    answers
}

impl Books {
    pub(crate) fn new(seed: u64) -> Books {
        Books {
            seed,
            now: 1_000_000,
            ends: [0; LANES],
            pages: Default::default(),
            tokens: BTreeSet::new(),
        }
    }

    /// Takes in a writer's report of operation `i`, and checks its answers.
    pub(crate) fn answered(&mut self, lane: usize, i: u64, answers: &str) {
        assert_eq!(self.ends[lane], i);
        let operation = operation(self.seed, lane, i);
        let expected = perform(&mut self.pages[lane], &operation, self.now);
        let answers: Vec<_> = answers.split_whitespace().collect();
        let kinds = answers.iter().map(|answer| &answer[..1]);
        assert!(kinds.eq(expected), "{answers:?} to {operation:?}");
        for token in answers.iter().filter_map(|answer| answer.strip_prefix('g')) {
            let given = self.tokens.insert(token.parse().unwrap());
            assert!(given, "{token} was given twice");
        }
        self.ends[lane] += 1;
    }

    /// Checks all that a store holds; how many operations are there that were not reported.
    pub(crate) fn check(&mut self, seen: &Seen) -> u64 {
        let now = self.now;
        let mut found: [BTreeMap<String, _>; LANES] = Default::default();
        for (key, record) in entries(seen) {
            assert_eq!(seen.get(&key).unwrap().as_ref(), Some(&record));
            if let seendb::State::Claimed { token, .. } = &record.state {
                self.tokens.insert(*token);
            }
            let key = String::from_utf8(key).unwrap();
            let lane: usize = key.split('/').nth(1).unwrap().parse().unwrap();
            found[lane].insert(key, record);
        }
        let mut unreported = 0;
        for (lane, found) in found.iter().enumerate() {
            let is_right = |page: &Page| {
                let mut counted = page
                    .iter()
                    .filter(|(key, _)| live(page, key, now).is_some());
                let same = |(key, known): (&String, &Known)| {
                    found
                        .get(key)
                        .is_some_and(|record| known.is(record, SETTING))
                };
                counted.clone().count() == found.len() && counted.all(same)
            };
            if is_right(&self.pages[lane]) {
                continue;
            }
            // The one that was on its way, wholly.
            let operation = operation(self.seed, lane, self.ends[lane]);
            perform(&mut self.pages[lane], &operation, now);
            assert!(is_right(&self.pages[lane]), "{operation:?} of lane {lane}");
            self.ends[lane] += 1;
            unreported += 1;
        }
        let (live, all) = (self.live().count(), self.all().count());
        assert!((live as u64..=all as u64).contains(&seen.len()));
        self.check_due(seen);
        unreported
    }

    /// Nothing that was settled can be claimed, and nothing is lost that was not.
    fn check_due(&self, seen: &Seen) {
        let due = seen.due(at(self.now)).unwrap();
        let due: BTreeSet<_> = due.map(|entry| entry.unwrap().0).collect();
        for (key, known) in self.all() {
            let claimed = Known::claimed(Some(known), self.now);
            let is_due = claimed.is_some() || known.has_expired(SETTING, self.now);
            let is_live = !known.has_expired(SETTING, self.now);
            // What has expired may have been merged away.
            if is_live || !is_due {
                assert_eq!(due.contains(key.as_bytes()), is_due, "{known:?}");
            }
        }
        let known: BTreeSet<_> = self.all().map(|(key, _)| key.as_bytes()).collect();
        assert!(due.iter().all(|key| known.contains(key.as_slice())));
    }

    /// Once all is merged, the counts are what a scan finds.
    pub(crate) fn check_merged(&self, seen: &Seen) {
        seen.compact().unwrap();
        assert_eq!(seen.len(), self.live().count() as u64);
        let mut kinds = BTreeMap::from(StateKind::ALL.map(|kind| (kind, 0)));
        for (_, record) in entries(seen) {
            *kinds.entry(record.state.kind()).or_default() += 1;
        }
        let states = seen.stats().states;
        let counted = [states.seen, states.claimed, states.fetched, states.failed];
        assert!(kinds.into_values().eq(counted), "{states:?}");
    }

    fn all(&self) -> impl Iterator<Item = (&String, &Known)> {
        self.pages.iter().flatten()
    }

    fn live(&self) -> impl Iterator<Item = (&String, &Known)> {
        let now = self.now;
        self.all()
            .filter(move |(_, known)| !known.has_expired(SETTING, now))
    }
}
