//! Walks through keys, and forgetting what they give.

use super::super::bytes::Source;
use super::super::sample::at;
use super::Pair;
use seendb::{Error, Query, Record, Seen, StateKind};

/// Whether a key is wanted with its record.
type Wanted = dyn Fn(&[u8], &Record) -> bool;

/// Hosts that some keys have.
const HOSTS: [&str; 5] = [
    "example.com",
    "EXAMPLE.com",
    "host3.example",
    "host5.example",
    "example",
];

/// The host of a key of the form `scheme://[user@]host[:port][/...]`.
fn host(key: &[u8]) -> Option<String> {
    let text: String = key.iter().map(|&byte| byte as char).collect();
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(is_scheme) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let address = authority.rsplit('@').next()?;
    let host = match address.strip_prefix('[') {
        Some(inner) => format!("[{}]", inner.split_once(']')?.0),
        None => address.split(':').next()?.into(),
    };
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

impl Pair {
    /// The reader, up to date, or the writer.
    fn either(&self, script: &mut Source<'_>) -> &Seen {
        match (&self.reader, script.flag()) {
            (Some(reader), true) => {
                reader.refresh().unwrap();
                reader
            }
            _ => self.seen(),
        }
    }

    fn prefix(&self, script: &mut Source<'_>) -> Vec<u8> {
        let (url, key) = self.url(script);
        let mut prefix = key.unwrap_or(url);
        prefix.truncate(script.below(40));
        prefix
    }

    pub(super) fn scan(&mut self, script: &mut Source<'_>) {
        let prefix = self.prefix(script);
        let found = self.either(script).scan(&prefix).unwrap();
        let expected = self.model.live();
        let expected = expected.filter(|(key, _)| key.starts_with(&prefix));
        let expected = expected.map(|(key, record)| (key.clone(), record.clone()));
        assert!(found.map(Result::unwrap).eq(expected), "{prefix:?}");
    }

    pub(super) fn query(&mut self, script: &mut Source<'_>) {
        let mut query = Query::new();
        let mut wanted: Vec<Box<Wanted>> = Vec::new();
        if script.rarely(3) {
            let prefix = self.prefix(script);
            query = query.prefix(&prefix);
            wanted.push(Box::new(move |key, _| key.starts_with(&prefix)));
        }
        if script.rarely(2) {
            let asked = HOSTS[script.below(5)];
            query = query.host(asked);
            let asked = asked.to_ascii_lowercase();
            wanted.push(Box::new(move |key, _| host(key).as_ref() == Some(&asked)));
        }
        let mut kinds = Vec::new();
        for _ in 0..script.below(3) {
            let kind = StateKind::ALL[script.below(4)];
            query = query.state(kind);
            kinds.push(kind);
        }
        wanted.push(Box::new(move |_, record| {
            kinds.is_empty() || kinds.contains(&record.state.kind())
        }));
        let mut by_time = false;
        if script.rarely(3) {
            by_time = true;
            let since = at(script.number(self.model.now) % (1 << 40));
            query = query.since(since);
            wanted.push(Box::new(move |_, record| {
                record.changed.is_some_and(|changed| changed >= since)
            }));
        }
        let found = self.either(script).query(&query);
        if by_time && !self.model.stamps {
            return assert!(matches!(found, Err(Error::StampsOff { .. })));
        }
        let found = found.unwrap();
        let expected = self.model.live();
        let expected = expected.filter(|(key, record)| wanted.iter().all(|is| is(key, record)));
        let expected = expected.map(|(key, record)| (key.clone(), record.clone()));
        assert!(found.map(Result::unwrap).eq(expected), "{query:?}");
    }

    /// What is due is given, and of what has expired, as much as there is.
    pub(super) fn due(&mut self, script: &mut Source<'_>) {
        let now = self.model.now;
        let then = match script.below(3) {
            0 => script.number(now) % (1 << 40),
            1 => now + script.below(100) as u64,
            _ => now,
        };
        let found = self.either(script).due(at(then));
        if !self.model.stamps {
            return assert!(matches!(found, Err(Error::StampsOff { .. })));
        }
        let found: Vec<_> = found.unwrap().map(Result::unwrap).collect();
        assert!(found.is_sorted_by(|(a, _), (b, _)| a < b));
        for (key, record) in &found {
            assert_eq!(self.model.entries.get(key), Some(record), "{key:?}");
            assert!(self.model.is_due(record, then), "{key:?} at {then}");
        }
        let due = self.model.live();
        for (key, _) in due.filter(|(_, record)| self.model.is_due(record, then)) {
            let place = found.binary_search_by(|(known, _)| known.cmp(key));
            assert!(place.is_ok(), "{key:?} is due at {then}");
        }
    }

    pub(super) fn forget(&mut self, script: &mut Source<'_>) {
        let now = self.model.now;
        match script.below(8) {
            0..4 => {
                let (url, key) = self.url(script);
                let answer = self.seen().forget(&url);
                match key {
                    Some(key) => assert_eq!(answer.unwrap(), self.model.forget(&key, now)),
                    None => assert!(matches!(answer, Err(Error::InvalidUrl { .. }))),
                }
            }
            4 | 5 => {
                let urls = self.urls(script);
                let given: Vec<_> = urls.iter().map(|(url, _)| url).collect();
                let answer = self.seen().forget_many(&given);
                if self.too_large(&urls).is_some() {
                    return assert!(matches!(answer, Err(Error::BatchTooLarge { .. })));
                }
                let expected = urls.iter().map(|(_, key)| self.model.forget(key, now));
                let expected: Vec<_> = expected.collect();
                assert_eq!(answer.unwrap(), expected);
            }
            6 => {
                let asked = HOSTS[script.below(5)];
                let count = self.seen().forget_host(asked).unwrap();
                let asked = asked.to_ascii_lowercase();
                let gone = self.forget_all(&|key| host(key).as_ref() == Some(&asked));
                assert_eq!(count, gone);
            }
            _ => {
                let prefix = self.prefix(script);
                let count = self.seen().forget_prefix(&prefix).unwrap();
                assert_eq!(count, self.forget_all(&|key| key.starts_with(&prefix)));
            }
        }
    }

    fn forget_all(&mut self, wanted: &dyn Fn(&[u8]) -> bool) -> u64 {
        let keys = self.model.live().map(|(key, _)| key.clone());
        let keys: Vec<_> = keys.filter(|key| wanted(key)).collect();
        let now = self.model.now;
        for key in &keys {
            assert!(self.model.forget(key, now));
        }
        keys.len() as u64
    }
}
