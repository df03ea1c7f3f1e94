//! What a log says, read as docs/format.md says and without any of the store's own code.

use super::super::files::{self, frame_crc, u32_at, u64_at};
use super::super::record::{self, LATEST, Stored, replaces, seen_at};
use super::super::sample::{Entries, Sample, put};
use super::Log;

/// What a batch says.
struct Body<'a> {
    position: Option<u64>,
    /// Keys with what is stored for them, and what their records say they replace.
    entries: Vec<(&'a [u8], Stored, u8)>,
}

/// A batch as docs/format.md says; `None` if it is none.
fn read_body(body: &[u8], version: u8) -> Option<Body<'_>> {
    let (&flags, mut rest) = body.split_first()?;
    let mut numbers = [None; 2];
    for (place, number) in numbers.iter_mut().enumerate() {
        if flags >> place & 1 == 1 {
            *number = Some(u64::from_le_bytes(rest.get(..8)?.try_into().unwrap()));
            rest = &rest[8..];
        }
    }
    let [time, position] = numbers;
    let (most, unit) = match version {
        1 => ((1 << 48) - 1, 1000),
        _ => (LATEST, 1),
    };
    if flags > 3 || time.is_some_and(|time| time > most) {
        return None;
    }
    let inserted = Some(seen_at(time.map(|time| time / unit)));
    let mut entries = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        let (key, after) = take_bytes(after)?;
        if !(1..=65_535).contains(&key.len()) {
            return None;
        }
        let (stored, replaces, after) = match (kind, version) {
            (1, _) => (inserted.clone(), 0, after),
            (2, 2..) => {
                let (record, after) = take_bytes(after)?;
                let stored = record::read(record).filter(|_| record.len() <= 255)?;
                (stored, record.first().map_or(0, |head| head >> 3), after)
            }
            _ => return None,
        };
        entries.push((key, stored, replaces));
        rest = after;
    }
    Some(Body { position, entries })
}

/// Bytes behind their length, and what follows.
fn take_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, after) = files::varint(bytes)?;
    after.split_at_checked(usize::try_from(len).ok()?)
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

/// What a store knows that has a log.
pub(super) struct Read {
    pub(super) entries: Entries,
    pub(super) position: Option<u64>,
    /// Some entry does not replace what it says.
    pub(super) counts_wrong: bool,
}

/// What a log says, read as docs/format.md says, or `None` if it is damaged.
pub(super) fn reference(
    sample: &Sample,
    log: &Log,
    first: u64,
    recorded: Option<u64>,
) -> Option<Read> {
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
    let mut read = Read {
        entries: sample.entries(0),
        position: None,
        counts_wrong: false,
    };
    while let Some((size, sequence, _)) = read_frame(log, at, end) {
        if sequence != next {
            break;
        }
        let length = u32_at(&log.bytes, at + 4) as usize;
        let body = read_body(&log.bytes[at + 24..at + 24 + length], log.bytes[8])?;
        for (key, stored, said) in body.entries {
            let before = read.entries.get(key).map(|record| record.state.kind());
            read.counts_wrong |= said != replaces(before);
            // Without stamps, keys are there or not.
            let stored = match stored {
                Some(_) if !sample.stamps() => Some(seen_at(None)),
                stored => stored,
            };
            put(&mut read.entries, key, stored);
        }
        read.position = body.position.or(read.position);
        at += size;
        next = next.wrapping_add(1);
    }
    if recorded.is_some() {
        return (at == end).then_some(read);
    }
    // A good frame behind the end that calls the end synced.
    let known = (at + 8..end).step_by(8).any(|beyond| {
        let most = (beyond - at) as u64 / 32 + 1;
        read_frame(log, beyond, end).is_some_and(|(_, sequence, synced)| {
            synced > at as u64 && sequence >= next && sequence <= next.saturating_add(most)
        })
    });
    (!known).then_some(read)
}
