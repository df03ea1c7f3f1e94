//! The index of version 4.

use super::super::files::{u32_at, u64_at};
use super::super::front::common;
use super::Blocks;
use seendb::fuzz::BlockPlace;

/// The most entries of a node.
const FANOUT: usize = 64;

/// What an index is written by.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Entries of a node.
    pub fanout: usize,
    /// The most bytes that entries of narrow columns share.
    pub narrow: u16,
}

/// As docs/format.md has it.
pub const SHAPE: Shape = Shape {
    fanout: FANOUT,
    narrow: 254,
};

/// The blocks that an index names, read as docs/format.md says; `None` if some of it is not
/// as it says. That the blocks fill their room is not looked at.
pub fn read(bytes: &[u8]) -> Option<Blocks> {
    let mut tree = Tree {
        nodes: bytes.get(..bytes.len().saturating_sub(4))?,
        next: 0,
        blocks: Blocks::new(),
    };
    if bytes.is_empty() {
        return Some(tree.blocks);
    }
    if bytes.len() < 4 {
        return None;
    }
    let root = u32_at(bytes, bytes.len() - 4) as usize;
    let level = *tree.nodes.get(root..)?.get(2)?;
    if level > 16 {
        return None;
    }
    tree.node(root, level, &[])?;
    (tree.next == tree.nodes.len()).then_some(tree.blocks)
}

struct Tree<'a> {
    nodes: &'a [u8],
    /// Where the next node must begin, in the order in which they are left.
    next: usize,
    blocks: Blocks,
}

impl Tree<'_> {
    /// Reads the node at an offset, whose first separator is known, and all below it.
    fn node(&mut self, at: usize, level: u8, separator: &[u8]) -> Option<()> {
        let (head, rest) = self.nodes.get(at..)?.split_at_checked(24)?;
        let (entries, size) = (usize::from(head[0]), 1 + usize::from(head[1]));
        let (strings, before, base) = (u32_at(head, 4), u64_at(head, 8), u64_at(head, 16));
        let sound =
            (1..=FANOUT).contains(&entries) && size <= 2 && head[2] == level && head[3] == 0;
        if !sound || before != self.blocks.len() as u64 {
            return None;
        }
        let (places, rest) = rest.split_at_checked(4 * entries)?;
        let (shared, rest) = rest.split_at_checked(size * entries)?;
        let (first, rest) = rest.split_at_checked(entries)?;
        let (pieces, rest) = rest.split_at_checked(size * entries)?;
        let mut pieces_left = rest.get(..strings as usize)?;
        let number = |column: &[u8], entry: usize| match size {
            1 => usize::from(column[entry]),
            _ => usize::from(column[2 * entry]) | usize::from(column[2 * entry + 1]) << 8,
        };
        if (number(shared, 0), first[0], number(pieces, 0)) != (0, 0, 0) {
            return None;
        }
        if size == 1 && shared.contains(&255) {
            return None;
        }
        let mut key = separator.to_vec();
        let mut begin = 0;
        for entry in 0..entries {
            if entry > 0 {
                let (suffix, rest) = pieces_left.split_at_checked(number(pieces, entry))?;
                pieces_left = rest;
                let start = key.get(..number(shared, entry))?;
                let next = [start, &first[entry..=entry], suffix].concat();
                if next <= key || common(&key, &next) != start.len() || next.len() > 65_535 {
                    return None;
                }
                key = next;
            }
            let place = u32_at(places, 4 * entry);
            if level == 0 {
                let len = place.checked_sub(begin)?;
                let offset = base.checked_add(begin.into())?;
                self.blocks.push((key.clone(), (offset, len.into())));
                begin = place;
                continue;
            }
            let below = place as usize;
            if below >= at {
                return None;
            }
            self.node(below, level - 1, &key)?;
            let full = FANOUT
                .checked_pow(level.into())
                .and_then(|each| each.checked_mul(entry + 1));
            let so_far = self.blocks.len() - before as usize;
            if entry + 1 < entries && full != Some(so_far) {
                return None;
            }
        }
        if !pieces_left.is_empty() || self.next != at {
            return None;
        }
        self.next += 24 + 4 * entries + (2 * size + 1) * entries + strings as usize;
        Some(())
    }
}

/// The bytes of an index.
pub fn write(blocks: &Blocks, shape: Shape) -> Vec<u8> {
    let mut out = Vec::new();
    if blocks.is_empty() {
        return out;
    }
    let mut level = 0;
    while shape.fanout.pow(level + 1) < blocks.len() {
        level += 1;
    }
    let root = write_node(blocks, 0, level, shape, &mut out);
    out.extend(root.to_le_bytes());
    out
}

/// Appends the node of these blocks, behind those below it. Where it begins.
fn write_node(
    blocks: &[(Vec<u8>, BlockPlace)],
    before: usize,
    level: u32,
    shape: Shape,
    out: &mut Vec<u8>,
) -> u32 {
    let each = shape.fanout.pow(level);
    let base = if level == 0 { blocks[0].1.0 } else { 0 };
    let (mut separators, mut places): (Vec<&[u8]>, Vec<u32>) = Default::default();
    for (which, group) in blocks.chunks(each).enumerate() {
        separators.push(&group[0].0);
        let (offset, len) = group[0].1;
        places.push(match level {
            0 => (offset.wrapping_add(len).wrapping_sub(base)) as u32,
            _ => write_node(group, before + which * each, level - 1, shape, out),
        });
    }
    let (mut shared, mut first, mut pieces) = (vec![0], vec![0], vec![0]);
    let mut strings: Vec<u8> = Vec::new();
    for pair in separators.windows(2) {
        let most = common(pair[0], pair[1]);
        let suffix = &pair[1][most..];
        shared.push(most as u16);
        first.push(suffix.first().copied().unwrap_or(0));
        let rest = suffix.get(1..).unwrap_or_default();
        pieces.push(rest.len() as u16);
        strings.extend(rest);
    }
    let wide = shared.iter().any(|&n| n > shape.narrow) || pieces.iter().any(|&n| n > 255);
    let column = |numbers: Vec<u16>| {
        let bytes = numbers.into_iter().map(u16::to_le_bytes);
        bytes.flat_map(move |bytes| bytes.into_iter().take(if wide { 2 } else { 1 }))
    };
    let at = out.len() as u32;
    out.extend([places.len() as u8, wide.into(), level as u8, 0]);
    out.extend((strings.len() as u32).to_le_bytes());
    out.extend((before as u64).to_le_bytes());
    out.extend(base.to_le_bytes());
    out.extend(places.iter().flat_map(|place| place.to_le_bytes()));
    out.extend(column(shared));
    out.extend(first);
    out.extend(column(pieces));
    out.extend(strings);
    at
}
