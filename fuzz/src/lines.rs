//! Any bytes as the input of `seen new`: each accepted line is printed once.

use super::bytes::Source;
use super::memory::Memory;
use super::sample::builder;
use seendb::fuzz::InputLine;
use seendb::{Canon, Seen};
use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::Arc;

/// An input of `seen new`, how it comes, and what should become of it.
pub struct Case {
    pub bytes: Vec<u8>,
    pub separator: u8,
    pub canon: Canon,
    /// Bytes that are read at a time.
    pub step: usize,
    /// Lines that are asked for at a time.
    pub batch: usize,
    pub expected: New,
}

impl Case {
    pub fn new(input: &[u8]) -> Case {
        let mut script = Source::new(input);
        let separator = if script.flag() { 0 } else { b'\n' };
        let canon = if script.flag() {
            Canon::raw()
        } else {
            Canon::standard()
        };
        let step = 1 + script.below(300) * script.below(300);
        let batch = 1 + script.below(100);
        let bytes = assemble(&mut script, separator);
        // Long inputs do not come byte by byte: that takes its time.
        let step = step.max(bytes.len() / 200);
        Case {
            expected: New::of(&bytes, &canon, separator),
            bytes,
            separator,
            canon,
            step,
            batch,
        }
    }
}

pub fn lines(input: &[u8]) {
    let case = Case::new(input);
    let Case {
        separator,
        canon,
        expected,
        ..
    } = &case;
    let pieces = Pieces {
        bytes: &case.bytes,
        step: case.step,
    };
    let lines = seendb::fuzz::lines(pieces, canon, *separator).unwrap();
    let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, expected.numbers);
    let vfs = Arc::new(Memory::default());
    let seen = builder(&vfs).canon(canon.clone()).open().unwrap();
    let mut printed = Vec::new();
    for lines in lines.chunks(case.batch) {
        printed.extend(print(&seen, lines, *separator));
    }
    assert!(printed == expected.printed);
    assert_eq!(seen.len(), expected.keys.len() as u64);
    let rejected = lines.iter().filter(|line| line.key.is_err()).count();
    assert_eq!(rejected, expected.rejected);
    // Once more: nothing is new.
    for lines in lines.chunks(case.batch) {
        assert!(print(&seen, lines, *separator).is_empty());
    }
    for key in &expected.keys {
        assert!(
            *canon.apply(key).unwrap() == key[..],
            "a key is its own key"
        );
    }
}

/// Lines of the input's own bytes, and now and then one about as long as a key may be,
/// or a known one again.
fn assemble(script: &mut Source<'_>, separator: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !script.is_empty() {
        match script.below(16) {
            0 => {
                let len = 65_400 + script.below(300);
                bytes.extend(b"http://example.com/");
                bytes.resize(bytes.len() + len, b'a');
            }
            1 => bytes.push(b'\r'),
            2 => bytes.push(separator),
            3 => bytes.extend(b"\xEF\xBB\xBF"),
            4..7 => {
                let number = script.u8() % 16;
                bytes.extend(format!("http://EXAMPLE.com:80/{number}#f").into_bytes());
                bytes.push(separator);
            }
            7 => bytes.extend(b"http://example.com/"),
            8 => {
                let again = script.below(bytes.len() + 1);
                let len = script.below(80).min(bytes.len() - again);
                bytes.extend_from_within(again..again + len);
            }
            _ => {
                let len = script.below(40);
                bytes.extend(script.take(len));
            }
        }
        // Any hundred lines of it fit into a batch.
        if bytes.len() > 130_000 {
            break;
        }
    }
    bytes
}

/// What `seen new` should do with an input, read in one piece.
#[derive(Default)]
pub struct New {
    pub numbers: Vec<u64>,
    pub printed: Vec<u8>,
    pub keys: HashSet<Vec<u8>>,
    pub rejected: usize,
}

impl New {
    fn of(bytes: &[u8], canon: &Canon, separator: u8) -> New {
        let mut new = New::default();
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        for (place, whole) in bytes.split_inclusive(|&b| b == separator).enumerate() {
            let closed = whole.ends_with(&[separator]);
            let text = &whole[..whole.len() - usize::from(closed)];
            let text = match text {
                [text @ .., b'\r'] if closed && separator == b'\n' => text,
                text => text,
            };
            // At the end of the input, `\r` is half of an ending.
            if text.is_empty() || (separator == b'\n' && text == b"\r") {
                continue;
            }
            new.numbers.push(place as u64 + 1);
            match canon.apply(text) {
                Ok(key) if new.keys.insert(key.to_vec()) => {
                    new.printed.extend(whole);
                    if !closed {
                        new.printed.push(separator);
                    }
                }
                Ok(_) => {}
                Err(_) => new.rejected += 1,
            }
        }
        new
    }
}

/// As `seen new` does: asks for a batch, prints what is new, and then remembers it.
fn print(seen: &Seen, lines: &[InputLine], separator: u8) -> Vec<u8> {
    let accepted: Vec<_> = lines
        .iter()
        .filter_map(|line| Some((line, line.key.as_ref().ok()?)))
        .collect();
    let mut batch = seen.batch();
    let mut printed = Vec::new();
    for (_, key) in &accepted {
        // Keys are their own keys, also under the policy `standard`.
        batch.insert(key).unwrap();
    }
    let new = seen.apply(batch).unwrap().new;
    for ((line, _), _) in accepted.iter().zip(new).filter(|(_, new)| *new) {
        printed.extend(&line.whole);
        if line.open {
            printed.push(separator);
        }
    }
    printed
}

/// An input that gives at most `step` bytes at a time.
struct Pieces<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.len().min(self.step).min(room.len());
        let (now, later) = self.bytes.split_at(count);
        room[..count].copy_from_slice(now);
        self.bytes = later;
        Ok(count)
    }
}
