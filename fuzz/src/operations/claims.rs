//! Claims, outcomes and states that are put, alone and in batches.

use super::super::bytes::Source;
use super::super::sample::at;
use super::model::{Claimed, How};
use super::{Pair, Url};
use seendb::{Batch, Claim, Error, Lease, Record, State, Token};
use std::time::Duration;

/// One operation of a batch.
enum Item {
    Insert,
    Claim(&'static str, Duration),
    Put(State),
    Forget,
    Settle(Lease, How),
}

const WORKERS: [&str; 3] = ["a", "worker 2", "é"];

/// A part of a second counts as one.
fn whole(duration: Duration) -> u64 {
    let part = u64::from(duration.subsec_nanos() > 0);
    duration.as_secs().saturating_add(part)
}

fn worker(script: &mut Source<'_>) -> &'static str {
    WORKERS[script.below(3)]
}

fn lease(script: &mut Source<'_>) -> Duration {
    let millis = [1, 500, 1_000, 5_000, 60_000, 86_400_000, 2_001][script.below(7)];
    if script.rarely(40) {
        return Duration::MAX;
    }
    Duration::from_millis(millis)
}

fn reason(script: &mut Source<'_>) -> String {
    match script.below(4) {
        0 => String::new(),
        1 => "é".repeat(script.below(100)),
        2 => "e".repeat(119) + "é",
        _ => "timeout".into(),
    }
}

fn how(script: &mut Source<'_>) -> How {
    match script.below(4) {
        0 => How::Fetched(200, None),
        1 => How::Fetched(script.u16(), Some([script.u8(); 16])),
        2 => How::Release,
        _ => {
            let after = lease(script);
            How::Failed(reason(script), (!script.rarely(3)).then(|| whole(after)))
        }
    }
}

impl Pair {
    /// Any of the states that can be put.
    fn state(&self, script: &mut Source<'_>) -> State {
        let now = self.model.now;
        let near = [now, now + 5, now.saturating_sub(30), now / 2][script.below(4)];
        let time = at(script.number(near) % (1 << 40));
        match script.below(3) {
            0 => State::Seen,
            1 => State::Fetched {
                at: time,
                status: script.u16(),
                content: script.flag().then(|| [script.u8(); 16]),
            },
            _ => State::Failed {
                at: time,
                reason: reason(script),
                attempts: u32::from(script.u8()),
                retry_at: (!script.rarely(3)).then(|| at(near + script.below(9) as u64)),
            },
        }
    }

    /// A claim's answer is what the model says, and its token is no other's.
    pub(super) fn expect_claim(
        &mut self,
        key: &[u8],
        asked: (&str, Duration),
        now: u64,
        claim: Claim,
    ) {
        let asked = (asked.0, whole(asked.1));
        let answer = match claim {
            Claim::Granted(lease) => {
                let token = lease.token();
                assert_eq!(lease.key().as_bytes(), key);
                assert!(self.tokens.insert(token, key.to_vec()).is_none());
                let expected = self.model.claim(key, asked, now, Some(token));
                let answer = Claimed::Granted {
                    until: lease.until(),
                    attempts: lease.attempts(),
                    last: lease.last().cloned(),
                };
                self.leases.push(lease);
                return assert_eq!(answer, expected, "{key:?}");
            }
            Claim::Held { by, until } => Claimed::Held { by, until },
            Claim::NotYet { retry_at } => Claimed::NotYet(retry_at),
            Claim::Done(record) => Claimed::Done(record),
            other => panic!("{other:?}"),
        };
        let expected = self.model.claim(key, asked, now, None);
        assert_eq!(answer, expected, "{key:?}");
    }

    pub(super) fn claim(&mut self, script: &mut Source<'_>) {
        let (url, key) = self.url(script);
        let (worker, lease) = (worker(script), lease(script));
        if script.rarely(20) {
            let long = "w".repeat(65);
            for (worker, lease) in [("", lease), (&long, lease), (worker, Duration::ZERO)] {
                let error = self.seen().claim(&url, worker, lease).unwrap_err();
                assert!(matches!(error, Error::InvalidOption { .. }));
            }
        }
        let answer = self.seen().claim(&url, worker, lease);
        match key {
            None => assert!(matches!(answer, Err(Error::InvalidUrl { .. }))),
            Some(_) if !self.model.stamps => {
                assert!(matches!(answer, Err(Error::StampsOff { .. })));
            }
            Some(key) => {
                let now = self.model.now;
                self.expect_claim(&key, (worker, lease), now, answer.unwrap());
            }
        }
    }

    pub(super) fn claim_many(&mut self, script: &mut Source<'_>) {
        let urls = self.few(script);
        let (worker, lease) = (worker(script), lease(script));
        let given: Vec<_> = urls.iter().map(|(url, _)| url).collect();
        let answers = self.seen().claim_many(&given, worker, lease);
        if !self.model.stamps && !urls.is_empty() {
            return assert!(matches!(answers, Err(Error::StampsOff { .. })));
        }
        let answers = answers.unwrap();
        assert_eq!(answers.len(), urls.len());
        let now = self.model.now;
        for ((_, key), answer) in urls.iter().zip(answers) {
            self.expect_claim(key, (worker, lease), now, answer);
        }
    }

    /// URLs that are sure to fit into a batch, whatever is done with them.
    fn few(&self, script: &mut Source<'_>) -> Vec<Url> {
        let mut room = self.seen().batch_limit();
        let mut urls = self.urls(script);
        urls.retain(|(_, key)| {
            let size = key.len() + Batch::ITEM_OVERHEAD + 300;
            let fits = size <= room;
            room -= if fits { size } else { 0 };
            fits
        });
        urls
    }

    /// Settles a claim of this opening, be it in force or not.
    pub(super) fn settle(&mut self, script: &mut Source<'_>) {
        if self.leases.is_empty() {
            return self.claim(script);
        }
        let place = script.below(self.leases.len());
        let mut lease = self.leases[place].clone();
        let key = lease.key().as_bytes().to_vec();
        let extends = script.rarely(4);
        let (answer, how) = if extends {
            let by = Duration::from_millis(u64::from(script.u16()));
            (lease.extend(by), How::Extend(whole(by)))
        } else {
            let how = how(script);
            let answer = match how.clone() {
                How::Fetched(status, content) => lease.fetched(status, content),
                How::Failed(reason, after) => lease.failed(&reason, after.map(Duration::from_secs)),
                _ => lease.release(),
            };
            (answer, how)
        };
        let now = self.model.now;
        match self.model.settle(&key, lease.token(), how, now) {
            Some(until) => {
                answer.unwrap();
                // Another lease of the same claim may have been extended.
                assert!(!extends || lease.until() == until);
            }
            None => assert!(matches!(answer, Err(Error::LeaseLost { .. })), "{answer:?}"),
        }
        self.leases[place] = lease;
    }

    /// Takes up a claim again that was granted at any time, or never.
    pub(super) fn lease(&mut self, script: &mut Source<'_>) {
        let place = script.below(self.tokens.len() + 1);
        let granted = self.tokens.iter().nth(place);
        let granted = granted.map(|(token, key)| (*token, key.clone()));
        let (token, key) = match granted {
            Some((token, _)) if script.rarely(6) => {
                let Some(key) = self.url(script).1 else {
                    return;
                };
                (token, key)
            }
            Some((token, key)) => (token, key),
            None => {
                let Some(key) = self.url(script).1 else {
                    return;
                };
                let token = Token {
                    epoch: script.number(1),
                    counter: script.number(1),
                };
                (token, key)
            }
        };
        let found = self.seen().lease(&key, token);
        match self.model.get(&key).map(|record: Record| record.state) {
            Some(State::Claimed {
                token: current,
                until,
                attempts,
                last,
                ..
            }) if current == token => {
                let lease = found.unwrap();
                let told = (lease.until(), lease.attempts(), lease.last().cloned());
                assert_eq!(told, (until, attempts, last));
                self.leases.push(lease);
            }
            _ => assert!(matches!(found, Err(Error::LeaseLost { .. })), "{found:?}"),
        }
    }

    pub(super) fn put(&mut self, script: &mut Source<'_>) {
        let (url, key) = self.url(script);
        let state = self.state(script);
        let answer = self.seen().put(&url, state.clone());
        let Some(key) = key else {
            return assert!(matches!(answer, Err(Error::InvalidUrl { .. })));
        };
        if !self.model.stamps && state != State::Seen {
            return assert!(matches!(answer, Err(Error::StampsOff { .. })));
        }
        let now = self.model.now;
        assert_eq!(answer.unwrap(), self.model.put(&key, state, now));
    }

    /// A claim whose key leaves room for others in a batch.
    fn short_lease(&self, script: &mut Source<'_>) -> Option<Lease> {
        let place = script.below(self.leases.len());
        let lease = self.leases.get(place);
        lease
            .filter(|lease| lease.key().as_bytes().len() < 1_000)
            .cloned()
    }

    /// A batch of any operations.
    pub(super) fn mixed(&mut self, script: &mut Source<'_>) {
        let mut items = Vec::new();
        for (_, key) in self.few(script) {
            let item = match script.below(8) {
                0..3 => Item::Insert,
                3 | 4 => Item::Claim(worker(script), lease(script)),
                5 => Item::Put(self.state(script)),
                6 => match self.short_lease(script) {
                    Some(lease) => Item::Settle(lease, how(script)),
                    None => Item::Forget,
                },
                _ => Item::Forget,
            };
            let key = match &item {
                Item::Settle(lease, _) => lease.key().as_bytes().to_vec(),
                _ => key,
            };
            items.push((key, item));
        }
        let mut batch = self.seen().batch();
        for (key, item) in &items {
            match item {
                Item::Insert => batch.insert(key).unwrap(),
                Item::Claim(worker, lease) => batch.claim(key, worker, *lease).unwrap(),
                Item::Put(state) => batch.put(key, state.clone()).unwrap(),
                Item::Forget => batch.forget(key).unwrap(),
                Item::Settle(lease, how) => match how.clone() {
                    How::Fetched(status, content) => batch.fetched(lease, status, content),
                    How::Failed(reason, after) => {
                        batch.failed(lease, &reason, after.map(Duration::from_secs));
                    }
                    _ => batch.release(lease),
                },
            }
        }
        let mut now = self.model.now;
        if script.rarely(3) {
            let then = script.number(now) % (1 << 40);
            let in_doubt = |(key, item): &(Vec<u8>, Item)| {
                let is_forget = matches!(item, Item::Forget);
                self.model.is_in_doubt(key, then) || is_forget && self.model.expires_by(key, then)
            };
            if !items.iter().any(in_doubt) {
                batch.at(at(then));
                now = then;
                self.model.by_batch = true;
            }
        }
        let outcome = self.seen().apply(batch);
        self.expect_mixed(items, now, outcome);
        self.model.by_batch = false;
    }

    fn expect_mixed(
        &mut self,
        items: Vec<(Vec<u8>, Item)>,
        now: u64,
        outcome: Result<seendb::Applied, Error>,
    ) {
        let needs_stamps = items.iter().any(|(_, item)| match item {
            Item::Claim(..) | Item::Settle(..) => true,
            Item::Put(state) => *state != State::Seen,
            Item::Insert | Item::Forget => false,
        });
        if needs_stamps && !self.model.stamps {
            return assert!(matches!(outcome, Err(Error::StampsOff { .. })));
        }
        let known =
            |(key, _): &(Vec<u8>, Item)| (key.clone(), self.model.entries.get(key).cloned());
        let before: Vec<_> = items.iter().map(known).collect();
        let lost = matches!(outcome, Err(Error::LeaseLost { .. }));
        let applied = match outcome {
            Err(Error::LeaseLost { .. }) => None,
            other => Some(other.unwrap()),
        };
        let mut claims = applied.iter().flat_map(|applied| applied.claims.clone());
        let mut new = Vec::new();
        for (key, item) in items {
            new.push(match item {
                Item::Insert => self.model.insert(&key, now),
                Item::Put(state) => self.model.put(&key, state, now),
                Item::Forget => self.model.forget(&key, now),
                Item::Claim(worker, lease) if lost => {
                    // The token of a grant that was taken back is not told.
                    let token = Token {
                        epoch: u64::MAX,
                        counter: 0,
                    };
                    let asked = (worker, whole(lease));
                    let claim = self.model.claim(&key, asked, now, Some(token));
                    matches!(claim, Claimed::Granted { .. })
                }
                Item::Claim(worker, lease) => {
                    let claim = claims.next().unwrap();
                    let is_granted = matches!(claim, Claim::Granted(_));
                    self.expect_claim(&key, (worker, lease), now, claim);
                    is_granted
                }
                Item::Settle(lease, how) => {
                    let settled = self.model.settle(&key, lease.token(), how, now);
                    if settled.is_none() {
                        assert!(lost, "{key:?} was not claimed any more");
                        // Nothing of the batch is applied.
                        for (key, record) in before {
                            super::super::sample::put(&mut self.model.entries, &key, record);
                        }
                        return;
                    }
                    false
                }
            });
        }
        assert!(!lost, "all was claimed");
        assert!(claims.next().is_none());
        assert_eq!(applied.unwrap().new, new);
    }
}
