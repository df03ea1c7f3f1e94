//! Any bytes as a block: what it holds is found, or it is refused.

mod old;
mod packed;

pub use old::Old;
pub use packed::recode;

use super::answers::neighbours;
use super::bytes::{Source, edit};
use super::dictionary::Dictionary;
use super::front::common;
use super::memory_bound::bounded;
use super::record::{self, LATEST, Stored, seen_at};
use seendb::fuzz::{At, Block, Codes};

/// The form of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Of versions 1 to 3.
    Old(Old),
    /// Of the present version, with records or without.
    Packed(bool),
}

/// Keys in order with what is stored for them.
pub type Stores = Vec<(Vec<u8>, Stored)>;

impl Form {
    fn pick(script: &mut Source<'_>) -> Form {
        match script.below(12) {
            0 | 1 => Form::Old(Old::Records),
            2 | 3 => Form::Old(Old::Millis),
            4 => Form::Old(Old::Bare(1 + script.below(3) as u32)),
            5 | 6 => Form::Packed(false),
            _ => Form::Packed(true),
        }
    }

    fn parse<'a>(self, bytes: &'a [u8], codes: &'a Codes) -> Result<Block<'a>, String> {
        match self {
            Form::Old(Old::Bare(version)) => Block::parse(bytes, version, false, codes),
            Form::Old(Old::Millis) => Block::parse(bytes, 1, true, codes),
            Form::Old(Old::Records) => Block::parse(bytes, 3, true, codes),
            Form::Packed(records) => Block::parse(bytes, 4, records, codes),
        }
    }

    /// The entries of a block's bytes; `None` if some of it is not as docs/format.md says.
    pub fn read(self, bytes: &[u8], dictionary: &Dictionary) -> Option<Stores> {
        match self {
            Form::Old(old) => old::read(bytes, old),
            Form::Packed(records) => packed::read(bytes, records, dictionary),
        }
    }
}

/// A block of the input's own bytes, or a sound one that is changed in places.
pub fn block(input: &[u8]) {
    let mut script = Source::new(input);
    let form = Form::pick(&mut script);
    let dictionary = match form {
        Form::Old(_) => Dictionary::plain(),
        Form::Packed(_) => Dictionary::pick(&mut script),
    };
    let codes = Codes::decode(&dictionary.write()).unwrap();
    let bytes = match (script.below(8), form) {
        (0, _) => [script.take(usize::MAX), &[0; 4]].concat(),
        (_, Form::Old(old)) => old::craft(&mut script, old),
        (1..5, Form::Packed(records)) => built(&mut script, records, &dictionary, &codes),
        (_, Form::Packed(records)) => {
            let keys: Vec<_> = entries(&mut script)
                .into_iter()
                .map(|(key, _)| key)
                .collect();
            packed::craft(&mut script, &keys, records, &dictionary)
        }
    };
    bounded(bytes.len(), || ask(&bytes, form, &dictionary, &codes));
}

/// A block that the store writes, and what the rest of the script makes of it.
fn built(
    script: &mut Source<'_>,
    records: bool,
    dictionary: &Dictionary,
    codes: &Codes,
) -> Vec<u8> {
    let entries = entries(script);
    let longest = entries.first().map_or(0, |(key, _)| key.len());
    let separator = script.below(longest + 1);
    let mut bytes = Block::build(&entries, records, separator, codes);
    if !entries.is_empty() {
        let plain = || Some(seen_at(None));
        let stored = |(key, record): &(Vec<u8>, Vec<u8>)| match record::read(record) {
            Some(stored) if records => (key.clone(), stored),
            _ => (key.clone(), plain()),
        };
        let expected: Stores = entries.iter().map(stored).collect();
        let read = packed::read(&bytes, records, dictionary);
        assert_eq!(read.as_ref(), Some(&expected));
    }
    let crc = bytes.split_off(bytes.len().saturating_sub(4));
    while !script.is_empty() {
        edit(script, &mut bytes);
    }
    bytes.extend(crc);
    bytes
}

