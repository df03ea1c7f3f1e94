//! A record's bytes.
//!
//! A record begins with a head, one byte: the state in its low three bits, and above
//! them the kind of state that it replaces, plus one, or 0 if the key was not there.
//! What follows depends on the state:
//!
//! | state | what follows |
//! |---|---|
//! | 0 | nothing: seen, at a time that is not known |
//! | 1 | seen at this time: u40 |
//! | 2 | nothing: forgotten |
//! | 3 | a payload: claimed |
//! | 4 | a payload: fetched |
//! | 5 | a payload: failed |
//! | 6 | a payload: seen, and changed at another time |
//!
//! This is the form in logs and memtables. A block has the same states and payloads in
//! another place; there, times are counted from a base.
//!
//! A payload is a sequence of varints and bytes:
//!
//! ```text
//! all        first seen - base, changed - first seen
//! claimed    until - changed, epoch, counter, attempts, worker (length, UTF-8),
//!            0, or 1 and the last attempt's: at - first seen, answer,
//!            or 2 and the last attempt's: at - first seen, reason (length, UTF-8)
//! fetched    answer
//! failed     attempts * 2, plus 1 if it may be tried again: then retry_at - changed;
//!            reason (length, UTF-8)
//! answer     (status XOR 200) * 2, plus 1 if there is a hash: then 16 bytes
//! ```
#![deny(clippy::indexing_slicing)]

use super::MAX_SECONDS;
use super::state::StateKind;
use super::stored::{Detail, Details, Last, Stored};
use super::token::Token;
use crate::wire::{Malformed, Reader, put_varint};

/// The most bytes of a worker's name.
pub(crate) const MAX_WORKER: usize = 64;
/// The most bytes of a reason.
pub(crate) const MAX_REASON: usize = 120;

/// The bits of a head, or of a record code, that say the state.
pub(crate) const STATE_BITS: u32 = 3;
const STATE: u8 = (1 << STATE_BITS) - 1;
/// Bytes of a time.
const TIME: usize = 5;

/// The states' numbers.
pub(crate) mod tag {
    pub(crate) const SEEN: u8 = 0;
    pub(crate) const SEEN_AT: u8 = 1;
    pub(crate) const FORGOTTEN: u8 = 2;
    pub(crate) const CLAIMED: u8 = 3;
    pub(crate) const FETCHED: u8 = 4;
    pub(crate) const FAILED: u8 = 5;
    pub(crate) const SEEN_CHANGED: u8 = 6;
}

/// The states that this build knows.
pub(crate) const KNOWN_STATES: &str =
    "record states 0 to 6 (seen, seen at, forgotten, claimed, fetched, failed, seen and changed)";

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Malformed(Malformed),
    /// A state of a later version.
    State(u8),
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Unreadable {
        Unreadable::Malformed(malformed)
    }
}

/// The first byte of a record: its state, and the kind of state it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head(u8);

impl Head {
    pub(crate) fn new(stored: &Stored, replaces: Option<StateKind>) -> Head {
        let replaces = replaces.map_or(0, |kind| kind as u8 + 1);
        Head(number(stored) | replaces << STATE_BITS)
    }

    /// Of a record; one without bytes is a plain entry.
    pub(crate) fn of(record: &[u8]) -> Head {
        Head(record.first().copied().unwrap_or(tag::SEEN))
    }

    /// The kind of state that the record replaces.
    pub(crate) fn replaces(self) -> Option<StateKind> {
        let place = usize::from(self.0 >> STATE_BITS).checked_sub(1)?;
        StateKind::ALL.get(place).copied()
    }

    /// The bytes of a record that replaces the same, and says only that the key was seen;
    /// none if it replaces nothing.
    pub(crate) fn bare(self) -> Option<[u8; 1]> {
        let replaces = self.0 & !STATE;
        (replaces != 0).then_some([replaces | tag::SEEN])
    }

    /// Whether it names a kind of state, or none, as what it replaces.
    fn is_possible(self) -> bool {
        usize::from(self.0 >> STATE_BITS) <= StateKind::ALL.len()
    }

    /// The kind of state that the record is in; `None` of a tombstone.
    pub(crate) fn kind(self) -> Option<StateKind> {
        match self.0 & STATE {
            tag::FORGOTTEN => None,
            tag::CLAIMED => Some(StateKind::Claimed),
            tag::FETCHED => Some(StateKind::Fetched),
            tag::FAILED => Some(StateKind::Failed),
            _ => Some(StateKind::Seen),
        }
    }
}

