//! Blocks of version 4: packed keys, whose suffixes are coded with a dictionary.

use super::super::bytes::{Source, seldom};
use super::super::dictionary::Dictionary;
use super::super::front::common;
use super::super::record;
use super::{Stores, stored};

/// The number that little-endian bytes are.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// A number of `width` bits, the `which`th of those that bytes are filled with.
fn number_of_bits(bytes: &[u8], which: usize, width: usize) -> Option<u64> {
    let bits = which * width..(which + 1) * width;
    bits.rev().try_fold(0, |number, bit| {
        let byte = bytes.get(bit / 8)?;
        Some(number << 1 | u64::from(byte >> (bit % 8) & 1))
    })
}

/// Bytes filled with the low `width` bits of numbers, and what the last bits are that are
/// left.
fn fill(numbers: &[u64], width: usize, left: bool) -> Vec<u8> {
    let mut out = vec![0; (numbers.len() * width).div_ceil(8)];
    let end = 8 * out.len();
    for bit in 0..end {
        let set = match numbers.get(bit.checked_div(width).unwrap_or(0)) {
            Some(number) => number >> (bit % width) & 1 == 1,
            None => left,
        };
        out[bit / 8] |= u8::from(set) << (bit % 8);
    }
    out
}

/// The entries of a block's bytes, read from the first to the last as docs/format.md
/// says; `None` if some of it is not as it says.
pub fn read(bytes: &[u8], records: bool, dictionary: &Dictionary) -> Option<Stores> {
    let mut rest = bytes.get(..bytes.len().checked_sub(4)?)?;
    let mut take = |len: usize| {
        let (taken, after) = rest.split_at_checked(len)?;
        rest = after;
        Some(taken)
    };
    let count = number(take(2)?) as usize;
    let (flags, width) = (number(take(1)?), number(take(1)?) as usize);
    let (covered, skipped) = (number(take(2)?) as usize, number(take(2)?) as usize);
    let (base, length) = match records {
        true => (number(take(5)?), number(take(3)?) as usize),
        false => (0, 0),
    };
    if count == 0 || flags > 1 || width > if records { 64 } else { 0 } {
        return None;
    }
    let values = take((count * width).div_ceil(8))?;
    let size = 1 + flags as usize;
    let (shared, first, pieces) = (take(count * size)?, take(count)?, take(count * size)?);
    let (stream, payloads) = rest.split_at_checked(rest.len().checked_sub(length)?)?;
    let pieces: Vec<_> = pieces.chunks(size).map(|n| number(n) as usize).collect();
    let bits = dictionary.bits as usize;
    let all: usize = pieces.iter().sum();
    if stream.len() != (all * bits).div_ceil(8) {
        return None;
    }

    let mut entries = Stores::new();
    let mut place = 0;
    for (entry, shared) in shared.chunks(size).enumerate() {
        let shared = number(shared) as usize;
        let before = entries.last().map_or(&[][..], |(key, _)| key);
        let mut key = before.get(..shared)?.to_vec();
        key.push(first[entry]);
        for piece in 0..pieces[entry] {
            if entry == 0 && piece == skipped && covered > 0 && covered != key.len() {
                return None;
            }
            let code = number_of_bits(stream, place, bits)?;
            key.extend(dictionary.get(code as usize)?);
            place += 1;
        }
        let ascends = entry == 0 || before < &key[..];
        if !ascends || shared != common(before, &key) || key.len() > 65_535 {
            return None;
        }
        let code = number_of_bits(values, entry, width)?;
        entries.push((key, stored(code, base, payloads)?));
    }
    let whole = skipped == pieces[0] && covered == entries[0].0.len();
    let skips = match covered {
        0 => skipped == 0,
        _ => skipped < pieces[0] || whole,
    };
    let too_narrow = size == 1 && shared.contains(&255);
    (skips && !too_narrow).then_some(entries)
}

