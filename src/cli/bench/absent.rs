//! URLs that are surely not among the given ones, and as like them as can be.
//!
//! That they are absent is known without asking a store: the hash of each differs from
//! the hashes of all keys. So that a store's answers can be held against it.

use super::ended::{Ended, Stop};
use super::generator::Dice;
use super::keys::OwnedKey;
use super::urls::Urls;
use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// After so many trials a URL gets something behind it that hardly any URL has.
const NEAR: u32 = 4;

/// So many URLs are made between two looks at whether to stop.
pub(super) const STRIDE: usize = 1_024;

/// URLs that may be absent, by hash.
struct Candidates {
    keys: Vec<OwnedKey>,
    places: HashMap<u64, usize>,
}

/// For each place, an absent URL like one of `like`, all different.
pub(super) fn make(
    like: &[OwnedKey],
    count: usize,
    seed: u64,
    urls: &Urls,
    stop: &Stop,
) -> Result<Vec<OwnedKey>, Ended> {
    let mut dice = Dice(seed);
    let mut candidates = Candidates {
        keys: Vec::with_capacity(count),
        places: HashMap::with_capacity(count),
    };
    for (place, model) in like.iter().cycle().take(count).enumerate() {
        if place.is_multiple_of(STRIDE) {
            stop.check()?;
        }
        let mut trial = 0;
        loop {
            let key = near(model, trial, &mut dice);
            if candidates.add(key) {
                break;
            }
            trial += 1;
        }
    }
    for trial in 1.. {
        let found = candidates.found_in(urls, stop)?;
        if found.is_empty() {
            break;
        }
        for place in found {
            let model = like.get(place % like.len().max(1));
            let mut trial = trial;
            while let Some(model) = model {
                let key = near(model, trial, &mut dice);
                if candidates.replace(place, key) {
                    break;
                }
                trial += 1;
            }
        }
    }
    Ok(candidates.keys)
}

/// Of given URLs those that are absent, each once, and how many are not.
pub(super) fn only(
    given: Vec<OwnedKey>,
    urls: &Urls,
    stop: &Stop,
) -> Result<(Vec<OwnedKey>, u64), Ended> {
    let mut candidates = Candidates {
        keys: Vec::new(),
        places: HashMap::new(),
    };
    for key in given {
        candidates.add(key);
    }
    let found = candidates.found_in(urls, stop)?;
    let mut present = vec![false; candidates.keys.len()];
    for &place in &found {
        if let Some(present) = present.get_mut(place) {
            *present = true;
        }
    }
    let keys = candidates.keys.into_iter().zip(present);
    let absent = keys.filter(|(_, present)| !present).map(|(key, _)| key);
    Ok((absent.collect(), found.len() as u64))
}

impl Candidates {
    /// Adds a key unless it is there.
    fn add(&mut self, key: OwnedKey) -> bool {
        let hash = xxh3_64(&key);
        if self.places.contains_key(&hash) {
            return false;
        }
        self.places.insert(hash, self.keys.len());
        self.keys.push(key);
        true
    }

    /// Puts a key in another's place unless it is there.
    fn replace(&mut self, place: usize, key: OwnedKey) -> bool {
        let hash = xxh3_64(&key);
        let Some(old) = self.keys.get_mut(place) else {
            return true;
        };
        if self.places.contains_key(&hash) {
            return false;
        }
        self.places.remove(&xxh3_64(old));
        self.places.insert(hash, place);
        *old = key;
        true
    }

