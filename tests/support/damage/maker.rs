//! Makes the stores that are to be damaged, and keeps account of what is in them.

use super::specimen::{DIR, Files, Kind, Known, Specimen, files};
use crate::support::{Seeded, SetClock, at, inserted, small};
use seendb::vfs::sim::Sim;
use seendb::{Canon, Claim, Driver, Env, Lease, Outcome, Record, Seen, State, StateKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3600);
/// After so long, failures expire. Who asks has a clock of its own: of the failures here, some
/// are of 1970, and all others of 2026.
const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

/// What a batch does. Without stamps, inserts and forgets alone.
#[derive(Debug, Default)]
pub struct Batch {
    inserts: Vec<String>,
    claims: Vec<String>,
    fetched: Vec<String>,
    failed: Vec<(String, Option<u64>)>,
    expired: Vec<String>,
    forgets: Vec<String>,
    position: Option<u64>,
}

impl Batch {
    pub fn of(inserts: &[impl AsRef<str>]) -> Batch {
        Batch {
            inserts: owned(inserts),
            ..Batch::default()
        }
    }

    pub fn claim(mut self, urls: &[String]) -> Batch {
        self.claims = owned(urls);
        self
    }

    pub fn fetched(mut self, url: &str) -> Batch {
        self.fetched.push(url.into());
        self
    }

    pub fn failed(mut self, url: &str, retry_after: Option<u64>) -> Batch {
        self.failed.push((url.into(), retry_after));
        self
    }

    /// These, and nothing else, were first seen and failed long ago.
    pub fn expired(urls: &[String]) -> Batch {
        Batch {
            expired: owned(urls),
            ..Batch::default()
        }
    }

    pub fn forget(mut self, urls: &[String]) -> Batch {
        self.forgets = owned(urls);
        self
    }

    pub fn at(mut self, position: u64) -> Batch {
        self.position = Some(position);
        self
    }
}

fn owned(urls: &[impl AsRef<str>]) -> Vec<String> {
    urls.iter().map(|url| url.as_ref().to_owned()).collect()
}

/// A store while it is made.
pub struct Maker {
    kind: Kind,
    pub sim: Arc<Sim>,
    clock: Arc<SetClock>,
    entropy: Arc<Seeded>,
    history: Vec<Files>,
    /// What each key has, and whether that has expired.
    keys: BTreeMap<String, (Record, bool)>,
    leases: BTreeMap<String, Lease>,
    /// After each batch.
    known: Vec<Known>,
    /// Entries in segments.
    flushed: u64,
    /// Keys and entries in logs.
    in_logs: (BTreeSet<String>, u64),
}

impl Maker {
    pub fn new(kind: Kind) -> Maker {
        Maker {
            kind,
            sim: Sim::new(),
            clock: Arc::default(),
            entropy: Arc::new(Seeded::new(kind.seed)),
            history: Vec::new(),
            keys: BTreeMap::new(),
            leases: BTreeMap::new(),
            known: vec![Known::default()],
            flushed: 0,
            in_logs: Default::default(),
        }
    }

    pub fn open(&mut self) -> Seen {
        let env = Env {
            vfs: self.sim.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        };
        let canon = match self.kind.standard {
            true => Canon::standard(),
            false => Canon::raw(),
        };
        let mut builder = small(DIR.as_ref())
            .canon(canon)
            .stamps(self.kind.stamps)
            .writes(self.kind.writes)
            .filter(self.kind.filter)
            .driver(Driver::Manual)
            .env(env);
        if self.kind.stamps {
            builder = builder.expire_state_after(StateKind::Failed, TEN_YEARS);
        }
        let seen = builder.open().unwrap();
        self.note();
        seen
    }

    pub fn note(&mut self) {
        self.history.push(files(&self.sim));
    }

    /// Batches so far.
    pub fn batches(&self) -> usize {
        self.known.len() - 1
    }

