//! What a search takes for granted of an index, and how one is told from other bytes.
#![deny(clippy::indexing_slicing)]

use super::super::packed::{Spot, common};
use super::super::{CRC, Place};
use super::MAX_LEVEL;
use super::node::{FANOUT, HEAD, Node, WIDE};
use crate::wire::{Malformed, Reader};
use std::ops::RangeInclusive;

/// Checks a whole index. Where its root is, and how many blocks it names.
pub(super) fn check(index: &[u8], blocks: u64, room: Place) -> Result<(usize, usize), Malformed> {
    let wrong = Malformed {
        at: index.len(),
        expected: "as many blocks as the footer says, up to the index",
    };
    if index.is_empty() {
        return if blocks == 0 && room.len == 0 {
            Ok((0, 0))
        } else {
            Err(wrong)
        };
    }
    let at = index.len().saturating_sub(4);
    let malformed = Malformed {
        at,
        expected: "the offset of the root",
    };
    let (nodes, root) = index.split_last_chunk::<4>().ok_or(malformed)?;
    let root = usize::try_from(u32::from_le_bytes(*root)).map_err(|_| malformed)?;
    let node = Node::read(nodes, root)?;
    if root + node.len != nodes.len() || node.level > MAX_LEVEL {
        return Err(malformed);
    }
    let mut walk = Walk {
        index: nodes,
        next_node: 0,
        next_block: room.offset,
        blocks: 0,
        last: None,
    };
    walk.node(root, node, &[])?;
    if walk.blocks != blocks || Some(walk.next_block) != room.end() {
        return Err(wrong);
    }
    let blocks = usize::try_from(walk.blocks).map_err(|_| wrong)?;
    Ok((root, blocks))
}

/// Goes over all nodes in the order of their separators.
struct Walk<'a> {
    index: &'a [u8],
    /// Where the next node lies, and the next block.
    next_node: usize,
    next_block: u64,
    blocks: u64,
    /// The separator of the last block.
    last: Option<Vec<u8>>,
}

impl Walk<'_> {
    fn node(&mut self, at: usize, node: Node<'_>, first: &[u8]) -> Result<(), Malformed> {
        let malformed = |expected| Malformed { at, expected };
        if node.before != self.blocks {
            return Err(malformed("a node with the next block"));
        }
        if !node.is_leaf() && node.base != 0 {
            return Err(malformed("no offset of a block in a node above the leaves"));
        }
        let rows = &node.list.rows;
        if (rows.shared(0), rows.first(0), rows.pieces(0)) != (0, 0, 0) {
            return Err(malformed("a node without a separator of its own"));
        }
        if rows.is_too_narrow() {
            return Err(malformed("a wide list, as an entry shares much"));
        }
        let mut key = first.to_vec();
        let mut spot = Spot {
            entry: 1,
            pieces: 0,
        };
        for entry in 0..node.entries() {
            if entry > 0 {
                let before = key.clone();
                let next = node.list.step(spot, &mut key)?;
                spot = next.ok_or(malformed("a node with all of its entries"))?;
                if key <= before || common(&before, &key) != rows.shared(entry) {
                    return Err(malformed("a separator that shares what it can"));
                }
            }
            if node.is_leaf() {
                self.block(at, &node, entry, &key)?;
            } else {
                self.child(at, &node, entry, &key)?;
            }
        }
        if rows.all_pieces() != node.list.strings.0.len() {
            return Err(malformed("as many bytes as the separators have"));
        }
        if at != self.next_node {
            return Err(malformed("a node that begins where the one before ends"));
        }
        self.next_node += node.len;
        Ok(())
    }

    fn block(
        &mut self,
        at: usize,
        node: &Node<'_>,
        entry: usize,
        key: &[u8],
    ) -> Result<(), Malformed> {
        let malformed = |expected| Malformed { at, expected };
        let first = self.last.is_none();
        if first != key.is_empty() || self.last.as_deref().is_some_and(|last| key <= last) {
            return Err(malformed("separators that ascend from an empty one"));
        }
        let place = node
            .block(entry)
            .filter(|place| place.offset == self.next_block && place.len > CRC as u64);
        let expected = "a block that begins where the one before ends";
        let end = place.and_then(Place::end).ok_or(malformed(expected))?;
        self.next_block = end;
        self.blocks += 1;
        self.last = Some(key.to_vec());
        Ok(())
    }

    fn child(
        &mut self,
        at: usize,
        node: &Node<'_>,
        entry: usize,
        key: &[u8],
    ) -> Result<(), Malformed> {
        let malformed = |expected| Malformed { at, expected };
        let below = "a node that names such as lie before it, a level below";
        let place = node.child(entry).filter(|&place| place < at);
        let place = place.ok_or(malformed(below))?;
        let child = Node::read(self.index, place)?;
        if child.level + 1 != node.level {
            return Err(malformed(below));
        }
        self.node(place, child, key)?;
        // Which child has a block is told by its number.
        let each = (FANOUT as u64).saturating_pow(node.level.into());
        let is_last = entry + 1 == node.entries();
        let full = (self.blocks - node.before) == each * (entry as u64 + 1);
        if is_last || full {
            return Ok(());
        }
        Err(malformed("full nodes before the last"))
    }
}

/// Bytes that tell whether an index begins.
pub(in crate::segment) const BEGIN: usize = HEAD + 4;

/// Whether `bytes` begin with the first node of an index whose first block begins in
/// `room`.
pub(in crate::segment) fn begins_index(bytes: &[u8], room: RangeInclusive<u64>) -> bool {
    let Some(begin) = bytes.first_chunk::<BEGIN>() else {
        return false;
    };
    let mut reader = Reader::new(begin);
    let mut byte = || reader.u8("a byte").unwrap_or(u8::MAX);
    let (entries, flags, level, zero) = (byte(), byte(), byte(), byte());
    let rest = reader.u32("a length").and_then(|_| {
        let before = reader.u64("a number of blocks")?;
        Ok((before, reader.u64("an offset")?, reader.u32("an end")?))
    });
    (1..=FANOUT).contains(&usize::from(entries))
        && (flags <= WIDE && level == 0 && zero == 0)
        && rest.is_ok_and(|(before, base, end)| {
            before == 0 && room.contains(&base) && end > CRC as u32
        })
}

/// Whether `bytes` begin with an index of blocks that end at `end`, among them all of
/// `found`. Its checksum need not be known: theirs say what they are, and that it names
/// them, that it is the index.
pub(in crate::segment) fn is_index_of(bytes: &[u8], found: &[Place], end: u64) -> bool {
    let (mut at, mut last, mut found) = (0, None, found.iter().peekable());
    while let Ok(node) = Node::read(bytes, at) {
        if node.is_leaf() {
            for entry in 0..node.entries() {
                let Some(place) = node.block(entry) else {
                    return false;
                };
                found.next_if_eq(&&place);
                last = place.end();
            }
        }
        let root = bytes.get(at + node.len..).and_then(<[u8]>::first_chunk);
        let root = root.map(|bytes| u32::from_le_bytes(*bytes));
        // The root is the last node, and its offset follows it.
        let is_root = root.is_some_and(|root| usize::try_from(root) == Ok(at));
        if is_root && found.peek().is_none() && last == Some(end) {
            return true;
        }
        at += node.len;
    }
    false
}
