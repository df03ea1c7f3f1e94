//! The index: which block a key belongs to.
//!
//! A tree whose leaves name blocks. Each block has a separator: the shortest key that is
//! above the last key of the block before and not above the first key of its own; that of
//! the first block is empty. A node has up to 64 separators as packed keys.
//!
//! ```text
//! nodes           see `node`, one behind the other: each behind those that it names
//! root     u32    the offset of the last node, the root
//! ```
//!
//! An index without blocks has no bytes.
//!
//! It is kept in memory as it is stored. A search goes from the root to a leaf, and hands
//! down how many bytes of the key the separator before has in common with it, so that no
//! byte is compared twice.
#![deny(clippy::indexing_slicing)]

mod build;
mod check;
mod node;
#[cfg(test)]
mod tests;

pub(super) use build::Builder;
pub(super) use check::{BEGIN, begins_index, is_index_of};

use super::Place;
use super::packed::{Probe, Spot};
use crate::vfs::HugeBytes;
use crate::wire::Malformed;
use node::{FANOUT, Node, prefetch_node};

/// More levels than an index of 4 GiB can have.
const MAX_LEVEL: u8 = 16;

/// The index of an open segment.
#[derive(Debug)]
pub(super) struct Index {
    bytes: HugeBytes,
    len: usize,
    root: usize,
    blocks: usize,
}

/// Where a key's block is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    /// Which one it is, counted from 0.
    pub(super) ordinal: usize,
    pub(super) place: Place,
    /// The length of its separator, and how many bytes of that the key begins with.
    pub(super) separator: usize,
    pub(super) matched: usize,
}

impl Index {
    /// Takes an index as it was read, after checking that it names exactly `blocks` blocks
    /// that fill the part of the file at `room`, and that a search can rely on it.
    pub(super) fn new(
        bytes: HugeBytes,
        len: usize,
        blocks: u64,
        room: Place,
    ) -> Result<Index, Malformed> {
        let stored = bytes.as_slice().get(..len).unwrap_or_default();
        let (root, blocks) = check::check(stored, blocks, room)?;
        Ok(Index {
            bytes,
            len,
            root,
            blocks,
        })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn memory(&self) -> usize {
        self.len
    }

    #[inline]
    fn stored(&self) -> &[u8] {
        self.bytes.as_slice().get(..self.len).unwrap_or_default()
    }

    /// The block that holds a key if any does: the last whose separator is not above it.
    /// `None` only if there are no blocks.
    #[inline]
    pub(super) fn locate(&self, probe: &Probe<'_>) -> Result<Option<Located>, Malformed> {
        if self.blocks == 0 {
            return Ok(None);
        }
        let index = self.stored();
        let (mut at, mut matched, mut separator) = (self.root, 0, 0);
        loop {
            let node = Node::read(index, at)?;
            // The first separator is that of the node above.
            let behind_first = Spot {
                entry: 1,
                pieces: 0,
            };
            let floor = node.list.floor(probe, behind_first, matched);
            matched = floor.matched;
            if floor.entry > 0 {
                let rows = &node.list.rows;
                separator = rows.shared(floor.entry) + 1 + rows.pieces(floor.entry);
            }
            let malformed = Malformed {
                at,
                expected: "a node with that entry",
            };
            if node.is_leaf() {
                let before = usize::try_from(node.before).map_err(|_| malformed)?;
                return Ok(Some(Located {
                    ordinal: before + floor.entry,
                    place: node.block(floor.entry).ok_or(malformed)?,
                    separator,
                    matched,
                }));
            }
            // Nodes lie behind those that they name, so that this ends.
            let child = node.child(floor.entry).filter(|&child| child < at);
            at = child.ok_or(malformed)?;
            prefetch_node(index, at);
        }
    }

    /// The block of that number. `None` behind the last.
    pub(super) fn nth(&self, ordinal: usize) -> Result<Option<Place>, Malformed> {
        if ordinal >= self.blocks {
            return Ok(None);
        }
        let index = self.stored();
        let mut at = self.root;
        loop {
            let node = Node::read(index, at)?;
            let malformed = Malformed {
                at,
                expected: "a node with that entry",
            };
            let before = usize::try_from(node.before).map_err(|_| malformed)?;
            let within = ordinal.checked_sub(before).ok_or(malformed)?;
            if node.is_leaf() {
                return node.block(within).map(Some).ok_or(malformed);
            }
            // All nodes but the last of a level are full.
            let each = FANOUT.saturating_pow(node.level.into());
            let child = node.child(within / each).filter(|&child| child < at);
            at = child.ok_or(malformed)?;
        }
    }
}
