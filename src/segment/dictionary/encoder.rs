//! Codes byte strings with few codes.
//!
//! The longest match is not always the best, so two ways are followed: of the positions that so
//! many codes lead to, the farthest two, and from both all matches. That takes 5 % fewer codes
//! than longest matches do; to follow all ways takes hardly fewer.
// No index comes from a file.
#![allow(clippy::indexing_slicing)]

use super::Dictionary;
use super::trie::{Step, Trie};

/// Longer strings are coded piece by piece, each for itself.
const PIECE: usize = 256;
/// Most are shorter: less has to be cleared for them.
const SHORT: usize = 32;

/// Codes byte strings.
pub(in crate::segment) struct Encoder {
    trie: Trie,
}

impl Encoder {
    pub(in crate::segment) fn new(dictionary: &Dictionary) -> Encoder {
        Encoder {
            trie: Trie::new(dictionary.strings()),
        }
    }

    /// Appends the codes of `bytes`.
    pub(in crate::segment) fn encode(&self, bytes: &[u8], codes: &mut Vec<u16>) {
        for piece in bytes.chunks(PIECE) {
            self.encode_piece(piece, usize::MAX, codes);
        }
    }

    /// Appends the codes of at most `PIECE` bytes; none is of a string longer than `longest`.
    #[inline]
    pub(super) fn encode_piece(&self, bytes: &[u8], longest: usize, codes: &mut Vec<u16>) {
        match bytes.len() {
            ..SHORT => self.follow::<SHORT>(bytes, longest, codes),
            _ => self.follow::<{ PIECE + 1 }>(bytes, longest, codes),
        }
    }

    /// The same of less than `ROOM` bytes.
    #[inline(always)]
    fn follow<const ROOM: usize>(&self, bytes: &[u8], longest: usize, codes: &mut Vec<u16>) {
        // By position: the string that leads there.
        let mut steps = [Step::NONE; ROOM];
        // The farthest two positions with so many codes. The second is none if it is not farther
        // than what one code less led to.
        let (mut first, mut second, mut before) = (0, 0, 0);
        while first < bytes.len() {
            let (mut next, mut next_second) = (first, first);
            self.trie.walk(&bytes[first..], |len, step| {
                if step.is_string() && len <= longest {
                    steps[first + len] = step;
                    next_second = next;
                    next = first + len;
                }
            });
            if second > before && next < bytes.len() {
                self.trie.walk(&bytes[second..], |len, step| {
                    let end = second + len;
                    if step.is_string() && end > first && len <= longest {
                        steps[end] = step;
                        if end > next {
                            next_second = next;
                            next = end;
                        } else if end > next_second && end < next {
                            next_second = end;
                        }
                    }
                });
            }
            before = first;
            (first, second) = (next, next_second);
        }
        let start = codes.len();
        let mut at = bytes.len();
        while at > 0 {
            let step = steps[at];
            codes.push(step.code());
            at -= step.len();
        }
        codes[start..].reverse();
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}
