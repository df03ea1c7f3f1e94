//! Any bytes as a dictionary: the strings that it has, or it is refused.

use super::bytes::{Source, edit, seldom};
use super::front::common;
use super::memory_bound::bounded;
use seendb::fuzz::Codes;
use std::collections::BTreeSet;

/// A dictionary as docs/format.md has it.
pub struct Dictionary {
    pub bits: u32,
    /// By code.
    strings: Vec<Vec<u8>>,
}

/// Codes of single bytes.
const BYTES: usize = 256;

impl Dictionary {
    fn new(bits: u32, strings: impl IntoIterator<Item = Vec<u8>>) -> Dictionary {
        let bytes = (0..=255).map(|byte| vec![byte]);
        Dictionary {
            bits,
            strings: bytes.chain(strings).collect(),
        }
    }

    pub fn plain() -> Dictionary {
        Dictionary::new(8, [])
    }

    /// One of strings that samples have.
    pub fn of_samples() -> Dictionary {
        let strings: [&[u8]; 6] = [b"/page", b"example", b"host", b"long/", b"st", b"ttps://"];
        Dictionary::new(9, strings.map(<[u8]>::to_vec))
    }

    /// A plain one, or one of some strings.
    pub fn pick(script: &mut Source<'_>) -> Dictionary {
        let bits = match script.below(8) {
            0..3 => return Dictionary::plain(),
            7 if script.rarely(4) => 13 + script.below(4) as u32,
            _ => 9 + script.below(4) as u32,
        };
        let mut strings = BTreeSet::new();
        let mut string = Vec::new();
        for _ in 0..script.below(20) {
            string.truncate(script.below(string.len() + 1));
            let len = 1 + script.below(6);
            string.extend(script.take(len));
            string.truncate(15);
            if string.len() > 1 {
                strings.insert(string.clone());
            }
        }
        Dictionary::new(bits, strings)
    }

    /// The string of a code.
    pub fn get(&self, code: usize) -> Option<&[u8]> {
        self.strings.get(code).map(Vec::as_slice)
    }

    /// How many codes have strings.
    pub fn len(&self) -> usize {
        self.strings.len()
    }

    /// Codes of a string; which ones, where there are several ways, the script says.
    pub fn encode(&self, script: &mut Source<'_>, mut bytes: &[u8]) -> Vec<u64> {
        let mut codes = Vec::new();
        while let Some(&byte) = bytes.first() {
            let longer = self.strings[BYTES..]
                .iter()
                .rposition(|s| bytes.starts_with(s));
            let code = match longer {
                Some(place) if !script.rarely(4) => BYTES + place,
                _ => byte.into(),
            };
            bytes = &bytes[self.strings[code].len()..];
            codes.push(code as u64);
        }
        codes
    }

    /// The stored form.
    pub fn write(&self) -> Vec<u8> {
        self.write_with(|number| number)
    }

    /// The stored form, with what becomes of each number that it has.
    fn write_with(&self, mut number: impl FnMut(u64) -> u64) -> Vec<u8> {
        let strings = &self.strings[BYTES..];
        let mut out = vec![number(self.bits.into()) as u8];
        out.extend((number(strings.len() as u64) as u32).to_le_bytes());
        let mut before: &[u8] = &[];
        for string in strings {
            let shared = common(before, string);
            out.push((number(shared as u64) << 4 | number(string.len() as u64) & 15) as u8);
            out.extend(&string[shared..]);
            before = string;
        }
        out
    }

    /// The strings of any bytes; `None` if some of it is not as docs/format.md says.
    pub fn read(bytes: &[u8]) -> Option<Dictionary> {
        let (&bits, rest) = bytes.split_first()?;
        let (count, mut rest) = rest.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        if !(8..=16).contains(&bits) || count > (1 << bits) - BYTES {
            return None;
        }
        let mut strings: Vec<Vec<u8>> = Vec::new();
        for _ in 0..count {
            let (&lengths, after) = rest.split_first()?;
            let (shared, len) = (usize::from(lengths >> 4), usize::from(lengths & 15));
            let (suffix, after) = after.split_at_checked(len.checked_sub(shared)?)?;
            rest = after;
            let before = strings.last().map_or(&[][..], Vec::as_slice);
            let string = [before.get(..shared)?, suffix].concat();
            if len < 2 || &string[..] <= before || shared != common(before, &string) {
                return None;
            }
            strings.push(string);
        }
        rest.is_empty()
            .then(|| Dictionary::new(bits.into(), strings))
    }
}

/// A dictionary of the input's own bytes, one that the store makes, or a sound one with
/// wrong numbers.
pub fn dictionary(input: &[u8]) {
    let mut script = Source::new(input);
    let mut bytes = match script.below(5) {
        0 => script.take(usize::MAX).to_vec(),
        1 => trained(&mut script),
        2 => {
            let dictionary = Dictionary::pick(&mut script);
            dictionary.write_with(|number| seldom(&mut script, number))
        }
        _ => Dictionary::pick(&mut script).write(),
    };
    let text = script.take(40);
    if script.flag() {
        edit(&mut script, &mut bytes);
    }
    ask(&bytes, text);
}

/// One for strings such as the script has.
fn trained(script: &mut Source<'_>) -> Vec<u8> {
    let bits = 8 + script.below(9) as u32;
    let mut strings = Vec::new();
    for _ in 0..script.below(30) {
        let len = script.below(40);
        let string = script.take(len);
        strings.extend([string].repeat(1 + script.below(3)));
    }
    let bytes = Codes::train(&strings, bits).encode();
    assert!(Dictionary::read(&bytes).is_some_and(|made| made.bits <= bits));
    bytes
}

/// Every code has its string, and every string the codes that give it back.
fn ask(bytes: &[u8], text: &[u8]) {
    let naive = Dictionary::read(bytes);
    let codes = bounded(bytes.len(), || Codes::decode(bytes));
    assert_eq!(codes.is_ok(), naive.is_some(), "{codes:?}");
    let (Ok(codes), Some(naive)) = (codes, naive) else {
        return;
    };
    assert!(codes.encode() == bytes);
    let all = 1 << naive.bits;
    let behind = [naive.len(), all - 1, all, usize::MAX];
    for code in (0..naive.len()).chain(behind) {
        let (string, len) = codes.string(code);
        let expected = naive.get(code).unwrap_or_default();
        assert_eq!((&string[..len], len), (expected, expected.len()));
        assert!(string[len..].iter().all(|&byte| byte == 0));
    }
    let strings = naive.strings[BYTES..].iter().rev().take(20);
    let joined: Vec<u8> = strings.flatten().copied().collect();
    for text in [text, &joined, &[text, &joined, text].concat()] {
        let mut given: Vec<u8> = Vec::new();
        for code in codes.codes(text) {
            given.extend(naive.get(code.into()).unwrap());
        }
        assert_eq!(given, text);
    }
}