    /// The places of those that are among the keys, or have the hash of one, in order.
    fn found_in(&self, urls: &Urls, stop: &Stop) -> Result<Vec<usize>, Ended> {
        let mut found = Vec::new();
        urls.walk(stop, &mut |keys| {
            found.extend(keys.iter().filter_map(|key| self.places.get(&xxh3_64(key))));
            Ok(())
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// A URL that differs from `model` in one character near its end: a letter is another
/// letter, a digit another digit. Where there is none to change, or after several trials,
/// something is added.
fn near(model: &[u8], trial: u32, dice: &mut Dice) -> OwnedKey {
    let mut key = model.to_vec();
    let places = changeable(model);
    // What follows the last slash, if there is something: a neighbour in its directory.
    let slash = model.iter().rposition(|&b| b == b'/').unwrap_or(0);
    let name = places.partition_point(|&place| place < slash);
    let name = if name < places.len() { name } else { 0 };
    let last = places.len().saturating_sub(WINDOW).max(name);
    let window = places.get(last..).unwrap_or_default();
    let place = usize::try_from(dice.below(window.len() as u64)).unwrap_or_default();
    match window.get(place).and_then(|&place| key.get_mut(place)) {
        Some(byte) if trial < NEAR => *byte = other(*byte, dice),
        _ => {
            key.truncate(LONGEST);
            key.extend_from_slice(format!("-{:x}", dice.next() >> 20).as_bytes());
        }
    }
    key.into()
}

/// One of so many of the last characters is changed.
const WINDOW: usize = 12;

/// A key that leaves room for what is added.
const LONGEST: usize = crate::canon::MAX_KEY - 16;

/// Letters and digits of path and query, but for those of an escape such as `%2F`.
fn changeable(key: &[u8]) -> Vec<usize> {
    let authority = key.windows(3).position(|w| w == b"://").map(|at| at + 3);
    let path = authority.and_then(|from| {
        let rest = key.get(from..)?;
        rest.iter()
            .position(|b| b"/?".contains(b))
            .map(|at| from + at)
    });
    // Without a host, what follows the scheme; in what is no URL, everything.
    let start = match (path, authority) {
        (Some(path), _) => path,
        (None, Some(_)) => key.len(),
        (None, None) => key.iter().position(|&b| b == b':').unwrap_or(0),
    };
    let mut places = Vec::new();
    let mut place = start;
    while let Some(&byte) = key.get(place) {
        match byte {
            b'%' => place += 2,
            _ if byte.is_ascii_alphanumeric() => places.push(place),
            _ => {}
        }
        place += 1;
    }
    places
}

/// Another letter or digit of the same sort.
fn other(byte: u8, dice: &mut Dice) -> u8 {
    let (first, count) = match byte {
        b'0'..=b'9' => (b'0', 10),
        b'a'..=b'z' => (b'a', 26),
        _ => (b'A', 26),
    };
    // One of the others: never the same again.
    let step = u8::try_from(1 + dice.below(count - 1)).unwrap_or(1);
    let count = u8::try_from(count).unwrap_or(u8::MAX);
    first + (byte - first + step) % count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Canon;

    #[test]
    fn a_near_url_is_its_own_key_and_differs_in_one_character() {
        let mut dice = Dice(7);
        for url in [
            "https://example.com/a/b.html",
            "https://user@example.com:8080/x%2Fy?page=9",
            "https://example.com/?Q",
            "mailto:someone@example.com",
        ] {
            for _ in 0..200 {
                let made = near(url.as_bytes(), 0, &mut dice);
                assert_eq!(*Canon::standard().apply(&made).unwrap(), *made, "{url}");
                assert_eq!(made.len(), url.len());
                let differ = made.iter().zip(url.bytes()).filter(|(a, b)| **a != *b);
                assert_eq!(differ.count(), 1, "{url}");
                assert!(made.starts_with(&url.as_bytes()[..7]));
            }
        }
    }

    #[test]
    fn what_cannot_be_changed_is_added_to() {
        let mut dice = Dice(7);
        for url in ["https://example.com/", "https://example.com", "%20"] {
            let made = near(url.as_bytes(), 0, &mut dice);
            assert!(made.len() > url.len() && made.starts_with(url.as_bytes()));
        }
        let made = near(b"https://example.com/a", NEAR, &mut dice);
        assert!(made.starts_with(b"https://example.com/a-"));
        assert!(near(&[b'/'; 65_535], 0, &mut dice).len() <= 65_535);
    }

    #[test]
    fn none_is_present_even_where_all_neighbours_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let mut spooling = super::super::urls::Spooling::create(&path).unwrap();
        // Every key that differs in one digit is a key too.
        let all: Vec<OwnedKey> = (0..1_000)
            .map(|n| format!("https://example.com/{n:03}").into_bytes().into())
            .collect();
        for key in &all {
            spooling.push(key).unwrap();
        }
        let urls = Urls::Spooled(spooling.finish().unwrap());
        let stop = Stop::new(crossbeam_channel::never());
        let made = make(&all, 3_000, 1, &urls, &stop).unwrap();
        assert_eq!(made.len(), 3_000);
        let mut distinct = made.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), 3_000);
        assert!(made.iter().all(|key| !all.contains(key)));
        assert_eq!(made, make(&all, 3_000, 1, &urls, &stop).unwrap());

        let mut given = all[..10].to_vec();
        given.extend_from_slice(&made[..5]);
        given.push(made[0].clone());
        let (absent, present) = only(given, &urls, &stop).unwrap();
        assert_eq!((absent.as_slice(), present), (&made[..5], 10));
    }
}
