//! A store's log, damaged, or written anew with a right checksum over anything.

mod reference;

use self::reference::reference;
use super::answers::{consult, expect_answers, expect_exactly, expect_typed};
use super::bytes::{Source, damage, edit};
use super::files::{Fields, Header, MUST, frame_crc, put_varint, u32_at, u64_at};
use super::memory::Memory;
use super::memory_bound::bounded;
use super::record::{self, replaces};
use super::sample::{Entries, Sample, builder, path};
use seendb::{Error, Record, Seen, StateKind};
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn log(input: &[u8]) {
    let mut script = Source::new(input);
    if script.flag() {
        damaged(&mut script);
    } else {
        written(&mut script);
    }
}

/// A log with the id under which its frames' checksums are made.
struct Log {
    id: u64,
    bytes: Vec<u8>,
    /// Where frames begin.
    begin: usize,
    /// The header is not what a store writes.
    is_odd: bool,
}

/// What must become of a log.
#[derive(Debug)]
enum Expected {
    Error,
    /// So many frames are read.
    Frames(usize),
}

/// The sample's log after damage: a prefix of its batches, or an error. Which of them
/// is known exactly.
fn damaged(script: &mut Source<'_>) {
    let sample = Sample::pick(script);
    let name = sample.name(".log", 0);
    let whole = sample.file(&name);
    let writing = script.flag();
    let mut bytes = whole.clone();
    for _ in 0..=script.below(3) {
        if bytes.is_empty() {
            break;
        }
        damage(script, &mut bytes);
    }
    let vfs = sample.vfs.copy();
    vfs.put(&path(&name), bytes.clone());
    let expected = expect_of_damage(sample, &whole, &bytes);
    match (open(&vfs, writing), expected) {
        (Err(error), Expected::Error) => expect_typed(&error),
        (Ok(seen), Expected::Frames(frames)) => {
            expect_exactly(&seen, &sample.entries(frames));
            let positions = sample.batches[..frames].iter().rev();
            let last = positions.filter_map(|batch| batch.position).next();
            assert_eq!(seen.position(), last.or(Some(2)));
            if writing {
                settle(seen, &vfs, &sample.entries(frames));
            }
        }
        (Ok(seen), Expected::Error) => panic!("opened, with {} entries", seen.len()),
        (Err(error), Expected::Frames(frames)) => panic!("{frames} frames, but: {error}"),
    }
}

/// Frame by frame: where it begins, where it ends, what it calls synced.
fn frames(whole: &[u8]) -> Vec<(usize, usize, u64)> {
    let (_, end) = Header::read(whole);
    let mut at = end.next_multiple_of(8);
    let mut frames = Vec::new();
    while at + 24 <= whole.len() && u32_at(whole, at) != 0 {
        let size = (24 + u32_at(whole, at + 4) as usize).next_multiple_of(8);
        frames.push((at, at + size, u64_at(whole, at + 16)));
        at += size;
    }
    frames
}

fn expect_of_damage(sample: &Sample, whole: &[u8], bytes: &[u8]) -> Expected {
    let same = |from: usize, to: usize| bytes.get(from..to) == whole.get(from..to);
    let frames = frames(whole);
    assert_eq!(frames.len(), sample.batches.len());
    if !same(0, frames[0].0) {
        return Expected::Error;
    }
    let Some(bad) = frames.iter().position(|&(from, to, _)| !same(from, to)) else {
        return Expected::Frames(frames.len());
    };
    let synced = frames[bad..]
        .iter()
        .filter(|&&(from, to, _)| same(from, to))
        .map(|&(_, _, synced)| synced)
        .max();
    if synced.is_some_and(|synced| synced > frames[bad].0 as u64) {
        Expected::Error
    } else {
        Expected::Frames(bad)
    }
}

fn open(vfs: &Arc<Memory>, writing: bool) -> Result<Seen, Error> {
    bounded(vfs.size(), || {
        if writing {
            builder(vfs).open()
        } else {
            builder(vfs).open_read_only()
        }
    })
}