/// Keys in order, with records as logs have them.
fn entries(script: &mut Source<'_>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = std::collections::BTreeMap::new();
    let mut key = Vec::new();
    for _ in 0..script.below(40) {
        key.truncate(script.below(key.len() + 1));
        let len = 1 + script.below(5);
        key.extend(script.take(len));
        if script.rarely(30) {
            key.resize(key.len() + script.below(1000), b'a');
        }
        if script.rarely(30) {
            key.resize(253 + script.below(5), b'a');
            entries.insert(key.clone(), record::bytes(script, 0));
            key.pop();
            key.push(b'a' + script.u8() % 4);
        }
        if !key.is_empty() {
            entries.insert(key.clone(), record::bytes(script, 0));
        }
    }
    entries.into_iter().collect()
}

/// What a record code stands for.
fn stored(code: u64, base: u64, payloads: &[u8]) -> Option<Stored> {
    let rest = code >> 3;
    match code & 7 {
        0 if rest == 0 => Some(Some(seen_at(None))),
        1 => {
            let seconds = base.checked_add(rest).filter(|time| *time <= LATEST)?;
            Some(Some(seen_at(Some(seconds))))
        }
        2 if rest == 0 => Some(None),
        state @ 3..7 => {
            let payload = payloads.get(usize::try_from(rest).ok()?..)?;
            record::read_payload(state as u8, base, payload).map(Some)
        }
        _ => None,
    }
}

/// What was read one by one is found, and nothing else is. Where the block is not
/// sound, any answer will do, as long as there is one.
fn ask(bytes: &[u8], form: Form, dictionary: &Dictionary, codes: &Codes) {
    // Some bytes stand for very long keys: those are tried elsewhere.
    let naive = form.read(bytes, dictionary);
    let block = match form.parse(bytes, codes) {
        Ok(block) => block,
        Err(_) => return assert_eq!(naive, None),
    };
    // Every entry with its record, once through.
    let (mut at, mut key, mut walked) = (At::default(), Vec::new(), Stores::new());
    let mut steps = 0;
    let ended = loop {
        match block.step(at, &mut key) {
            Ok(None) => break true,
            Err(_) => break false,
            Ok(Some((stored, next))) => {
                at = next;
                steps += 1;
                assert!(steps <= bytes.len(), "each step goes on");
                if steps <= 100 {
                    walked.push((key.clone(), stored));
                }
            }
        }
    };
    let sound = ended && block.check().is_ok();
    assert_eq!(sound, naive.is_some(), "{:?}", block.check());
    let Some(entries) = naive else {
        let keys = walked.iter().map(|(key, _)| &key[..]);
        for probe in keys
            .take(40)
            .chain([&b""[..], b"a", b"\xff\xff", b"https://example.com/"])
        {
            for (separator, matched) in [(0, 0), (1, 1), (3, 1), (9, 9), (1, 3), (65_535, 65_535)] {
                let _ = block.find(probe, separator, matched);
            }
        }
        return;
    };
    assert_eq!(steps, entries.len());
    assert!(entries.iter().take(100).eq(&walked));
    let Some((first, _)) = entries.first() else {
        return;
    };
    let lookup = |key: &[u8]| {
        let place = entries.binary_search_by(|(known, _)| known.as_slice().cmp(key));
        place.ok().map(|place| entries[place].1.clone())
    };
    // An index leads here from what is not below the separator.
    let separators = [0, 1, first.len() / 2, first.len()].map(|len| &first[..len.min(first.len())]);
    for (key, _) in entries.iter().take(60) {
        for probe in neighbours(key).iter().chain([key, &b"~".to_vec()]) {
            for separator in separators
                .iter()
                .filter(|separator| **separator <= &probe[..])
            {
                let matched = common(separator, probe);
                let found = block.find(probe, separator.len(), matched).unwrap();
                assert_eq!(found, lookup(probe), "{probe:?}, {separator:?}");
            }
        }
    }
}