/// A sound block, both without their checksums, with its keys coded by another dictionary.
/// Its separator has so many bytes.
pub fn recode(
    block: &[u8],
    records: bool,
    [from, to]: [&Dictionary; 2],
    separator: usize,
) -> Vec<u8> {
    let entries = read(&[block, &[0; 4]].concat(), records, from).unwrap();
    let (count, width) = (entries.len(), usize::from(block[3]));
    let columns_at = if records { 16 } else { 8 } + (count * width).div_ceil(8);
    let length = if records {
        number(&block[13..16]) as usize
    } else {
        0
    };
    let size = 1 + usize::from(block[2]);
    let (shared, first) = block[columns_at..].split_at(count * size);
    let mut out = block[..columns_at].to_vec();
    out.extend(shared);
    out.extend(&first[..count]);
    let mut stream = Vec::new();
    for ((key, _), shared) in entries.iter().zip(shared.chunks(size)) {
        let shared = number(shared) as usize;
        let codes = to.encode(&mut Source::new(&[]), &key[shared + 1..]);
        out.extend(&codes.len().to_le_bytes()[..size]);
        stream.extend(codes);
    }
    let (mut covered, mut skipped) = (separator.min(1), 0);
    for &code in &stream {
        let next = covered + to.get(code as usize).unwrap().len();
        if covered == 0 || next > separator {
            break;
        }
        (covered, skipped) = (next, skipped + 1);
    }
    out[4..6].copy_from_slice(&(covered as u16).to_le_bytes());
    out[6..8].copy_from_slice(&(skipped as u16).to_le_bytes());
    out.extend(fill(&stream, to.bits as usize, false));
    out.extend(&block[block.len() - length..]);
    out
}

/// A block of keys in order, each number of which may be wrong.
pub fn craft(
    script: &mut Source<'_>,
    keys: &[Vec<u8>],
    records: bool,
    dictionary: &Dictionary,
) -> Vec<u8> {
    let mut columns = [const { Vec::new() }; 3];
    let [shared, first, pieces] = &mut columns;
    let mut stream = Vec::new();
    let mut last: &[u8] = &[];
    for key in keys {
        let most = common(last, key);
        let codes = dictionary.encode(script, &key[most + 1..]);
        shared.push(seldom(script, most as u64));
        first.push(u64::from(key[most]));
        pieces.push(seldom(script, codes.len() as u64));
        stream.extend(codes);
        last = key;
    }
    for code in &mut stream {
        if script.rarely(100) {
            *code = script.below(dictionary.len() + 2) as u64;
        }
    }
    let narrow = if script.rarely(8) { 255 } else { 254 };
    let large = shared.iter().any(|&n| n > narrow) || pieces.iter().any(|&n| n > 255);
    let wide = large || script.rarely(8);

    let (mut values, mut payloads) = (Vec::new(), Vec::new());
    if records {
        let mut places = Vec::new();
        for _ in 0..script.below(6) {
            let state = 3 + script.below(4) as u8;
            places.push(u64::from(state) | (payloads.len() as u64) << 3);
            let first = script.below(4) as u64;
            record::put_payload(script, state, first, &mut payloads);
        }
        values.extend(keys.iter().map(|_| record::code(script, &places)));
    }
    let width = values.iter().fold(0, |all, value| all | value);
    let width = seldom(script, u64::from(64 - width.leading_zeros()));

    let count = seldom(script, keys.len() as u64);
    let mut out = (count as u16).to_le_bytes().to_vec();
    out.push(if script.rarely(40) {
        script.u8()
    } else {
        wide.into()
    });
    out.push(width as u8);
    // What the first codes of the first key stand for; they may be others by now.
    let skipped = script.below(pieces.first().map_or(0, |&n| n as usize % 99) + 1);
    let strings = stream.iter().take(skipped);
    let strings = strings.map(|&code| dictionary.get(code as usize).map_or(0, <[u8]>::len));
    let mut covered = 1 + strings.sum::<usize>() as u64;
    if skipped == 0 && script.flag() {
        covered = 0;
    }
    out.extend((seldom(script, covered) as u16).to_le_bytes());
    out.extend((seldom(script, skipped as u64) as u16).to_le_bytes());
    if records {
        let base = script.number(1_700_000_000);
        out.extend(&base.to_le_bytes()[..5]);
        let length = seldom(script, payloads.len() as u64);
        out.extend(&length.to_le_bytes()[..3]);
    }
    out.extend(fill(&values, width.min(64) as usize, script.flag()));
    let size = if wide { 2 } else { 1 };
    for (column, size) in columns.iter().zip([size, 1, size]) {
        let bytes = column.iter().map(|number| number.to_le_bytes());
        out.extend(bytes.flat_map(|bytes| bytes.into_iter().take(size)));
    }
    out.extend(fill(&stream, dictionary.bits as usize, script.flag()));
    out.extend(payloads);
    out.extend([0; 4]);
    out
}