/// What was read from a log stays, and the store takes more.
fn settle(seen: Seen, vfs: &Arc<Memory>, entries: &Entries) {
    assert!(seen.insert("one more").unwrap() != entries.contains_key(&b"one more"[..]));
    seen.close().unwrap();
    let seen = open(vfs, false).unwrap();
    assert_eq!(seen.recovery().logs, 0);
    assert!(seen.contains("one more").unwrap());
    let more = usize::from(!entries.contains_key(&b"one more"[..]));
    assert_eq!(seen.len() as usize, entries.len() + more);
    for (key, _) in entries.iter().take(50) {
        assert!(seen.contains(key).unwrap());
    }
}

/// A log of the input's own frames.
fn written(script: &mut Source<'_>) {
    let sample = Sample::pick(script);
    let name = sample.name(".log", 0);
    let (mut header, _) = Header::read(&sample.file(&name));
    let mut first = u64_at(&header.fields.0[1].1, 0);
    let mut manifest = Header::read(&sample.file("MANIFEST")).0;
    if script.rarely(16) {
        // A log from another frame on, as the manifest says too.
        first = script.number(first);
        header.fields.set(2 | MUST, &first.to_le_bytes());
        manifest.fields.set(5 | MUST, &first.to_le_bytes());
    }
    let version = match script.below(12) {
        0 => 1,
        1 => 2,
        2 => 3,
        _ => sample.version(),
    };
    header.set_version(version);
    let kinds = kinds(&sample.entries(0));
    let log = write(script, header, first, kinds);
    let recorded = script.rarely(4).then(|| {
        let end = log.bytes.len() as u64;
        script.number(end)
    });
    let recorded = recorded.filter(|&length| length > 0);
    set_log(&mut manifest.fields, first, recorded);

    let vfs = sample.vfs.copy();
    vfs.put(&path("MANIFEST"), manifest.write());
    vfs.put(&path(&name), log.bytes.clone());
    let writing = script.flag();
    let opened = open(&vfs, writing);
    if log.is_odd || !(1..1 << 62).contains(&first) {
        // What its frames are worth depends on what the header says now.
        match opened {
            Ok(seen) => drop(consult(&seen, &[b"key".to_vec()])),
            Err(error) => expect_typed(&error),
        }
        return;
    }
    match (opened, reference(sample, &log, first, recorded)) {
        (Err(error), None) => expect_typed(&error),
        (Ok(seen), Some(read)) => {
            expect_answers(&seen, &read.entries);
            assert_eq!(seen.position(), read.position.or(Some(2)));
            if !read.counts_wrong {
                expect_exactly(&seen, &read.entries);
                if writing {
                    settle(seen, &vfs, &read.entries);
                }
            }
        }
        (Ok(seen), None) => panic!("opened, with {} entries", seen.len()),
        (Err(error), Some(_)) => panic!("a log without damage: {error}"),
    }
}

/// Tells the manifest where its only log begins and ends.
fn set_log(fields: &mut Fields, first: u64, length: Option<u64>) {
    let number = fields.0.iter().find(|(tag, _)| *tag == 8 | MUST);
    let number = number.unwrap().1[..8].to_vec();
    let value = [
        number,
        first.to_le_bytes().into(),
        length.unwrap_or(0).to_le_bytes().into(),
    ];
    fields.set(8 | MUST, &value.concat());
}

/// A log of the script's own frames in the place of a store's.
pub fn rewrite(script: &mut Source<'_>, whole: &[u8]) -> Vec<u8> {
    let (header, _) = Header::read(whole);
    let first = u64_at(&header.fields.0[1].1, 0);
    write(script, header, first, Kinds::new()).bytes
}

/// Keys with the kind of state that they are in.
type Kinds = BTreeMap<Vec<u8>, StateKind>;

fn kinds(entries: &Entries) -> Kinds {
    let kind = |(key, record): (&Vec<u8>, &Record)| (key.clone(), record.state.kind());
    entries.iter().map(kind).collect()
}

