//! A store's log, damaged, or written anew with a right checksum over anything.

use super::bytes::{Source, damage, edit};
use super::files::{self, Fields, Header, MUST, frame_crc, put_varint, u32_at, u64_at};
use super::memory::Memory;
use super::memory_bound::bounded;
use super::sample::{Entries, Sample, builder, consult, expect_exactly, expect_typed, path};
use seendb::{Error, Seen};
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
    let sample = Sample::get(script.flag());
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
    let sample = Sample::get(script.flag());
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
    let log = write(script, header, first);
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
        (Ok(seen), Some((entries, position))) => {
            expect_exactly(&seen, &entries);
            assert_eq!(seen.position(), position.or(Some(2)));
            if writing {
                settle(seen, &vfs, &entries);
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
    write(script, header, first).bytes
}

/// The bytes of a log with frames that the script makes.
fn write(script: &mut Source<'_>, mut header: Header, first: u64) -> Log {
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
        let body = body(script);
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
fn body(script: &mut Source<'_>) -> Vec<u8> {
    let flags = match script.below(24) {
        1 => script.u8(),
        other => other as u8 & 3,
    };
    let mut out = vec![flags];
    if flags & 1 != 0 {
        out.extend(script.number(1_700_000_000_000).to_le_bytes());
    }
    if flags & 2 != 0 {
        out.extend(script.number(100).to_le_bytes());
    }
    for _ in 0..script.below(5) {
        let given = 1 + script.below(8);
        let key = script.take(given);
        out.push(if script.rarely(24) { script.u8() } else { 1 });
        let len = key.len() as u64;
        put_varint(
            &mut out,
            if script.rarely(24) {
                script.number(len)
            } else {
                len
            },
        );
        out.extend(key);
    }
    if script.rarely(24) {
        edit(script, &mut out);
    }
    out
}

/// A batch's time, position and keys.
type Body<'a> = (Option<u64>, Option<u64>, Vec<&'a [u8]>);

/// A batch as docs/format.md says; `None` if it is none.
fn read_body(body: &[u8]) -> Option<Body<'_>> {
    let (&flags, mut rest) = body.split_first()?;
    let mut numbers = [None; 2];
    for (place, number) in numbers.iter_mut().enumerate() {
        if flags >> place & 1 == 1 {
            *number = Some(u64::from_le_bytes(rest.get(..8)?.try_into().unwrap()));
            rest = &rest[8..];
        }
    }
    let [time, position] = numbers;
    if flags > 3 || time.is_some_and(|time| time >= 1 << 48) {
        return None;
    }
    let mut keys = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        let (len, after) = files::varint(after)?;
        let (key, after) = after.split_at_checked(usize::try_from(len).ok()?)?;
        if kind != 1 || !(1..=65_535).contains(&key.len()) {
            return None;
        }
        keys.push(key);
        rest = after;
    }
    Some((time, position, keys))
}

/// The frame at `at`: its size, number, and what it calls synced; `None` if none is.
fn read_frame(log: &Log, at: usize, end: usize) -> Option<(usize, u64, u64)> {
    let rest = log.bytes.get(at..end)?;
    if rest.len() < 24 {
        return None;
    }
    let size = (24 + u32_at(rest, 4) as usize).next_multiple_of(8);
    let (sequence, synced) = (u64_at(rest, 8), u64_at(rest, 16));
    let frame = rest.get(..size)?;
    let good = u32_at(frame, 0) == frame_crc(log.id, &frame[4..])
        && frame[..24] != [0; 24]
        && synced <= at as u64;
    good.then_some((size, sequence, synced))
}

/// What a log says, read as docs/format.md says: entries and position, or `None` if it
/// is damaged.
fn reference(
    sample: &Sample,
    log: &Log,
    first: u64,
    recorded: Option<u64>,
) -> Option<(Entries, Option<u64>)> {
    if log.bytes.len() < log.begin {
        return None;
    }
    let end = match recorded {
        Some(length) => usize::try_from(length)
            .ok()
            .filter(|&l| l <= log.bytes.len())?,
        None => log.bytes.len(),
    };
    let (mut at, mut next) = (log.begin, first);
    let mut entries = sample.flushed.clone();
    let mut last = None;
    while let Some((size, sequence, _)) = read_frame(log, at, end) {
        if sequence != next {
            break;
        }
        let length = u32_at(&log.bytes, at + 4) as usize;
        let (time, position, keys) = read_body(&log.bytes[at + 24..at + 24 + length])?;
        for key in keys {
            let stamp = if sample.stamps { time } else { None };
            entries.entry(key.to_vec()).or_insert(stamp);
        }
        last = position.or(last);
        at += size;
        next = next.wrapping_add(1);
    }
    if recorded.is_some() {
        return (at == end).then_some((entries, last));
    }
    // A good frame behind the end that calls the end synced.
    let known = (at + 8..end).step_by(8).any(|beyond| {
        let most = (beyond - at) as u64 / 32 + 1;
        read_frame(log, beyond, end).is_some_and(|(_, sequence, synced)| {
            synced > at as u64 && sequence >= next && sequence <= next.saturating_add(most)
        })
    });
    (!known).then_some((entries, last))
}
