//! Makes a dictionary from a sample, by merging pairs.
//!
//! In each of some rounds the sample is coded with the strings so far. A string is worth the
//! codes that it saved; a pair of neighbours, which would be one code as a string of its own,
//! as many as there are of it. The best of both are the strings of the next round, more of them
//! each time. What new strings made useless is thrown out thereby, and what was worth less than
//! it seemed. All is counted in integers, and what is worth the same is ordered by its bytes, so
//! that the same sample gives the same dictionary.
// No index comes from a file.
#![allow(clippy::indexing_slicing)]

use super::tally::{Pairs, TWICE, Tally};
use super::{BYTES, Dictionary, Encoder, MAX_BITS, MAX_LEN, MIN_BITS, Sample, Word};
use super::{bytes, len, order};
use std::cmp::Reverse;

/// Rounds in all.
const ROUNDS: usize = 12;
/// Those until there are as many strings as there can be: few at first, since what is built of
/// good strings is good.
const GROWING: usize = 10;
/// Those that look at a part of the sample: they find the few strings that are used the most.
const SKETCHING: usize = 7;
/// One in so many strings is looked at by them.
const PART: usize = 4;

/// A dictionary of at most 2^`bits` strings for strings like those of the sample, with codes no
/// wider than it needs; a plain one if codes would take more than the bytes. The same sample gives
/// the same dictionary.
pub(in crate::segment) fn train(sample: &Sample, bits: u32) -> Dictionary {
    let bits = bits.clamp(MIN_BITS, MAX_BITS);
    let room = (1 << bits) - BYTES;
    let mut strings = Vec::new();
    if room > 0 && !sample.is_empty() {
        for round in 1..=ROUNDS {
            let most = room * round.min(GROWING).pow(3) / GROWING.pow(3);
            let every = if round <= SKETCHING { PART } else { 1 };
            let dictionary = Dictionary::new(bits, &strings);
            strings = best(candidates(sample, every, &dictionary, most), most);
        }
    }
    let needed = (BYTES + strings.len()).next_power_of_two().trailing_zeros();
    let dictionary = Dictionary::new(needed, &strings);
    if pays(sample, &dictionary) {
        dictionary
    } else {
        Dictionary::plain()
    }
}

/// Whether the sample takes less space than its bytes.
fn pays(sample: &Sample, dictionary: &Dictionary) -> bool {
    let encoder = Encoder::new(dictionary);
    let (mut codes, mut plain) = (Vec::new(), 0);
    for (_, string) in sample.strings().step_by(PART) {
        encoder.encode(string, &mut codes);
        plain += string.len();
    }
    codes.len() * dictionary.bits() as usize <= plain * MIN_BITS as usize
}

/// A string that may be one of the next dictionary.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    word: Word,
    /// Whether it is one of this dictionary.
    known: bool,
    worth: u32,
}

/// The strings that are worth most, in their order.
fn best(mut candidates: Vec<Candidate>, most: usize) -> Vec<Word> {
    // A string may be made of several pairs. One that is known was not taken there.
    candidates.sort_unstable_by_key(|candidate| (order(candidate.word), !candidate.known));
    candidates.dedup_by(|next, kept| {
        let same = next.word == kept.word;
        if same && !kept.known {
            kept.worth = kept.worth.saturating_add(next.worth);
        }
        same
    });
    // What is used once is not worth to be stored.
    candidates.retain(|candidate| candidate.worth >= TWICE);
    if candidates.len() > most {
        candidates.select_nth_unstable_by_key(most, |candidate| {
            (Reverse(candidate.worth), order(candidate.word))
        });
        candidates.truncate(most);
    }
    let mut strings: Vec<Word> = candidates.iter().map(|candidate| candidate.word).collect();
    strings.sort_unstable_by_key(|&word| order(word));
    strings
}

/// The strings of the dictionary and those of pairs, some of them more than once: `most` and more,
/// if there are as many.
fn candidates(
    sample: &Sample,
    every: usize,
    dictionary: &Dictionary,
    most: usize,
) -> Vec<Candidate> {
    let encoder = Encoder::new(dictionary);
    let mut singles = vec![Tally::default(); dictionary.len()];
    let mut pairs = Pairs::new();
    let mut codes = Vec::new();
    for (offset, string) in sample.strings().step_by(every) {
        codes.clear();
        encoder.encode(string, &mut codes);
        for &code in &codes {
            singles[usize::from(code)].count(offset);
        }
        for (&first, &second) in codes.iter().zip(codes.iter().skip(1)) {
            pairs.count(first, second, offset);
        }
    }
    let mut candidates = Vec::new();
    for (&word, tally) in dictionary.strings().iter().zip(&singles[BYTES..]) {
        let (bytes, len) = bytes(word);
        codes.clear();
        encoder.encode_piece(&bytes[..len], len - 1, &mut codes);
        let saved = codes.len() as u32 - 1;
        candidates.push(Candidate {
            word,
            known: true,
            worth: tally.uses().saturating_mul(saved),
        });
    }
    // Pairs that are used once are many, and only of use if several make the same string.
    let repeated = pairs.iter().filter(|&(.., uses)| uses >= TWICE).count();
    let least = if repeated < most { 0 } else { TWICE };
    for (first, second, uses) in pairs.iter() {
        let first = dictionary.word(usize::from(first));
        let second = dictionary.word(usize::from(second));
        if uses >= least && len(first) + len(second) <= MAX_LEN {
            candidates.push(Candidate {
                word: joined(first, second),
                known: false,
                worth: uses,
            });
        }
    }
    candidates
}

/// The word of two strings one behind the other, at most 15 bytes.
fn joined(first: Word, second: Word) -> Word {
    let low = (1 << 120) - 1;
    let bytes = first & low | (second & low) << (8 * len(first));
    bytes | ((len(first) + len(second)) as u128) << 120
}
