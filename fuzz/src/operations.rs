//! Any sequence of operations on a store and on a map gives the same answers, whatever
//! is flushed, merged, closed or killed in between, and whatever the options.

mod claims;
mod inserts;
mod model;
mod queries;

use self::model::Model;
use super::answers::neighbours;
use super::bytes::Source;
use super::memory::Memory;
use super::sample::{DIR, Fixed, env};
use seendb::vfs::Vfs;
use seendb::{
    Canon, Driver, Durability, Error, FilterKind, Lease, Reads, Seen, StateKind, Token, Writes,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Ages in seconds at which records expire.
const AGES: [Option<u64>; 5] = [None, Some(1), Some(5), Some(60), Some(5_000)];
/// How filters of new segments are built; `None`: as before.
const FILTERS: [Option<FilterKind>; 5] = [
    None,
    Some(FilterKind::Blocked),
    Some(FilterKind::Bloom),
    Some(FilterKind::Fuse),
    Some(FilterKind::None),
];
/// What expires.
const EXPIRE: [StateKind; 3] = [StateKind::Seen, StateKind::Fetched, StateKind::Failed];

pub fn operations(input: &[u8]) {
    let mut script = Source::new(input);
    let mut pair = Pair::new(&mut script);
    while !script.is_empty() {
        pair.run(&mut script);
    }
    pair.end();
}

/// A URL that the policy takes, with its key.
type Url = (Vec<u8>, Vec<u8>);

/// A store and what it should know.
struct Pair {
    vfs: Arc<Memory>,
    clock: Arc<Fixed>,
    canon: Canon,
    seen: Option<Seen>,
    reader: Option<Seen>,
    model: Model,
    /// All that were ever granted, with their keys.
    tokens: BTreeMap<Token, Vec<u8>>,
    /// Claims of this opening, in force or not.
    leases: Vec<Lease>,
    position: Option<u64>,
    /// At least this position is durable.
    durable: Option<u64>,
    millis: u64,
}

impl Pair {
    fn new(script: &mut Source<'_>) -> Pair {
        let canon = if script.flag() {
            Canon::raw()
        } else {
            Canon::standard()
        };
        let mut pair = Pair {
            vfs: Arc::default(),
            clock: Arc::default(),
            canon,
            seen: None,
            reader: None,
            model: Model {
                stamps: !script.rarely(4),
                ..Model::default()
            },
            tokens: BTreeMap::new(),
            leases: Vec::new(),
            position: None,
            durable: None,
            millis: 1_000_000,
        };
        pair.pass(0);
        pair.open(script);
        pair
    }

    /// Time goes on.
    fn pass(&mut self, millis: u64) {
        self.millis += millis;
        self.clock.set(self.millis);
        self.model.now = self.millis / 1000;
    }

    fn open(&mut self, script: &mut Source<'_>) {
        self.seen = None;
        self.reader = None;
        self.leases.clear();
        let choices = script.u8();
        let choose = |bit: u8| choices >> bit & 1 == 1;
        let more = usize::from(script.u8());
        let mut builder = Seen::builder(DIR)
            .driver(Driver::Manual)
            .memtable_size(if choose(0) { 1 << 20 } else { 2 << 20 })
            .segment_size(if choose(1) { 64 << 10 } else { 1 << 30 })
            .reads(if choose(2) { Reads::Map } else { Reads::Pread })
            // Now and then: the zeros allocated ahead take their time to look through.
            .writes(if choose(3) && choose(4) {
                Writes::Map
            } else {
                Writes::Pwrite
            })
            .false_positive_rate(if choose(4) { 0.5 } else { 0.01 })
            .durability(match choices >> 6 {
                0 => Durability::Manual,
                1 => Durability::Interval(Duration::from_millis(5)),
                _ => Durability::Immediate,
            })
            .merge_piece([1, 7, 50, 20_000][more % 4])
            .env(env(&self.vfs, &self.clock));
        if let Some(kind) = FILTERS[more / 4 % FILTERS.len()] {
            builder = builder.filter(kind);
        }
        // A store remembers what is fixed.
        if choose(5) || self.vfs.all(Path::new(DIR)).is_empty() {
            builder = builder.canon(self.canon.clone()).stamps(self.model.stamps);
        }
        let expired = self.expired();
        // Nobody may rely on a clock that never goes back.
        if script.rarely(4) {
            self.millis -= script.number(5_000) % self.millis;
            self.pass(0);
        }
        if self.model.stamps && script.rarely(2) {
            let age = AGES[script.below(AGES.len())];
            builder = builder.expire_after(age.map(Duration::from_secs));
            self.model.expiry = [age; 3];
            for (place, kind) in EXPIRE.into_iter().enumerate() {
                if script.rarely(4) {
                    let age = AGES[script.below(AGES.len())];
                    builder = builder.expire_state_after(kind, age.map(Duration::from_secs));
                    self.model.expiry[place] = age;
                }
            }
        }
        let seen = builder.open().unwrap();
        assert!(seen.recovery().cuts.is_empty());
        // What came from a log counts as durable once it is in segments.
        self.durable = seen.durable_position();
        if seen.recovery().logs == 0 {
            assert_eq!(self.durable, self.position);
        }
        self.seen = Some(seen);
        self.find_again(expired);
        self.look();
    }

    /// Keys that do not count any more.
    fn expired(&self) -> Vec<Vec<u8>> {
        let all = self.model.entries.iter();
        let expired = all.filter(|(_, record)| !self.model.counts(record));
        expired.map(|(key, _)| key.clone()).collect()
    }

    /// What had expired may count again, by another clock or age: if no merge has removed
    /// it, it is as it was.
    fn find_again(&mut self, expired: Vec<Vec<u8>>) {
        for key in expired {
            if self.model.get(&key).is_some() && self.seen().get(&key).unwrap().is_none() {
                self.model.entries.remove(&key);
            }
        }
    }

    fn seen(&self) -> &Seen {
        self.seen.as_ref().unwrap()
    }

    /// Opens another reader, or refreshes the one there is.
    fn look(&mut self) {
        match &self.reader {
            Some(reader) => reader.refresh().unwrap(),
            None => {
                let reader = Seen::builder(DIR).env(env(&self.vfs, &self.clock));
                self.reader = Some(reader.open_read_only().unwrap());
            }
        }
        let reader = self.reader.as_ref().unwrap();
        self.expect_len(reader);
        assert_eq!(reader.len(), self.seen().len());
        assert_eq!(reader.position(), self.position);
    }

    /// All that counts is counted, and nothing else but what has expired.
    fn expect_len(&self, seen: &Seen) {
        let live = self.model.live().count() as u64;
        let all = self.model.entries.len() as u64;
        let stats = seen.stats();
        let by_state = stats.states;
        let counted = [
            by_state.seen,
            by_state.claimed,
            by_state.fetched,
            by_state.failed,
        ];
        assert_eq!(stats.entries, seen.len());
        assert_eq!(counted.iter().sum::<u64>(), seen.len(), "{counted:?}");
        assert!(
            (live..=all).contains(&seen.len()),
            "{} of {live} to {all}",
            seen.len()
        );
        if live == all {
            let states = self.model.states();
            let expected = StateKind::ALL.map(|kind| states.get(&kind).copied().unwrap_or(0));
            assert_eq!(counted, expected);
        }
    }

    fn run(&mut self, script: &mut Source<'_>) {
        self.pass(100);
        match script.below(54) {
            0..4 => self.insert_one(script),
            4..7 => self.apply(script),
            7..9 => self.insert_many(script),
            9..12 => {
                let (url, key) = self.url(script);
                self.expect_get(&url, key.as_deref());
            }
            12 => {
                let urls = self.urls(script);
                let asked: Vec<_> = urls.iter().map(|(url, _)| url).collect();
                let found = self.seen().get_many(&asked).unwrap();
                for ((_, key), record) in urls.iter().zip(found) {
                    assert_eq!(record, self.model.get(key));
                }
            }
            13 => self.scan(script),
            14 => self.query(script),
            15 => self.due(script),
            16..18 => self.fill(script),
            18..22 => self.claim(script),
            22 => self.claim_many(script),
            23..27 => self.settle(script),
            27 => self.lease(script),
            28 | 29 => self.put(script),
            30..33 => self.forget(script),
            33..36 => self.mixed(script),
            36 => {
                let seconds = [1, 4, 30, 3_600, 100_000][script.below(5)];
                self.pass(seconds * 1000);
            }
            37..40 => {
                self.seen().flush().unwrap();
                self.durable = self.position;
            }
            40 => self.compact(),
            41 => {
                for _ in 0..script.below(8) {
                    self.seen().step().unwrap();
                }
            }
            42 => {
                self.seen().sync().unwrap();
                assert_eq!(self.seen().durable_position(), self.position);
                self.durable = self.position;
            }
            43 => self.look(),
            44 => {
                self.reader = None;
                self.look();
            }
            45 => {
                self.seen.take().unwrap().close().unwrap();
                self.durable = self.position;
                self.open(script);
                assert_eq!(self.seen().recovery().logs, 0);
            }
            46 | 47 => self.grow(script),
            52 | 53 => self.renew(script),
            48 | 49 => {
                self.seen().step().unwrap();
            }
            _ => {
                // What is in memory is gone; the files are as they were at this moment.
                self.vfs = self.vfs.copy();
                self.open(script);
            }
        }
        self.expect_len(self.seen());
        assert_eq!(self.seen().position(), self.position);
        let durable = self.seen().durable_position();
        assert!(
            self.durable <= durable && durable <= self.position,
            "{:?} {durable:?} {:?}",
            self.durable,
            self.position
        );
    }

    /// One run without anything that has expired.
    fn compact(&mut self) {
        self.seen().compact().unwrap();
        self.durable = self.position;
        self.model.purge();
        assert!(self.seen().stats().runs <= 1);
        self.expect_len(self.seen());
    }

    fn expect_get(&self, url: &[u8], key: Option<&[u8]>) {
        let found = self.seen().get(url);
        let Some(key) = key else {
            return assert!(matches!(found, Err(Error::InvalidUrl { .. })));
        };
        let expected = self.model.get(key);
        assert_eq!(found.unwrap(), expected);
        assert_eq!(self.seen().contains(url).unwrap(), expected.is_some());
        for near in neighbours(key) {
            // Near keys are asked for as they are: a policy would change them.
            if self.canon == Canon::raw() {
                assert_eq!(self.seen().get(&near).unwrap(), self.model.get(&near));
            }
        }
    }

    /// All answers once more, from a reader and the writer; and no damage is found.
    fn end(mut self) {
        self.look();
        for seen in [self.seen(), self.reader.as_ref().unwrap()] {
            let found = seen.scan("").unwrap().map(Result::unwrap);
            let expected = self.model.live();
            assert!(found.eq(expected.map(|(key, record)| (key.clone(), record.clone()))));
        }
        for (key, record) in self.model.live().take(300) {
            assert_eq!(self.seen().get(key).unwrap().as_ref(), Some(record));
        }
        let compacts = self.millis.is_multiple_of(200);
        if compacts {
            self.compact();
        }
        self.seen.take().unwrap().close().unwrap();
        let vfs: Arc<dyn Vfs> = self.vfs.clone();
        let report = seendb::fuzz::verify(&vfs, Path::new(DIR)).unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
        assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
        // Beside keys there are older versions of them, and tombstones, until runs are merged.
        let least = self.model.live().count() as u64;
        assert!(report.entries >= least && (!compacts || report.entries == least));
    }
}
