//! The strings of a dictionary as a trie, in a double array.
//!
//! A node has a base; its child behind a byte is the cell `base ^ byte`, if that cell's label is
//! the byte. No two nodes have the same base but those without children, so that a label that
//! fits is of this node's child. A node's children lie in one block of 256 cells: those of the
//! root, the single bytes, in the first; the second stays empty, it is that of all leaves.
// No index comes from a file.
#![allow(clippy::indexing_slicing)]

use super::{BYTES, Word, len};
use std::collections::VecDeque;
use std::ops::Range;

/// What a node says: the byte that leads to it, and the string that ends there, if one does.
///
/// From the lowest bit: the string's code, 16 bits; its length, 4 bits, 0 without a string; the
/// byte, 8 bits; a one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(u32);

impl Step {
    pub(super) const NONE: Step = Step(0);
    const LEN: u32 = 15 << 16;
    const LABEL: u32 = 20;
    const NODE: u32 = 1 << 8;

    #[inline(always)]
    pub(super) fn is_string(self) -> bool {
        self.0 & Step::LEN != 0
    }

    #[inline(always)]
    pub(super) fn code(self) -> u16 {
        self.0 as u16
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        ((self.0 & Step::LEN) >> 16) as usize
    }

    fn node(byte: u8) -> Step {
        Step((Step::NODE | u32::from(byte)) << Step::LABEL)
    }

    fn of_string(self, code: usize, len: usize) -> Step {
        Step(self.0 | (len as u32) << 16 | code as u32)
    }

    #[inline(always)]
    fn is_behind(self, byte: u8) -> bool {
        self.0 >> Step::LABEL == Step::NODE | u32::from(byte)
    }
}

/// A node, or the place for one.
#[derive(Debug, Clone, Copy)]
struct Cell {
    base: u32,
    step: Step,
}

/// The base of leaves.
const LEAF: u32 = BYTES as u32;

const EMPTY: Cell = Cell {
    base: LEAF,
    step: Step::NONE,
};

/// The strings of a dictionary, to be found at the beginning of others.
pub(super) struct Trie {
    cells: Vec<Cell>,
}

impl Trie {
    /// Of strings that ascend; their codes follow those of the single bytes.
    pub(super) fn new(strings: &[Word]) -> Trie {
        let mut cells = Cells::new();
        let mut parents = VecDeque::new();
        for (byte, strings) in families(strings, 0, 0..strings.len()) {
            parents.push_back((usize::from(byte), 1, strings));
        }
        // Level by level: the nodes that are used most are near each other.
        while let Some((parent, depth, range)) = parents.pop_front() {
            let children = families(strings, depth, range);
            let base = cells.base_for(&children);
            cells.cells[parent].base = base as u32;
            for (byte, mut range) in children {
                let cell = base ^ usize::from(byte);
                let mut step = Step::node(byte);
                // The shortest of those that begin alike is the first.
                if len(strings[range.start]) == depth + 1 {
                    step = step.of_string(BYTES + range.start, depth + 1);
                    range.start += 1;
                }
                cells.cells[cell].step = step;
                if !range.is_empty() {
                    parents.push_back((cell, depth + 1, range));
                }
            }
        }
        Trie { cells: cells.cells }
    }

    /// Calls `found` for every node on the way of `bytes`, with its depth.
    #[inline(always)]
    pub(super) fn walk(&self, bytes: &[u8], mut found: impl FnMut(usize, Step)) {
        let mut base = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let Some(cell) = self.cells.get((base ^ u32::from(byte)) as usize) else {
                return;
            };
            if !cell.step.is_behind(byte) {
                return;
            }
            found(at + 1, cell.step);
            base = cell.base;
        }
    }
}

/// Strings that begin alike: the byte that comes next, and which they are.
type Family = (u8, Range<usize>);

/// Those strings of a range, all longer than `depth`, that have the same byte there.
fn families(strings: &[Word], depth: usize, range: Range<usize>) -> Vec<Family> {
    let byte = |at: usize| strings[at].to_le_bytes()[depth];
    let mut families: Vec<Family> = Vec::new();
    for at in range {
        match families.last_mut() {
            Some((last, strings)) if *last == byte(at) => strings.end = at + 1,
            _ => families.push((byte(at), at..at + 1)),
        }
    }
    families
}

/// The array while it grows.
struct Cells {
    cells: Vec<Cell>,
    /// Which bases are taken.
    taken: Vec<bool>,
    /// By number of children: where there was a place for so many the last time.
    last: [usize; BYTES + 1],
}

impl Cells {
    /// Of the single bytes.
    fn new() -> Cells {
        let mut cells = vec![EMPTY; 2 * BYTES];
        for (byte, cell) in (0..=u8::MAX).zip(&mut cells) {
            cell.step = Step::node(byte).of_string(usize::from(byte), 1);
        }
        Cells {
            cells,
            taken: vec![false; 2 * BYTES],
            last: [2 * BYTES; BYTES + 1],
        }
    }

    /// A base for a node with these children, at least one.
    fn base_for(&mut self, children: &[Family]) -> usize {
        let bytes = || children.iter().map(|&(byte, _)| usize::from(byte));
        let first = bytes().next().unwrap_or_default();
        let mut at = self.last[children.len()];
        loop {
            if at == self.cells.len() {
                self.cells.resize(at + BYTES, EMPTY);
                self.taken.resize(at + BYTES, false);
            }
            let base = at ^ first;
            if !self.taken[base] && bytes().all(|byte| self.cells[base ^ byte].step == Step::NONE) {
                self.taken[base] = true;
                self.last[children.len()] = at;
                return base;
            }
            at += 1;
        }
    }
}
