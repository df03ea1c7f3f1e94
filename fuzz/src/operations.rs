//! Any sequence of operations on a store and on a map gives the same answers, whatever
//! is flushed, merged, closed or killed in between, and whatever the options.

use super::bytes::Source;
use super::memory::Memory;
use super::sample::{DIR, Entries, Fixed, at, env, expect_exactly, millis, neighbours};
use seendb::vfs::Vfs;
use seendb::{Canon, Driver, Durability, Error, Reads, Seen, Writes};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub fn operations(input: &[u8]) {
    let mut script = Source::new(input);
    let mut pair = Pair::new(&mut script);
    while !script.is_empty() {
        pair.run(&mut script);
    }
    pair.end();
}

/// A store and what it should know.
struct Pair {
    vfs: Arc<Memory>,
    clock: Arc<Fixed>,
    canon: Canon,
    stamps: bool,
    seen: Option<Seen>,
    reader: Option<Seen>,
    /// By keys, not URLs.
    map: Entries,
    position: Option<u64>,
    /// At least this position is durable.
    durable: Option<u64>,
    now: u64,
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
            stamps: script.flag(),
            seen: None,
            reader: None,
            map: Entries::new(),
            position: None,
            durable: None,
            now: 1_000,
        };
        pair.open(script);
        pair
    }

    fn open(&mut self, script: &mut Source<'_>) {
        self.seen = None;
        self.reader = None;
        let choices = script.u8();
        let choose = |bit: u8| choices >> bit & 1 == 1;
        let mut builder = Seen::builder(DIR)
            .driver(Driver::Manual)
            .memory(if choose(0) { 1 << 20 } else { 2 << 20 })
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
            .env(env(&self.vfs, &self.clock));
        // A store remembers what is fixed.
        if choose(5) || self.vfs.all(Path::new(DIR)).is_empty() {
            builder = builder.canon(self.canon.clone()).stamps(self.stamps);
        }
        let seen = builder.open().unwrap();
        assert!(seen.recovery().cuts.is_empty());
        // What came from a log counts as durable once it is in segments.
        self.durable = seen.durable_position();
        if seen.recovery().logs == 0 {
            assert_eq!(self.durable, self.position);
        }
        self.seen = Some(seen);
        self.look();
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
        assert_eq!(reader.len(), self.map.len() as u64);
        assert_eq!(reader.position(), self.position);
    }

    /// A URL, and its key unless the policy rejects it.
    fn url(&self, script: &mut Source<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
        let number = script.u8();
        let n = usize::from(number);
        let url = match number % 8 {
            0 => format!("http://EXAMPLE.com:80/{}#f", n / 16).into_bytes(),
            1 => format!("https://example.com/{}", "a".repeat(n)).into_bytes(),
            2 => format!("https://example.com/{n}/{}", "b".repeat(n * 250)).into_bytes(),
            3 => {
                let len = n / 8;
                script.take(len).to_vec()
            }
            4 => vec![number, 0xff, number / 8],
            5 => [&b"a:"[..], &vec![number; n / 4]].concat(),
            6 => format!("https://host{}.example/x/{n}", n % 7).into_bytes(),
            _ => format!("https://example.com/p/{}?q={}", n / 8, script.u8()).into_bytes(),
        };
        let key = self.canon.apply(&url).ok().map(|key| key.into_owned());
        (url, key)
    }

    /// URLs that the policy takes, with their keys.
    fn urls(&self, script: &mut Source<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
        (0..script.below(24))
            .filter_map(|_| match self.url(script) {
                (url, Some(key)) => Some((url, key)),
                _ => None,
            })
            .collect()
    }

    /// What inserting a key must answer.
    fn insert(&mut self, key: Vec<u8>, time: u64) -> bool {
        let stamp = self.stamps.then_some(time);
        let absent = !self.map.contains_key(&key);
        self.map.entry(key).or_insert(stamp);
        absent
    }

    fn run(&mut self, script: &mut Source<'_>) {
        self.now += 100;
        self.clock.set(self.now);
        match script.below(32) {
            0..6 => self.insert_one(script),
            6..10 => self.apply(script),
            10..12 => self.insert_many(script),
            12..15 => {
                let (url, key) = self.url(script);
                self.expect_get(&url, key.as_deref());
            }
            15 => {
                let urls = self.urls(script);
                let asked: Vec<_> = urls.iter().map(|(url, _)| url).collect();
                let found = self.seen().get_many(&asked).unwrap();
                for ((_, key), record) in urls.iter().zip(found) {
                    assert_eq!(record.map(millis), self.map.get(key).copied());
                }
            }
            16..18 => self.scan(script),
            18..20 => self.fill(script),
            20..23 => {
                self.seen().flush().unwrap();
                self.durable = self.position;
            }
            23 => {
                self.seen().compact().unwrap();
                self.durable = self.position;
                assert!(self.seen().stats().runs <= 1);
            }
            24 => {
                for _ in 0..script.below(8) {
                    self.seen().step().unwrap();
                }
            }
            25 => {
                self.seen().sync().unwrap();
                assert_eq!(self.seen().durable_position(), self.position);
                self.durable = self.position;
            }
            26 | 27 => self.look(),
            28 => {
                self.reader = None;
                self.look();
            }
            29 => {
                self.seen.take().unwrap().close().unwrap();
                self.durable = self.position;
                self.open(script);
                assert_eq!(self.seen().recovery().logs, 0);
            }
            _ => {
                // What is in memory is gone; the files are as they were at this moment.
                self.vfs = self.vfs.copy();
                self.open(script);
            }
        }
        assert_eq!(self.seen().len(), self.map.len() as u64);
        assert_eq!(self.seen().position(), self.position);
        let durable = self.seen().durable_position();
        assert!(self.durable <= durable && durable <= self.position);
    }

    fn insert_one(&mut self, script: &mut Source<'_>) {
        let (url, key) = self.url(script);
        let answer = if script.flag() {
            self.seen()
                .key(&url)
                .and_then(|key| self.seen().insert(&key))
        } else {
            self.seen().insert(&url)
        };
        match key {
            Some(key) => assert_eq!(answer.unwrap(), self.insert(key, self.now)),
            None => assert!(matches!(answer, Err(Error::InvalidUrl { .. }))),
        }
    }

    fn insert_many(&mut self, script: &mut Source<'_>) {
        let mut urls = self.urls(script);
        if script.rarely(6) {
            // One that no policy takes rejects them all.
            let place = script.below(urls.len() + 1);
            let too_large = self.too_large(&urls[..place]).is_some();
            urls.insert(place, (Vec::new(), Vec::new()));
            let urls: Vec<_> = urls.iter().map(|(url, _)| url).collect();
            let error = self.seen().insert_many(&urls).unwrap_err();
            assert!(match error {
                // What comes before it may be too much already.
                Error::BatchTooLarge { .. } => too_large,
                Error::InvalidUrl { index, .. } => index == Some(place) && !too_large,
                _ => false,
            });
            return;
        }
        let given: Vec<_> = urls.iter().map(|(url, _)| url.clone()).collect();
        let whole = script.flag();
        if whole && let Some(size) = self.too_large(&urls) {
            let error = self.seen().insert_many(&given).unwrap_err();
            // As far as it was counted.
            return assert!(matches!(error, Error::BatchTooLarge { bytes, limit }
                if limit < bytes && bytes <= size));
        }
        let now = self.now;
        let mut expected = Vec::new();
        for (_, key) in urls {
            expected.push(self.insert(key, now));
        }
        if whole {
            assert_eq!(self.seen().insert_many(&given).unwrap(), expected);
        } else {
            // In as many batches as it takes.
            let new = expected.iter().filter(|&&new| new).count() as u64;
            assert_eq!(self.seen().extend(given).unwrap(), new);
        }
    }

    /// The size of a batch, if it is more than one may have.
    fn too_large(&self, urls: &[(Vec<u8>, Vec<u8>)]) -> Option<u64> {
        let sizes = urls
            .iter()
            .map(|(_, key)| key.len() + seendb::Batch::ITEM_OVERHEAD);
        let size = sizes.sum::<usize>();
        (size > self.seen().batch_limit()).then_some(size as u64)
    }

    fn apply(&mut self, script: &mut Source<'_>) {
        let urls = self.urls(script);
        let mut batch = if script.flag() {
            self.seen().batch()
        } else {
            seendb::Batch::new()
        };
        for (url, _) in &urls {
            batch.insert(url).unwrap();
        }
        let mut time = self.now;
        if script.flag() {
            let given = script.number(self.now) % (1 << 49);
            batch.at(at(given));
            time = given.min((1 << 48) - 1);
        }
        let immediate = script.rarely(4);
        if immediate {
            batch.durability(Durability::Immediate);
        }
        let position = script.flag().then(|| match script.below(4) {
            0 => script.number(self.position.unwrap_or(0)),
            _ => self.position.unwrap_or(0).saturating_add(1),
        });
        if let Some(position) = position {
            batch.position(position);
        }
        let outcome = self.seen().apply(batch);
        if let Some(size) = self.too_large(&urls) {
            let error = outcome.unwrap_err();
            // As far as it was counted.
            return assert!(matches!(error, Error::BatchTooLarge { bytes, limit }
                if limit < bytes && bytes <= size));
        }
        if let (Some(given), Some(last)) = (position, self.position)
            && given <= last
        {
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::StalePosition { given: g, last: l }
                if (g, l) == (given, last)));
            return;
        }
        let mut expected = Vec::new();
        for (_, key) in urls {
            expected.push(self.insert(key, time));
        }
        assert_eq!(outcome.unwrap().new, expected);
        self.position = position.or(self.position);
        if immediate && position.is_some() {
            self.durable = self.position;
        }
    }

    /// Enough to fill a memtable now and then, in one batch.
    fn fill(&mut self, script: &mut Source<'_>) {
        let number = script.u8() % 16;
        let len = 1 + script.below(8) * 8_000;
        let mut batch = self.seen().batch();
        let mut keys = Vec::new();
        let mut room = self.seen().batch_limit();
        for i in 0..40 {
            let url = format!("https://example.com/fill/{number}/{i}/{}", "c".repeat(len));
            let Some(rest) = room.checked_sub(url.len() + seendb::Batch::ITEM_OVERHEAD) else {
                break;
            };
            room = rest;
            batch.insert(&url).unwrap();
            keys.push(url.into_bytes());
        }
        let now = self.now;
        let new = self.seen().apply(batch).unwrap().new;
        for (key, new) in keys.into_iter().zip(new) {
            assert_eq!(self.insert(key, now), new);
        }
    }

    fn scan(&mut self, script: &mut Source<'_>) {
        let (url, key) = self.url(script);
        let mut prefix = key.unwrap_or(url);
        prefix.truncate(script.below(40));
        let seen = match (&self.reader, script.flag()) {
            (Some(reader), true) => {
                reader.refresh().unwrap();
                reader
            }
            _ => self.seen(),
        };
        let found = seen.scan(&prefix).unwrap().map(Result::unwrap);
        let expected = self.map.range(prefix.clone()..);
        let expected = expected.take_while(|(key, _)| key.starts_with(&prefix));
        assert!(
            found
                .map(|(key, record)| (key, millis(record)))
                .eq(expected.map(|(key, stamp)| (key.clone(), *stamp)))
        );
    }

    fn expect_get(&self, url: &[u8], key: Option<&[u8]>) {
        let found = self.seen().get(url);
        let Some(key) = key else {
            return assert!(matches!(found, Err(Error::InvalidUrl { .. })));
        };
        let expected = self.map.get(key).copied();
        assert_eq!(found.unwrap().map(millis), expected);
        assert_eq!(self.seen().contains(url).unwrap(), expected.is_some());
        for near in neighbours(key) {
            // Near keys are asked for as they are: a policy would change them.
            if self.canon == Canon::raw() {
                let expected = self.map.get(&near).copied();
                assert_eq!(self.seen().get(&near).unwrap().map(millis), expected);
            }
        }
    }

    /// All answers once more, from a reader and the writer; and no damage is found.
    fn end(mut self) {
        self.look();
        for seen in [self.seen(), self.reader.as_ref().unwrap()] {
            if self.canon == Canon::raw() {
                expect_exactly(seen, &self.map);
            } else {
                assert!(
                    seen.scan("")
                        .unwrap()
                        .map(|e| e.unwrap().0)
                        .eq(self.map.keys().cloned())
                );
            }
        }
        self.seen.take().unwrap().close().unwrap();
        let vfs: Arc<dyn Vfs> = self.vfs.clone();
        let report = seendb::fuzz::verify(&vfs, Path::new(DIR)).unwrap();
        assert!(report.damage.is_empty(), "{:?}", report.damage);
        assert_eq!(report.entries, self.map.len() as u64);
        assert!(report.leftovers.is_empty(), "{:?}", report.leftovers);
    }
}
