//! Records as docs/format.md has them, written and read without any of the store's code.

use super::bytes::{Source, seldom};
use super::files::{put_varint, varint};
use super::sample::at;
use seendb::{Outcome, Record, State, StateKind, Token};

/// What is stored for a key; `None` is a tombstone.
pub type Stored = Option<Record>;

/// The largest time, in seconds.
pub const LATEST: u64 = (1 << 40) - 1;
/// A time that would be right.
const TODAY: u64 = 1_700_000_000;

/// The record of a key that was inserted at a time, or at one that is not kept.
pub fn seen_at(seconds: Option<u64>) -> Record {
    let mut record = Record::default();
    record.first_seen = seconds.map(at);
    record.changed = record.first_seen;
    record
}

/// A record of which more is known, with times in seconds.
pub fn full(first: u64, changed: u64, state: State) -> Record {
    let mut record = seen_at(Some(first));
    record.changed = Some(at(changed));
    record.state = state;
    record
}

/// The number by which a head says that this was there before.
pub fn replaces(before: Option<StateKind>) -> u8 {
    before.map_or(0, |kind| kind as u8 + 1)
}

/// The record that bytes of a log stand for; `None` if they stand for none.
pub fn read(bytes: &[u8]) -> Option<Stored> {
    let Some((&head, rest)) = bytes.split_first() else {
        return Some(Some(seen_at(None)));
    };
    let state = head & 7;
    match (state, rest) {
        _ if head >> 3 > 4 => None,
        (0, []) => Some(Some(seen_at(None))),
        (1, &[a, b, c, d, e]) => {
            let seconds = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
            Some(Some(seen_at(Some(seconds))))
        }
        (2, []) => Some(None),
        _ => {
            let mut cursor = Cursor(rest);
            let record = cursor.payload(state, 0)?;
            cursor.0.is_empty().then_some(Some(record))
        }
    }
}

/// The record that a payload begins with, in a block with this base.
pub fn read_payload(state: u8, base: u64, payload: &[u8]) -> Option<Record> {
    Cursor(payload).payload(state, base)
}

/// What is left of a payload.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn number(&mut self) -> Option<u64> {
        let (value, rest) = varint(self.0)?;
        self.0 = rest;
        Some(value)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A time that is counted from another.
    fn after(&mut self, base: u64) -> Option<u64> {
        let time = base.checked_add(self.number()?)?;
        (time <= LATEST).then_some(time)
    }

    fn text(&mut self, most: u64) -> Option<String> {
        let length = self.number()?;
        let bytes = self.take(usize::try_from(length).ok().filter(|_| length <= most)?)?;
        String::from_utf8(bytes.to_vec()).ok()
    }

    fn answer(&mut self) -> Option<(u16, Option<[u8; 16]>)> {
        let packed = self.number()?;
        let status = u16::try_from(packed >> 1).ok()? ^ 200;
        let content = match packed & 1 {
            0 => None,
            _ => Some(self.take(16)?.try_into().unwrap()),
        };
        Some((status, content))
    }

    fn payload(&mut self, state: u8, base: u64) -> Option<Record> {
        let first = self.after(base)?;
        let changed = self.after(first)?;
        let state = match state {
            3 => State::Claimed {
                until: at(self.after(changed)?),
                token: Token {
                    epoch: self.number()?,
                    counter: self.number()?,
                },
                attempts: self.number()?.try_into().ok()?,
                worker: self.text(64)?,
                last: match self.number()? {
                    0 => None,
                    1 => {
                        let at = at(self.after(first)?);
                        let (status, content) = self.answer()?;
                        Some(Outcome::Fetched {
                            at,
                            status,
                            content,
                        })
                    }
                    2 => Some(Outcome::Failed {
                        at: at(self.after(first)?),
                        reason: self.text(120)?,
                    }),
                    _ => return None,
                },
            },
            4 => {
                let (status, content) = self.answer()?;
                State::Fetched {
                    at: at(changed),
                    status,
                    content,
                }
            }
            5 => {
                let packed = self.number()?;
                State::Failed {
                    at: at(changed),
                    attempts: (packed >> 1).try_into().ok()?,
                    retry_at: match packed & 1 {
                        0 => None,
                        _ => Some(at(self.after(changed)?)),
                    },
                    reason: self.text(120)?,
                }
            }
            6 => State::Seen,
            _ => return None,
        };
        Some(full(first, changed, state))
    }
}

