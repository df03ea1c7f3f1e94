//! URLs, and inserting them: one at a time, in batches, and so that there is much to merge.

use super::super::bytes::Source;
use super::super::sample::at;
use super::{Pair, Url};
use seendb::{Durability, Error};
use std::time::Duration;

impl Pair {
    /// A URL, and its key unless the policy rejects it.
    pub(super) fn url(&self, script: &mut Source<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
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
    pub(super) fn urls(&self, script: &mut Source<'_>) -> Vec<Url> {
        (0..script.below(24))
            .filter_map(|_| match self.url(script) {
                (url, Some(key)) => Some((url, key)),
                _ => None,
            })
            .collect()
    }

    pub(super) fn insert_one(&mut self, script: &mut Source<'_>) {
        let (url, key) = self.url(script);
        let answer = if script.flag() {
            self.seen()
                .key(&url)
                .and_then(|key| self.seen().insert(&key))
        } else {
            self.seen().insert(&url)
        };
        match key {
            Some(key) => {
                let now = self.model.now;
                assert_eq!(answer.unwrap(), self.model.insert(&key, now));
            }
            None => assert!(matches!(answer, Err(Error::InvalidUrl { .. }))),
        }
    }

    pub(super) fn insert_many(&mut self, script: &mut Source<'_>) {
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
        let now = self.model.now;
        let mut expected = Vec::new();
        for (_, key) in urls {
            expected.push(self.model.insert(&key, now));
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
    pub(super) fn too_large(&self, urls: &[Url]) -> Option<u64> {
        let sizes = urls
            .iter()
            .map(|(_, key)| key.len() + seendb::Batch::ITEM_OVERHEAD);
        let size = sizes.sum::<usize>();
        (size > self.seen().batch_limit()).then_some(size as u64)
    }

    pub(super) fn apply(&mut self, script: &mut Source<'_>) {
        let urls = self.urls(script);
        let mut batch = if script.flag() {
            self.seen().batch()
        } else {
            seendb::Batch::new()
        };
        for (url, _) in &urls {
            batch.insert(url).unwrap();
        }
        let mut time = self.model.now;
        if script.flag() {
            let given = script.number(time) % (1 << 41);
            let then = given.min((1 << 40) - 1);
            if !urls
                .iter()
                .any(|(_, key)| self.model.is_in_doubt(key, then))
            {
                batch.at(at(given));
                time = then;
            }
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
            expected.push(self.model.insert(&key, time));
        }
        assert_eq!(outcome.unwrap().new, expected);
        self.position = position.or(self.position);
        if immediate && position.is_some() {
            self.durable = self.position;
        }
    }

    /// Enough to fill a memtable now and then, in one batch.
    pub(super) fn fill(&mut self, script: &mut Source<'_>) {
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
        let now = self.model.now;
        let new = self.seen().apply(batch).unwrap().new;
        for (key, new) in keys.into_iter().zip(new) {
            assert_eq!(self.model.insert(&key, now), new);
        }
    }

    /// More runs, each of a key or a few: of nine, some are merged.
    pub(super) fn grow(&mut self, script: &mut Source<'_>) {
        for _ in 0..script.below(10) {
            self.insert_one(script);
            self.claim(script);
            self.seen().flush().unwrap();
            self.durable = self.position;
        }
    }

    /// Keys that come back while a merge may be leaving them out.
    pub(super) fn renew(&mut self, script: &mut Source<'_>) {
        let first = self.millis;
        let url = |n: usize| format!("https://example.com/renew/{first}/{n}").into_bytes();
        for n in 0..9 + script.below(4) {
            let now = self.model.now;
            for key in [url(n), url(n / 2 + 20)] {
                assert_eq!(
                    self.seen().insert(&key).unwrap(),
                    self.model.insert(&key, now)
                );
            }
            self.seen().flush().unwrap();
            self.durable = self.position;
        }
        self.pass([1_000, 5_000, 100_000][script.below(3)]);
        for _ in 0..script.below(24) {
            let key = url(script.below(30));
            let now = self.model.now;
            match script.below(6) {
                0..3 => drop(self.seen().step().unwrap()),
                3 => assert_eq!(
                    self.seen().forget(&key).unwrap(),
                    self.model.forget(&key, now)
                ),
                4 => {
                    let claim = self.seen().claim(&key, "a", Duration::from_secs(9));
                    if self.model.stamps {
                        let asked = ("a", Duration::from_secs(9));
                        self.expect_claim(&key, asked, now, claim.unwrap());
                    }
                }
                _ => assert_eq!(
                    self.seen().insert(&key).unwrap(),
                    self.model.insert(&key, now)
                ),
            }
            self.expect_len(self.seen());
        }
    }
}
