#![allow(clippy::indexing_slicing, reason = "a test")]

use super::super::Place;
use super::super::coder::Coder;
use super::*;
use std::sync::Arc;

const HERE: Place = Place { offset: 0, len: 0 };

fn coder() -> Arc<Coder> {
    Arc::new(Coder::plain())
}

/// A block of all entries, whose separator in the index has so many bytes.
fn build(entries: &[(Vec<u8>, Stored)], records: bool, separator: usize) -> Vec<u8> {
    let mut builder = Builder::new(coder(), records, 4096);
    for (key, record) in entries {
        builder.push(key, record.clone());
    }
    let mut out = Vec::new();
    assert!(builder.finish(entries.len(), separator, 0, &mut out));
    assert_eq!(builder.waiting(), 0);
    out
}

fn urls() -> Vec<(Vec<u8>, Stored)> {
    let records = [
        Stored::Seen(None),
        Stored::Seen(Some(1_700_000_000)),
        Stored::Forgotten,
        Stored::Seen(Some(1_700_009_999)),
    ];
    let url = |i: usize| format!("https://site{}.example/page/{:03}", i / 50, i);
    let entry = |i: usize| (url(i).into_bytes(), records[i % 4].clone());
    (0..200).map(entry).collect()
}

/// Where the index leads for a key, if the separator is the beginning of the first key.
fn located(first: &[u8], separator: usize, key: &[u8]) -> Located {
    Located {
        ordinal: 0,
        place: HERE,
        separator,
        matched: common(&first[..separator], key),
    }
}

#[test]
fn a_key_is_found_whatever_its_separator_covers() {
    let entries = urls();
    let first = entries[0].0.clone();
    for separator in [0, 1, 5, first.len() - 1, first.len()] {
        let bytes = build(&entries, true, separator);
        let dictionary = Dictionary::plain();
        let form = Form::Packed { records: true };
        let block = Block::parse(&bytes, form, &dictionary).unwrap();
        block.check(Some(separator)).unwrap();
        block.check(None).unwrap();
        assert!(separator == 0 || block.check(Some(separator - 1)).is_err());
        assert_eq!(measure(&bytes, form, &dictionary), Some(bytes.len()));
        for (key, record) in &entries {
            let find = |key: &[u8]| {
                // A separator that is above the key leads elsewhere.
                let at = located(&first, separator, key);
                block.find(&Probe::new(key), at).unwrap()
            };
            assert_eq!(find(key).as_ref(), Some(record));
            assert_eq!(find(&[key, &b"x"[..]].concat()), None);
            assert_eq!(find(&[key, &b"\0"[..]].concat()), None);
            if key[..key.len() - 1] >= first[..separator] {
                assert_eq!(find(&key[..key.len() - 1]), None);
            }
        }
    }
}

#[test]
fn entries_that_wait_begin_the_next_block() {
    let entries = urls();
    let mut builder = Builder::new(coder(), true, 256);
    let dictionary = Dictionary::plain();
    let (mut read, mut blocks) = (Vec::new(), 0);
    let mut end = |builder: &mut Builder, cut: usize| {
        let mut bytes = Vec::new();
        assert!(builder.finish(cut, 0, 0, &mut bytes));
        let form = Form::Packed { records: true };
        let block = Block::parse(&bytes, form, &dictionary).unwrap();
        block.check(Some(0)).unwrap();
        let (mut at, mut key) = (At::Start, Vec::new());
        while let Some((record, next)) = block.step(at, &mut key).unwrap() {
            read.push((key.clone(), record));
            at = next;
        }
        blocks += 1;
        assert!(bytes.len() < 350, "{}", bytes.len());
    };
    for (key, record) in &entries {
        if let Some(cut) = builder.cut() {
            end(&mut builder, cut);
        }
        builder.push(key, record.clone());
    }
    while builder.waiting() > 0 {
        let cut = builder.cut().unwrap_or(builder.waiting());
        end(&mut builder, cut);
    }
    assert_eq!(read, entries);
    assert!(blocks > 3, "{blocks}");
}

#[test]
fn what_this_build_does_not_know_is_refused_by_name() {
    let mut bytes = build(&[(b"key".to_vec(), Stored::Seen(Some(10)))], true, 0);
    let dictionary = Dictionary::plain();
    let form = Form::Packed { records: true };
    // One value of one bit: seen at the base.
    assert_eq!(bytes[..4], [1, 0, 0, 1]);
    bytes[3] = 3;
    bytes[16] = 7;
    let block = Block::parse(&bytes, form, &dictionary).unwrap();
    let found = block.find(&Probe::new(b"key"), located(b"key", 0, b"key"));
    assert!(matches!(
        found,
        Err(Fault::Unsupported {
            what: "record state",
            found: 7,
            ..
        })
    ));
    bytes[2] = 2;
    assert!(matches!(
        Block::parse(&bytes, form, &dictionary),
        Err(Fault::Unsupported {
            what: "block flags",
            found: 2,
            ..
        })
    ));
}

/// Bytes that no writer made, under checksums that fit.
#[test]
fn a_block_that_was_made_up_never_panics() {
    let mut state = 77u64;
    let mut below = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let good = build(&urls(), true, 3);
    let dictionary = Dictionary::plain();
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..1 + below(3) {
            // Often where the numbers are that say what follows.
            let room = if below(2) == 0 { 20 } else { bytes.len() };
            let at = below(room);
            bytes[at] = below(256) as u8;
        }
        bytes.truncate(bytes.len() - below(3) * below(40));
        for form in Form::ALL {
            let Ok(block) = Block::parse(&bytes, form, &dictionary) else {
                continue;
            };
            for key in [&b"https://site2.example/page/120"[..], b"", b"h"] {
                let at = located(b"https", 5, key);
                let _ = block.find(&Probe::new(key), at);
            }
            let _ = block.check(None);
            let _ = measure(&bytes, form, &dictionary);
            let (mut at, mut key) = (At::Start, Vec::new());
            while let Ok(Some((_, next))) = block.step(at, &mut key) {
                at = next;
            }
        }
    }
}