/// The number of a record's state.
pub(crate) fn number(stored: &Stored) -> u8 {
    match stored {
        Stored::Seen(None) => tag::SEEN,
        Stored::Seen(Some(_)) => tag::SEEN_AT,
        Stored::Forgotten => tag::FORGOTTEN,
        Stored::Full(details) => match details.detail {
            Detail::Seen => tag::SEEN_CHANGED,
            Detail::Claimed { .. } => tag::CLAIMED,
            Detail::Fetched { .. } => tag::FETCHED,
            Detail::Failed { .. } => tag::FAILED,
        },
    }
}

/// The bytes of a record that is seen at `seconds` and replaces nothing.
#[inline]
pub(crate) fn plain(seconds: u64) -> [u8; 1 + TIME] {
    let [a, b, c, d, e, ..] = seconds.to_le_bytes();
    [tag::SEEN_AT, a, b, c, d, e]
}

/// Appends the bytes of a record.
pub(crate) fn write(stored: &Stored, replaces: Option<StateKind>, out: &mut Vec<u8>) {
    let Head(head) = Head::new(stored, replaces);
    match stored {
        // A plain entry of a store without stamps has no bytes.
        Stored::Seen(None) if replaces.is_none() => {}
        Stored::Seen(None) | Stored::Forgotten => out.push(head),
        Stored::Seen(Some(at)) => {
            let [_, time @ ..] = plain(*at);
            out.push(head);
            out.extend_from_slice(&time);
        }
        Stored::Full(details) => {
            out.push(head);
            write_payload(details, 0, out);
        }
    }
}

/// A record from its bytes.
#[inline]
pub(crate) fn read(record: &[u8]) -> Result<Stored, Unreadable> {
    let Some((head, rest)) = record.split_first() else {
        return Ok(Stored::Seen(None));
    };
    if let (tag::SEEN_AT, [a, b, c, d, e]) = (head & STATE, rest)
        && Head(*head).is_possible()
    {
        let at = u64::from_le_bytes([*a, *b, *c, *d, *e, 0, 0, 0]);
        return Ok(Stored::Seen(Some(at)));
    }
    read_rare(*head, rest)
}

#[cold]
fn read_rare(head: u8, rest: &[u8]) -> Result<Stored, Unreadable> {
    if !Head(head).is_possible() {
        return Err(bad(0, "the kind of a state that is replaced"));
    }
    match head & STATE {
        tag::SEEN if rest.is_empty() => Ok(Stored::Seen(None)),
        tag::FORGOTTEN if rest.is_empty() => Ok(Stored::Forgotten),
        full @ tag::CLAIMED..=tag::SEEN_CHANGED => {
            let mut reader = Reader::new(rest);
            let details = read_payload(full, 0, &mut reader)?;
            if !reader.is_empty() {
                return Err(bad(reader.offset(), "the end of a record"));
            }
            Ok(Stored::Full(Box::new(details)))
        }
        tag::SEEN_AT => Err(bad(rest.len(), "a time of five bytes")),
        tag::SEEN | tag::FORGOTTEN => Err(bad(0, "the end of a record")),
        other => Err(Unreadable::State(other)),
    }
}

fn bad(at: usize, expected: &'static str) -> Unreadable {
    Unreadable::Malformed(Malformed { at, expected })
}

