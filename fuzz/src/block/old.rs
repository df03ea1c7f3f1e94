//! Blocks of versions 1 to 3.

use super::super::bytes::{Source, seldom};
use super::super::files::{put_varint, varint};
use super::super::front;
use super::super::record::{self, Stored, seen_at};
use super::{Stores, stored};

/// What entries have beside their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    /// Nothing, in any version.
    Bare(u32),
    /// Times in milliseconds: version 1.
    Millis,
    /// Records: since version 2.
    Records,
}

/// Entries written one by one, each number of which may be wrong.
pub fn craft(script: &mut Source<'_>, form: Old) -> Vec<u8> {
    let mut out = vec![if script.rarely(20) { script.u8() } else { 0 }];
    let mut places = Vec::new();
    match form {
        Old::Bare(_) => {}
        Old::Millis => put_varint(&mut out, script.number(1_700_000_000_000)),
        Old::Records => {
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
        if !matches!(form, Old::Bare(_)) {
            let code = record::code(script, &places);
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

/// The entries of a block's bytes, read from the first to the last as docs/format.md
/// says; `None` if some of it is not as it says.
pub fn read(bytes: &[u8], form: Old) -> Option<Stores> {
    let body = bytes.get(..bytes.len().checked_sub(4)?)?;
    let (&codec, mut rest) = body.split_first()?;
    let (mut base, mut payloads) = (0, &[][..]);
    let is_bare = matches!(form, Old::Bare(_));
    if !is_bare {
        (base, rest) = varint(rest)?;
    }
    if form == Old::Records {
        let (len, after) = varint(rest)?;
        (payloads, rest) = after.split_at_checked(usize::try_from(len).ok()?)?;
    }
    let entries = front::read(rest, (!is_bare).into())?;
    let entries = entries.into_iter().map(|(key, numbers)| {
        let code = numbers.first().copied().unwrap_or(0);
        let stored = match form {
            Old::Millis => millis(code, base)?,
            _ => stored(code, base, payloads)?,
        };
        Some((key, stored))
    });
    let entries = entries.collect::<Option<_>>()?;
    (codec == 0).then_some(entries)
}

/// What a record code of version 1 stands for.
fn millis(code: u64, base: u64) -> Option<Stored> {
    let rest = code >> 3;
    match code & 7 {
        0 if rest == 0 => Some(Some(seen_at(None))),
        1 => {
            let millis = base.checked_add(rest).filter(|time| *time < 1 << 48)?;
            Some(Some(seen_at(Some(millis / 1000))))
        }
        _ => None,
    }
}
