//! Any bytes as a block: what it holds is found, or it is refused.

use super::bytes::{Source, edit};
use super::files::{self, put_varint};
use super::memory_bound::bounded;
use super::record::{self, LATEST, Stored, seen_at};
use super::sample::neighbours;
use seendb::fuzz::Block;

/// What entries have beside their keys, by the format's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing, in any version.
    Bare(u32),
    /// Times in milliseconds: version 1.
    Millis,
    /// Records: since version 2.
    Records,
}

/// Keys in order with what is stored for them.
pub type Stores = Vec<(Vec<u8>, Stored)>;

impl Form {
    fn pick(script: &mut Source<'_>) -> Form {
        match script.below(6) {
            0..3 => Form::Records,
            3 | 4 => Form::Millis,
            _ => Form::Bare(1 + script.below(3) as u32),
        }
    }

    fn parse(self, bytes: &[u8]) -> Result<Block<'_>, String> {
        match self {
            Form::Bare(version) => Block::parse(bytes, version, false),
            Form::Millis => Block::parse(bytes, 1, true),
            Form::Records => Block::parse(bytes, 3, true),
        }
    }

    fn is_bare(self) -> bool {
        matches!(self, Form::Bare(_))
    }
}

/// A block of the input's own bytes, or a sound one that is changed in places.
pub fn block(input: &[u8]) {
    let mut script = Source::new(input);
    let form = Form::pick(&mut script);
    let bytes = match script.below(8) {
        0 => [script.take(usize::MAX), &[0; 4]].concat(),
        // What is built is of the present version.
        4.. if form != Form::Millis => built(&mut script, form),
        _ => crafted(&mut script, form),
    };
    bounded(bytes.len(), || ask(&bytes, form));
}

/// A block that the store writes, and what the rest of the script makes of it.
fn built(script: &mut Source<'_>, form: Form) -> Vec<u8> {
    let entries = entries(script);
    let mut bytes = Block::build(&entries, !form.is_bare());
    if script.is_empty() {
        expect(&bytes, form, &entries);
    }
    let crc = bytes.split_off(bytes.len() - 4);
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
        if !key.is_empty() {
            entries.insert(key.clone(), record::bytes(script, 0));
        }
    }
    entries.into_iter().collect()
}

/// Entries written one by one, each number of which may be wrong.
fn crafted(script: &mut Source<'_>, form: Form) -> Vec<u8> {
    let mut out = vec![if script.rarely(20) { script.u8() } else { 0 }];
    let mut places = Vec::new();
    match form {
        Form::Bare(_) => {}
        Form::Millis => put_varint(&mut out, script.number(1_700_000_000_000)),
        Form::Records => {
            put_varint(&mut out, script.number(1_700_000_000));
            let mut payloads = Vec::new();
            for _ in 0..script.below(6) {
                let state = 3 + script.below(4) as u8;
                places.push(u64::from(state) | (payloads.len() as u64) << 3);
                let first = script.below(4) as u64;
                record::put_payload(script, state, first, &mut payloads);
            }
            let len = payloads.len() as u64;
            put_varint(&mut out, seldom(script, len));
            out.extend(payloads);
        }
    }
    let begin = out.len();
    let (mut last, mut restarts) = (0u64, Vec::new());
    for place in 0..script.below(50) {
        if place % 16 == 0 {
            let at = (out.len() - begin) as u64;
            restarts.push(seldom(script, at));
        }
        let shared = match place % 16 {
            0 if !script.rarely(20) => 0,
            _ => script.below(last as usize + 1) as u64,
        };
        let shared = if script.rarely(20) {
            script.number(last)
        } else {
            shared
        };
        let given = script.below(12);
        let suffix = script.take(given);
        let len = suffix.len() as u64;
        put_varint(&mut out, shared);
        put_varint(&mut out, seldom(script, len));
        if !form.is_bare() {
            let code = match script.below(8) {
                0 => 0,
                1 => script.number(9),
                2 => 2,
                3.. if !places.is_empty() => {
                    let code = places[script.below(places.len())];
                    seldom(script, code)
                }
                _ => u64::from(script.u16()) << 3 | 1,
            };
            put_varint(&mut out, code);
        }
        out.extend(suffix);
        last = shared.saturating_add(len).min(1 << 16);
    }
    let count = restarts.len() as u64;
    for at in restarts {
        out.extend((at as u32).to_le_bytes());
    }
    out.extend((seldom(script, count) as u32).to_le_bytes());
    out.extend([0; 4]);
    out
}

/// A number that is now and then another one.
fn seldom(script: &mut Source<'_>, near: u64) -> u64 {
    if script.rarely(20) {
        script.number(near)
    } else {
        near
    }
}

/// A sound block holds what was put into it.
fn expect(bytes: &[u8], form: Form, entries: &[(Vec<u8>, Vec<u8>)]) {
    let block = form.parse(bytes).unwrap();
    block.check().unwrap();
    let (mut at, mut key) = (0, Vec::new());
    for (expected, record) in entries {
        let plain = Some(seen_at(None));
        let stored = match form {
            Form::Bare(_) => plain,
            _ => record::read(record).unwrap_or(plain),
        };
        let (found, next) = block.step(at, &mut key).unwrap().unwrap();
        assert_eq!((&key, found), (expected, stored));
        at = next;
    }
    assert_eq!(block.step(at, &mut key), Ok(None));
}