/// Appends the payload of a record, with times counted from `base`, which is not above
/// the time first seen.
pub(crate) fn write_payload(details: &Details, base: u64, out: &mut Vec<u8>) {
    let Details {
        first,
        changed,
        detail,
    } = details;
    put_varint(out, first.saturating_sub(base));
    put_varint(out, changed.saturating_sub(*first));
    match detail {
        Detail::Seen => {}
        Detail::Claimed {
            until,
            token,
            attempts,
            worker,
            last,
        } => {
            put_varint(out, until.saturating_sub(*changed));
            put_varint(out, token.epoch);
            put_varint(out, token.counter);
            put_varint(out, u64::from(*attempts));
            put_text(worker, out);
            match last {
                None => put_varint(out, 0),
                Some(Last::Fetched {
                    at,
                    status,
                    content,
                }) => {
                    put_varint(out, 1);
                    put_varint(out, at.saturating_sub(*first));
                    put_answer(*status, content.as_ref(), out);
                }
                Some(Last::Failed { at, reason }) => {
                    put_varint(out, 2);
                    put_varint(out, at.saturating_sub(*first));
                    put_text(reason, out);
                }
            }
        }
        Detail::Fetched { status, content } => put_answer(*status, content.as_ref(), out),
        Detail::Failed {
            attempts,
            retry_at,
            reason,
        } => {
            put_varint(
                out,
                u64::from(*attempts) << 1 | u64::from(retry_at.is_some()),
            );
            if let Some(retry_at) = retry_at {
                put_varint(out, retry_at.saturating_sub(*changed));
            }
            put_text(reason, out);
        }
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn put_answer(status: u16, content: Option<&[u8; 16]>, out: &mut Vec<u8>) {
    put_varint(
        out,
        u64::from(status ^ 200) << 1 | u64::from(content.is_some()),
    );
    out.extend_from_slice(content.map_or(&[], |hash| &hash[..]));
}

/// The payload of a record in the state of this number, with times counted from `base`.
/// Every state from 3 to 6 has one.
pub(crate) fn read_payload(
    number: u8,
    base: u64,
    reader: &mut Reader<'_>,
) -> Result<Details, Unreadable> {
    let first = after(base, reader)?;
    let changed = after(first, reader)?;
    let detail = match number {
        tag::SEEN_CHANGED => Detail::Seen,
        tag::CLAIMED => Detail::Claimed {
            until: after(changed, reader)?,
            token: Token {
                epoch: reader.varint("an epoch")?,
                counter: reader.varint("a counter")?,
            },
            attempts: attempts(reader.offset(), reader.varint("a number of attempts")?)?,
            worker: text(MAX_WORKER, reader)?,
            last: read_last(first, reader)?,
        },
        tag::FETCHED => {
            let (status, content) = read_answer(reader)?;
            Detail::Fetched { status, content }
        }
        tag::FAILED => {
            let at = reader.offset();
            let packed = reader.varint("a number of attempts")?;
            Detail::Failed {
                attempts: attempts(at, packed >> 1)?,
                retry_at: match packed & 1 {
                    0 => None,
                    _ => Some(after(changed, reader)?),
                },
                reason: text(MAX_REASON, reader)?,
            }
        }
        other => return Err(Unreadable::State(other)),
    };
    Ok(Details {
        first,
        changed,
        detail,
    })
}

fn read_last(first: u64, reader: &mut Reader<'_>) -> Result<Option<Last>, Unreadable> {
    let at = reader.offset();
    Ok(match reader.varint("the kind of the last outcome")? {
        0 => None,
        1 => {
            let at = after(first, reader)?;
            let (status, content) = read_answer(reader)?;
            Some(Last::Fetched {
                at,
                status,
                content,
            })
        }
        2 => Some(Last::Failed {
            at: after(first, reader)?,
            reason: text(MAX_REASON, reader)?,
        }),
        _ => return Err(bad(at, "the kind of the last outcome, 0 to 2")),
    })
}

fn read_answer(reader: &mut Reader<'_>) -> Result<(u16, Option<[u8; 16]>), Unreadable> {
    let at = reader.offset();
    let packed = reader.varint("a status")?;
    let status = u16::try_from(packed >> 1).map_err(|_| bad(at, "a status of 16 bits"))?;
    let content = match packed & 1 {
        0 => None,
        _ => Some(reader.array("a content hash")?),
    };
    Ok((status ^ 200, content))
}

/// A time that is counted from another.
fn after(base: u64, reader: &mut Reader<'_>) -> Result<u64, Unreadable> {
    let at = reader.offset();
    let time = base.checked_add(reader.varint("a time")?);
    time.filter(|&time| time <= MAX_SECONDS)
        .ok_or_else(|| bad(at, "a time of 40 bits"))
}

fn attempts(at: usize, count: u64) -> Result<u32, Unreadable> {
    u32::try_from(count).map_err(|_| bad(at, "a number of attempts of 32 bits"))
}

fn text(most: usize, reader: &mut Reader<'_>) -> Result<Box<str>, Unreadable> {
    let at = reader.offset();
    let length = reader.length("the length of a text")?;
    if length > most {
        return Err(bad(at, "a text that is not too long"));
    }
    let bytes = reader.take(length, "a text")?;
    let text = std::str::from_utf8(bytes).map_err(|_| bad(at, "a text in UTF-8"))?;
    Ok(text.into())
}

#[cfg(test)]
mod tests;
