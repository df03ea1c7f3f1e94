//! Front-coded keys as blocks and indexes up to version 3 have them, written and read
//! without any of the store's code.

use super::files::{put_varint, varint};

/// A key and the numbers that it has.
pub type Entry = (Vec<u8>, Vec<u64>);

/// How many bytes two keys have in common.
pub fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Entries with `values` numbers each, read from the first to the last as docs/format.md
/// says; `None` if some of it is not as it says.
pub fn read(bytes: &[u8], values: usize) -> Option<Vec<Entry>> {
    let (rest, count) = bytes.split_last_chunk::<4>()?;
    let restarts = (u32::from_le_bytes(*count) as usize).checked_mul(4)?;
    let (all, restarts) = rest.split_at_checked(rest.len().checked_sub(restarts)?)?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let at = (all.len() - rest.len()) as u32;
        let mut number = || {
            let (number, after) = varint(rest)?;
            rest = after;
            Some(number)
        };
        let (shared, len) = (number()?, number()?);
        let numbers: Vec<_> = (0..values).map(|_| number()).collect::<Option<_>>()?;
        let (suffix, after) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        rest = after;
        let before = entries.last().map_or(&[][..], |(key, _)| key);
        let key = [before.get(..usize::try_from(shared).ok()?)?, suffix].concat();
        let sound = match entries.len() % 16 {
            0 => {
                let restart = restarts.chunks(4).nth(entries.len() / 16)?;
                shared == 0 && restart == at.to_le_bytes()
            }
            _ => shared == common(before, &key) as u64,
        };
        if !sound || key.len() > 65_535 || (before >= &key[..] && !entries.is_empty()) {
            return None;
        }
        entries.push((key, numbers));
    }
    (restarts.len() / 4 == entries.len().div_ceil(16)).then_some(entries)
}

/// The bytes of entries in order.
pub fn write(entries: &[Entry]) -> Vec<u8> {
    let (mut out, mut restarts) = (Vec::new(), Vec::new());
    let mut last: &[u8] = &[];
    for (place, (key, numbers)) in entries.iter().enumerate() {
        let mut shared = common(last, key);
        if place % 16 == 0 {
            shared = 0;
            restarts.push(out.len() as u32);
        }
        put_varint(&mut out, shared as u64);
        put_varint(&mut out, (key.len() - shared) as u64);
        numbers
            .iter()
            .for_each(|&number| put_varint(&mut out, number));
        out.extend(&key[shared..]);
        last = key;
    }
    restarts.push(restarts.len() as u32);
    out.extend(restarts.into_iter().flat_map(u32::to_le_bytes));
    out
}
