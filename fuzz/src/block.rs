//! Any bytes as a block: what it holds is found, or it is refused.

use super::bytes::{Source, edit};
use super::files::{self, put_varint};
use super::memory_bound::bounded;
use super::sample::{millis, neighbours};
use seendb::fuzz::Block;

/// A block of the input's own bytes, or a sound one that is changed in places.
pub fn block(input: &[u8]) {
    let mut script = Source::new(input);
    let stamps = script.flag();
    let bytes = match script.below(8) {
        0 => [script.take(usize::MAX), &[0; 4]].concat(),
        1..4 => crafted(&mut script, stamps),
        _ => {
            let entries = entries(&mut script, stamps);
            let mut bytes = Block::build(&entries, stamps);
            if script.is_empty() {
                expect(&bytes, stamps, &entries);
            }
            let crc = bytes.split_off(bytes.len() - 4);
            while !script.is_empty() {
                edit(&mut script, &mut bytes);
            }
            bytes.extend(crc);
            bytes
        }
    };
    bounded(bytes.len(), || ask(&bytes, stamps));
}

/// Keys in order, with times if there are stamps.
fn entries(script: &mut Source<'_>, stamps: bool) -> Vec<(Vec<u8>, Option<u64>)> {
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
            let time = script.number(1_700_000_000_000) % (1 << 48);
            let time = (stamps && !script.rarely(8)).then_some(time);
            entries.insert(key.clone(), time);
        }
    }
    entries.into_iter().collect()
}

/// Entries written one by one, each number of which may be wrong.
fn crafted(script: &mut Source<'_>, stamps: bool) -> Vec<u8> {
    let mut out = vec![if script.rarely(20) { script.u8() } else { 0 }];
    if stamps {
        put_varint(&mut out, script.number(1_700_000_000_000));
    }
    let begin = out.len();
    let (mut last, mut restarts) = (0u64, Vec::new());
    for place in 0..script.below(50) {
        if place % 16 == 0 {
            let at = (out.len() - begin) as u64;
            restarts.push(if script.rarely(20) {
                script.number(at)
            } else {
                at
            });
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
        put_varint(
            &mut out,
            if script.rarely(20) {
                script.number(len)
            } else {
                len
            },
        );
        if stamps {
            let code = match script.below(8) {
                0 => 0,
                1 => script.number(9),
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
    let count = if script.rarely(20) {
        script.number(count)
    } else {
        count
    };
    out.extend((count as u32).to_le_bytes());
    out.extend([0; 4]);
    out
}

/// A sound block holds what was put into it.
fn expect(bytes: &[u8], stamps: bool, entries: &[(Vec<u8>, Option<u64>)]) {
    let block = Block::parse(bytes, stamps).unwrap();
    block.check().unwrap();
    let (mut at, mut key) = (0, Vec::new());
    for (expected, time) in entries {
        let (record, next) = block.step(at, &mut key).unwrap().unwrap();
        assert_eq!((&key, millis(record)), (expected, *time));
        at = next;
    }
    assert_eq!(block.step(at, &mut key), Ok(None));
}

/// The entries of a block's bytes, read from the first to the last as docs/format.md
/// says; `None` if some of it is not as it says.
fn naive(bytes: &[u8], stamps: bool) -> Option<Vec<(Vec<u8>, Option<u64>)>> {
    let body = bytes.get(..bytes.len().checked_sub(4)?)?;
    let (&codec, mut rest) = body.split_first()?;
    let mut base = 0;
    if stamps {
        (base, rest) = files::varint(rest)?;
    }
    let (rest, count) = rest.split_last_chunk::<4>()?;
    let restarts = (u32::from_le_bytes(*count) as usize).checked_mul(4)?;
    let (all, restarts) = rest.split_at_checked(rest.len().checked_sub(restarts)?)?;
    let mut entries: Vec<(Vec<u8>, Option<u64>)> = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let at = (all.len() - rest.len()) as u32;
        let (shared, after) = files::varint(rest)?;
        let (len, after) = files::varint(after)?;
        let (code, after) = if stamps {
            files::varint(after)?
        } else {
            (0, after)
        };
        let (suffix, after) = after.split_at_checked(usize::try_from(len).ok()?)?;
        rest = after;
        let before = entries.last().map_or(&[][..], |(key, _)| key);
        let key = [before.get(..usize::try_from(shared).ok()?)?, suffix].concat();
        let time = match (code & 7, code >> 3) {
            (0, 0) => None,
            (1, above) => Some(base.checked_add(above).filter(|time| *time < 1 << 48)?),
            _ => return None,
        };
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
        entries.push((key, time));
    }
    (codec == 0 && restarts.len() / 4 == entries.len().div_ceil(16)).then_some(entries)
}

/// What was read one by one is found, and nothing else is. Where the block is not
/// sound, any answer will do, as long as there is one.
fn ask(bytes: &[u8], stamps: bool) {
    // Some bytes stand for very long keys: those are tried elsewhere.
    let naive = naive(bytes, stamps);
    let block = match Block::parse(bytes, stamps) {
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
        place.ok().map(|place| entries[place].1)
    };
    for (key, _) in entries.iter().take(60) {
        for probe in neighbours(key).iter().chain([key]) {
            let found = block.find(probe).unwrap();
            assert_eq!(found.map(millis), lookup(probe), "{probe:?}");
            expect_seek(&block, probe, &entries);
        }
    }
}

/// Stepping from where a search says comes to the first key that is not below.
fn expect_seek(block: &Block<'_>, probe: &[u8], entries: &[(Vec<u8>, Option<u64>)]) {
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
