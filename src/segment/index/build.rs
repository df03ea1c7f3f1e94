//! Writes an index.

use super::super::Place;
use super::super::packed::{self, common};
use super::node::{FANOUT, HEAD, WIDE};

/// A node that is being filled.
#[derive(Debug, Default)]
struct Filling {
    list: packed::Builder,
    strings: Vec<u8>,
    places: Vec<u8>,
    /// The separator of its first entry, and that of its last.
    first: Vec<u8>,
    last: Vec<u8>,
    /// Blocks before it, and where the first of its own is.
    before: u64,
    base: u64,
}

impl Filling {
    fn push(&mut self, separator: &[u8], place: u32) {
        if self.list.entries() == 0 {
            self.first.clear();
            self.first.extend_from_slice(separator);
            self.list.push(0, 0, 0);
        } else {
            let shared = common(&self.last, separator);
            let suffix = separator.get(shared..).unwrap_or_default();
            let (first, rest) = suffix.split_first().unwrap_or((&0, &[]));
            self.list.push(shared, *first, rest.len());
            self.strings.extend_from_slice(rest);
        }
        self.places.extend_from_slice(&place.to_le_bytes());
        self.last.clear();
        self.last.extend_from_slice(separator);
    }

    /// The bytes that the node would have.
    fn size(&self) -> usize {
        let entries = self.list.entries();
        HEAD + 4 * entries + packed::Rows::size(entries, false) + self.strings.len()
    }

    /// Appends the node, and begins another.
    fn write(&mut self, level: u8, out: &mut Vec<u8>) {
        out.push(self.list.entries() as u8);
        out.push(if self.list.is_wide() { WIDE } else { 0 });
        out.push(level);
        out.push(0);
        // At most 64 keys.
        out.extend_from_slice(&(self.strings.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.before.to_le_bytes());
        out.extend_from_slice(&self.base.to_le_bytes());
        out.extend_from_slice(&self.places);
        self.list.finish(out);
        out.extend_from_slice(&self.strings);
        self.strings.clear();
        self.places.clear();
        self.base = 0;
    }
}

/// Writes an index, leaf by leaf.
#[derive(Debug, Default)]
pub(in crate::segment) struct Builder {
    nodes: Vec<u8>,
    /// The nodes that are being filled: a leaf, and one of each level above it.
    levels: Vec<Filling>,
    blocks: u64,
    /// A number was too large for its place.
    too_large: bool,
}

impl Builder {
    /// Adds a block, whose separator is above the last one's and empty for the first.
    pub(in crate::segment) fn push(&mut self, separator: &[u8], place: Place) {
        // Full nodes are ended only now, as the last node of all is the root. Each level that
        // this fills is ended too, before nodes come that are not below it.
        let mut level = 0;
        while self.is_full(level) {
            self.end_node(level);
            level += 1;
        }
        if self.levels.is_empty() {
            self.levels.push(Filling::default());
        }
        let Some(leaf) = self.levels.first_mut() else {
            return;
        };
        if leaf.list.entries() == 0 {
            leaf.before = self.blocks;
            leaf.base = place.offset;
        }
        let end = place.offset.wrapping_add(place.len).wrapping_sub(leaf.base);
        let end = u32::try_from(end).unwrap_or_else(|_| {
            self.too_large = true;
            0
        });
        leaf.push(separator, end);
        self.blocks += 1;
    }

    pub(in crate::segment) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// About the bytes that the index has so far.
    pub(in crate::segment) fn size(&self) -> usize {
        let filling: usize = self.levels.iter().map(Filling::size).sum();
        self.nodes.len() + filling + 4
    }

    fn is_full(&self, level: usize) -> bool {
        let filling = self.levels.get(level);
        filling.is_some_and(|filling| filling.list.entries() == FANOUT)
    }

    /// Writes the node of a level, and enters it in the one above, which has room.
    fn end_node(&mut self, level: usize) {
        if self.levels.len() == level + 1 {
            self.levels.push(Filling::default());
        }
        let Some([node, above]) = self.levels.get_mut(level..level + 2) else {
            return;
        };
        let at = u32::try_from(self.nodes.len()).unwrap_or_else(|_| {
            self.too_large = true;
            0
        });
        if above.list.entries() == 0 {
            above.before = node.before;
        }
        node.write(level as u8, &mut self.nodes);
        above.push(&node.first, at);
    }

    /// Appends the index to `out`. False if it is too large.
    #[must_use]
    pub(in crate::segment) fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            self.end_node(level);
            level += 1;
        }
        // What is left is the root.
        let at = self.nodes.len();
        if let Some(root) = self.levels.get_mut(level) {
            root.write(level as u8, &mut self.nodes);
            let at = u32::try_from(at).unwrap_or_else(|_| {
                self.too_large = true;
                0
            });
            self.nodes.extend_from_slice(&at.to_le_bytes());
        }
        out.append(&mut self.nodes);
        !self.too_large
    }
}