/// The entries of a block's bytes, read from the first to the last as docs/format.md
/// says; `None` if some of it is not as it says.
pub fn naive(bytes: &[u8], form: Form) -> Option<Stores> {
    let body = bytes.get(..bytes.len().checked_sub(4)?)?;
    let (&codec, mut rest) = body.split_first()?;
    let (mut base, mut payloads) = (0, &[][..]);
    if !form.is_bare() {
        (base, rest) = files::varint(rest)?;
    }
    if form == Form::Records {
        let (len, after) = files::varint(rest)?;
        (payloads, rest) = after.split_at_checked(usize::try_from(len).ok()?)?;
    }
    let (rest, count) = rest.split_last_chunk::<4>()?;
    let restarts = (u32::from_le_bytes(*count) as usize).checked_mul(4)?;
    let (all, restarts) = rest.split_at_checked(rest.len().checked_sub(restarts)?)?;
    let mut entries = Stores::new();
    let mut rest = all;
    while !rest.is_empty() {
        let at = (all.len() - rest.len()) as u32;
        let (shared, after) = files::varint(rest)?;
        let (len, after) = files::varint(after)?;
        let (code, after) = if form.is_bare() {
            (0, after)
        } else {
            files::varint(after)?
        };
        let (suffix, after) = after.split_at_checked(usize::try_from(len).ok()?)?;
        rest = after;
        let before = entries.last().map_or(&[][..], |(key, _)| key);
        let key = [before.get(..usize::try_from(shared).ok()?)?, suffix].concat();
        let common = before.iter().zip(&key).take_while(|(a, b)| a == b).count();
        let sound = match entries.len() % 16 {
            0 => {
                let restart = restarts.chunks(4).nth(entries.len() / 16)?;
                shared == 0 && restart == at.to_le_bytes()
            }
            _ => shared == common as u64,
        };
        if !sound || key.len() > 65_535 || (before >= &key[..] && !entries.is_empty()) {
            return None;
        }
        entries.push((key, stored(code, base, payloads, form)?));
    }
    (codec == 0 && restarts.len() / 4 == entries.len().div_ceil(16)).then_some(entries)
}

/// What a record code stands for.
fn stored(code: u64, base: u64, payloads: &[u8], form: Form) -> Option<Stored> {
    let rest = code >> 3;
    match (code & 7, form) {
        (0, _) if rest == 0 => Some(Some(seen_at(None))),
        (1, Form::Millis) => {
            let millis = base.checked_add(rest).filter(|time| *time < 1 << 48)?;
            Some(Some(seen_at(Some(millis / 1000))))
        }
        (1, _) => {
            let seconds = base.checked_add(rest).filter(|time| *time <= LATEST)?;
            Some(Some(seen_at(Some(seconds))))
        }
        (2, Form::Records) if rest == 0 => Some(None),
        (state @ 3..7, Form::Records) => {
            let payload = payloads.get(usize::try_from(rest).ok()?..)?;
            record::read_payload(state as u8, base, payload).map(Some)
        }
        _ => None,
    }
}

/// What was read one by one is found, and nothing else is. Where the block is not
/// sound, any answer will do, as long as there is one.
fn ask(bytes: &[u8], form: Form) {
    // Some bytes stand for very long keys: those are tried elsewhere.
    let naive = naive(bytes, form);
    let block = match form.parse(bytes) {
        Ok(block) => block,
        Err(_) => return assert_eq!(naive, None),
    };
    // Every entry with its record, once through.
    let (mut at, mut key, mut steps) = (0, Vec::new(), 0);
    let walked = loop {
        match block.step(at, &mut key) {
            Ok(None) => break true,
            Err(_) => break false,
            Ok(Some((_, next))) => {
                assert!(next > at, "a step goes on");
                at = next;
                steps += 1;
            }
        }
    };
    let sound = walked && block.check().is_ok();
    assert_eq!(sound, naive.is_some(), "{:?}", block.check());
    for probe in [&b""[..], b"a", b"\xff\xff", b"https://example.com/"] {
        let _ = (block.find(probe), block.scan_from(probe));
    }
    let Some(entries) = naive else {
        let (mut at, mut key) = (0, Vec::new());
        for _ in 0..40 {
            let Ok(Some((_, next))) = block.step(at, &mut key) else {
                break;
            };
            let _ = (block.find(&key), block.scan_from(&key));
            at = next;
        }
        return;
    };
    assert_eq!(steps, entries.len());
    let lookup = |key: &[u8]| {
        let place = entries.binary_search_by(|(known, _)| known.as_slice().cmp(key));
        place.ok().map(|place| entries[place].1.clone())
    };
    for (key, _) in entries.iter().take(60) {
        for probe in neighbours(key).iter().chain([key]) {
            assert_eq!(block.find(probe).unwrap(), lookup(probe), "{probe:?}");
            expect_seek(&block, probe, &entries);
        }
    }
}

/// Stepping from where a search says comes to the first key that is not below.
fn expect_seek(block: &Block<'_>, probe: &[u8], entries: &Stores) {
    let mut at = block.scan_from(probe).unwrap();
    let mut key = Vec::new();
    let first = loop {
        match block.step(at, &mut key).unwrap() {
            None => break None,
            Some(_) if key.as_slice() >= probe => break Some(&key),
            Some((_, next)) => at = next,
        }
    };
    let expected = entries.iter().map(|(key, _)| key);
    assert_eq!(first, expected.clone().find(|key| key.as_slice() >= probe));
}