/// The bytes of a record as a log has them, perhaps with something wrong in them.
/// `replaces` is what a head would say.
pub fn bytes(script: &mut Source<'_>, replaces: u8) -> Vec<u8> {
    let state = match script.below(20) {
        19 => 7,
        n => (n % 7) as u8,
    };
    let replaces = if script.rarely(30) {
        script.u8()
    } else {
        replaces
    };
    let mut out = vec![state | replaces << 3];
    match state {
        0 | 2 => {}
        1 => {
            let time = number(script, TODAY).to_le_bytes();
            out.extend(&time[..if script.rarely(20) { 4 } else { 5 }]);
        }
        _ => put_payload(script, state, TODAY, &mut out),
    }
    if script.rarely(40) {
        out.push(script.u8());
    }
    if script.rarely(40) {
        out.pop();
    }
    out
}

/// A record code of a block whose payloads have these codes, perhaps a wrong one.
pub fn code(script: &mut Source<'_>, payloads: &[u64]) -> u64 {
    match script.below(8) {
        0 => 0,
        1 => script.number(9),
        2 => 2,
        3.. if !payloads.is_empty() => {
            let code = payloads[script.below(payloads.len())];
            seldom(script, code)
        }
        _ => u64::from(script.u16()) << 3 | 1,
    }
}

/// A number that is seldom another one.
fn number(script: &mut Source<'_>, near: u64) -> u64 {
    if script.rarely(50) {
        script.number(near)
    } else {
        near
    }
}

/// Appends a payload; `first` is the first of its numbers.
pub fn put_payload(script: &mut Source<'_>, state: u8, first: u64, out: &mut Vec<u8>) {
    let wait = u64::from(script.u8());
    for near in [first, wait] {
        put(script, near, out);
    }
    match state {
        3 => {
            for near in [600, wait % 5, wait, 1 + wait % 3] {
                put(script, near, out);
            }
            put_text(script, 64, out);
            let last = script.below(3) as u64;
            put(script, last, out);
            if last > 0 {
                put(script, wait / 2, out);
            }
            match last {
                1 => put_answer(script, out),
                2 => put_text(script, 120, out),
                _ => {}
            }
        }
        4 => put_answer(script, out),
        5 => {
            let again = script.flag();
            put(script, 6 | u64::from(again), out);
            if again {
                put(script, 3600, out);
            }
            put_text(script, 120, out);
        }
        _ => {}
    }
}

fn put(script: &mut Source<'_>, near: u64, out: &mut Vec<u8>) {
    let number = number(script, near);
    put_varint(out, number);
}

fn put_answer(script: &mut Source<'_>, out: &mut Vec<u8>) {
    let status = [200, 301, 404, 65_535][script.below(4)] ^ 200;
    let content = script.flag();
    put(script, status << 1 | u64::from(content), out);
    if content {
        out.extend([script.u8(); 16]);
    }
}

fn put_text(script: &mut Source<'_>, most: usize, out: &mut Vec<u8>) {
    let length = match script.below(16) {
        0 => most,
        1 if script.flag() => most + 1,
        n => n,
    };
    let mut text = vec![b'r'; length];
    if length > 1 && script.rarely(8) {
        // Two bytes that are a character, or one of them at the end.
        let place = script.below(length);
        text.splice(place..(place + 2).min(length), "é".bytes());
        text.truncate(length);
    }
    put(script, text.len() as u64, out);
    out.extend(text);
}