/// The bytes of a log with frames that the script makes.
fn write(script: &mut Source<'_>, mut header: Header, first: u64, mut kinds: Kinds) -> Log {
    let version = header.fixed[8];
    let id = script.number(7);
    header.fields.set(1 | MUST, &id.to_le_bytes());
    let is_odd = script.rarely(8);
    if is_odd && script.flag() {
        header.edit_fixed(script);
    } else if is_odd {
        header.fields.edit(script);
    }
    let mut bytes = header.write();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let begin = bytes.len();
    let mut starts = vec![begin];
    let mut sequence = first;
    for _ in 0..script.below(12) {
        let body = body(script, version, &mut kinds);
        let at = bytes.len();
        let given = match script.below(16) {
            1 => script.number(sequence),
            _ => sequence,
        };
        let synced = match script.below(8) {
            0 => script.number(at as u64),
            1 => at as u64,
            _ => starts[script.below(starts.len())] as u64,
        };
        let length = match script.below(24) {
            1 => script.number(body.len() as u64) as u32,
            _ => body.len() as u32,
        };
        bytes.extend([0; 4]);
        bytes.extend(length.to_le_bytes());
        bytes.extend(given.to_le_bytes());
        bytes.extend(synced.to_le_bytes());
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(8), script.u8() & 0x80);
        let crc = match script.below(16) {
            1 => u32::from(script.u8()),
            _ => frame_crc(id, &bytes[at + 4..]),
        };
        bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        starts.push(at);
        sequence = sequence.wrapping_add(1);
    }
    match script.below(8) {
        0 => bytes.truncate(bytes.len() - script.below(40).min(bytes.len())),
        1 => bytes.resize(bytes.len() + script.below(100), 0),
        2 => bytes.extend(script.take(60)),
        _ => {}
    }
    Log {
        id,
        bytes,
        begin,
        is_odd,
    }
}

/// The body of a frame: a batch, perhaps with something wrong in it.
fn body(script: &mut Source<'_>, version: u8, kinds: &mut Kinds) -> Vec<u8> {
    let flags = match script.below(24) {
        1 => script.u8(),
        other => other as u8 & 3,
    };
    let mut out = vec![flags];
    if flags & 1 != 0 {
        let unit = if version == 1 { 1000 } else { 1 };
        out.extend(script.number(1_700_000_000 * unit).to_le_bytes());
    }
    if flags & 2 != 0 {
        out.extend(script.number(100).to_le_bytes());
    }
    for _ in 0..script.below(5) {
        let key = match script.below(4) {
            // One that the store may have.
            0 if !kinds.is_empty() => {
                let place = script.below(kinds.len());
                kinds.keys().nth(place).unwrap().clone()
            }
            _ => {
                let given = 1 + script.below(8);
                script.take(given).to_vec()
            }
        };
        let before = kinds.get(&key).copied();
        let is_put = script.flag() || before.is_some();
        let is_put = (is_put && version > 1) ^ script.rarely(24);
        let kind = 1 + u8::from(is_put);
        out.push(if script.rarely(40) { script.u8() } else { kind });
        put_bytes(script, &key, &mut out);
        if is_put {
            let record = record::bytes(script, replaces(before));
            put_bytes(script, &record, &mut out);
            match record::read(&record) {
                Some(Some(record)) => drop(kinds.insert(key, record.state.kind())),
                _ => drop(kinds.remove(&key)),
            }
        } else {
            kinds.insert(key, StateKind::Seen);
        }
    }
    if script.rarely(24) {
        edit(script, &mut out);
    }
    out
}

/// Appends bytes behind their length, which may be wrong.
fn put_bytes(script: &mut Source<'_>, bytes: &[u8], out: &mut Vec<u8>) {
    let len = bytes.len() as u64;
    let given = if script.rarely(40) {
        script.number(len)
    } else {
        len
    };
    put_varint(out, given);
    out.extend(bytes);
}
