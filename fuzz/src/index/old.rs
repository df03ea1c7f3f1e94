//! The index of versions 1 to 3.

use super::super::front;
use super::Blocks;

/// The blocks that an index names, read as docs/format.md says.
pub fn read(bytes: &[u8]) -> Option<Blocks> {
    let entries = front::read(bytes, 2)?;
    let block = |(separator, numbers): front::Entry| (separator, (numbers[0], numbers[1]));
    Some(entries.into_iter().map(block).collect())
}

/// The bytes of an index.
pub fn write(blocks: &Blocks) -> Vec<u8> {
    let entry = |(separator, (offset, len)): &(Vec<u8>, (u64, u64))| {
        (separator.clone(), vec![*offset, *len])
    };
    front::write(&blocks.iter().map(entry).collect::<Vec<_>>())
}