    /// One frame, a second after the one before.
    pub fn apply(&mut self, seen: &Seen, does: Batch) {
        let now = 1_767_225_600 + self.history.len() as u64;
        self.clock.set(now);
        let now = at(now);
        let mut batch = seen.batch();
        let mut touched = Vec::new();
        for url in &does.inserts {
            batch.insert(url).unwrap();
            let record = inserted(self.kind.stamps.then_some(now));
            assert!(self.keys.insert(url.clone(), (record, false)).is_none());
            touched.push(url);
        }
        if self.kind.stamps {
            for url in &does.claims {
                batch.claim(url, "worker 1", HOUR).unwrap();
                touched.push(url);
            }
            for url in &does.fetched {
                batch.fetched(&self.leases[url], 200, Some([7; 16]));
                let fetched = State::Fetched {
                    at: now,
                    status: 200,
                    content: Some([7; 16]),
                };
                self.set(url, now, fetched, false);
                touched.push(url);
            }
            for (url, retry) in &does.failed {
                let retry = retry.map(Duration::from_secs);
                batch.failed(&self.leases[url], "connection reset", retry);
                self.set(url, now, failed(now, retry.map(|after| now + after)), false);
                touched.push(url);
            }
            for url in &does.expired {
                let long_ago = at(1_000_000);
                batch.at(long_ago);
                batch.put(url, failed(long_ago, None)).unwrap();
                self.set(url, long_ago, failed(long_ago, None), true);
                touched.push(url);
            }
        }
        for url in &does.forgets {
            batch.forget(url).unwrap();
            assert!(self.keys.remove(url).is_some(), "{url}");
            touched.push(url);
        }
        if let Some(position) = does.position {
            batch.position(position);
        }
        if touched.is_empty() {
            return;
        }
        for claim in seen.apply(batch).unwrap().claims {
            let Claim::Granted(lease) = claim else {
                panic!("{claim:?}");
            };
            let url = String::from_utf8(lease.key().as_bytes().to_vec()).unwrap();
            let claimed = State::Claimed {
                worker: "worker 1".into(),
                until: now + HOUR,
                token: lease.token(),
                attempts: 1,
                last: None::<Outcome>,
            };
            self.set(&url, now, claimed, false);
            self.leases.insert(url, lease);
        }
        self.in_logs.1 += touched.len() as u64;
        self.in_logs.0.extend(touched.into_iter().cloned());
        let last = self.known.last().unwrap();
        let entries = self.keys.iter().filter(|(_, (_, expired))| !expired);
        let entries = entries.map(|(key, (record, _))| (key.clone().into_bytes(), record.clone()));
        self.known.push(Known {
            position: does.position.or(last.position),
            entries: entries.collect(),
            keys: self.keys.len() as u64,
            written: self.flushed + self.in_logs.1,
        });
        self.note();
    }

    fn set(&mut self, url: &str, now: SystemTime, state: State, expired: bool) {
        let (record, was_expired) = self
            .keys
            .entry(url.to_owned())
            .or_insert((inserted(Some(now)), false));
        record.changed = Some(now);
        record.state = state;
        *was_expired = expired;
    }

    /// What was forgotten is in an older run, so that all tombstones are kept.
    pub fn flush(&mut self, seen: &Seen) {
        seen.flush().unwrap();
        self.flushed += std::mem::take(&mut self.in_logs).0.len() as u64;
        self.note();
    }

    pub fn close(&mut self, seen: Seen) {
        self.flush(&seen);
        self.leases.clear();
        seen.close().unwrap();
        self.known.last_mut().unwrap().written = self.flushed;
    }

    /// The process dies.
    pub fn kill(&mut self, seen: Seen) {
        self.sim = self.sim.kill();
        self.leases.clear();
        drop(seen);
    }

    /// All batches but the first so many are in a live log, if that is left.
    pub fn finish(self, settled: Option<usize>) -> Specimen {
        let from = settled.unwrap_or(self.batches());
        let known = self.known[from..].to_vec();
        Specimen::with(self.kind, files(&self.sim), self.history, known)
    }
}

fn failed(now: SystemTime, retry_at: Option<SystemTime>) -> State {
    State::Failed {
        at: now,
        reason: "connection reset".into(),
        attempts: 1,
        retry_at,
    }
}
