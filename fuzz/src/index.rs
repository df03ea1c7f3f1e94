//! Any bytes as an index: where it leads for a key, or it is refused.

mod old;
mod tree;

use super::answers::neighbours;
use super::bytes::{Source, edit};
use super::front::common;
use super::memory_bound::bounded;
use seendb::fuzz::{self, BlockPlace, Led};

/// Separators in order with where their blocks are.
pub type Blocks = Vec<(Vec<u8>, BlockPlace)>;

/// Where the first block is.
const BEGIN: u64 = 52;

/// The blocks that an index of a version names, one way or the other.
pub fn read(bytes: &[u8], version: u8) -> Option<Blocks> {
    match version {
        ..=3 => old::read(bytes),
        _ => tree::read(bytes),
    }
}

/// The bytes of an index of a version.
pub fn write(blocks: &Blocks, version: u8) -> Vec<u8> {
    match version {
        ..=3 => old::write(blocks),
        _ => tree::write(blocks, tree::SHAPE),
    }
}

/// The input's own bytes, or a sound index that is changed in places.
pub fn index(input: &[u8]) {
    let mut script = Source::new(input);
    let version = if script.rarely(4) { 3 } else { 4 };
    let blocks = blocks(&mut script);
    let (_, (at, len)) = blocks.last().cloned().unwrap_or((vec![], (BEGIN, 0)));
    let (mut count, mut room) = (blocks.len() as u64, (BEGIN, at + len - BEGIN));
    let choice = script.below(12);
    let mut bytes = match choice {
        11 => script.take(usize::MAX).to_vec(),
        // Nodes that are not full, or narrow ones whose entries share too much.
        10 => {
            let shape = tree::Shape {
                fanout: [2, 5, 63, 64][script.below(4)],
                narrow: 255,
            };
            tree::write(&blocks, shape)
        }
        _ => write(&blocks, version),
    };
    if version == 4 {
        assert!(fuzz::Index::build(&blocks).unwrap() == write(&blocks, 4));
    }
    if script.rarely(9) {
        count = script.number(count);
        room = (script.number(room.0), script.number(room.1));
    }
    let edits = script.below(4);
    let is_own = choice < 10 && edits == 0;
    for _ in 0..edits {
        edit(&mut script, &mut bytes);
    }
    let known = |bytes: &[u8], found: &[BlockPlace], end| {
        fuzz::Index::is_known(bytes, version.into(), found, BEGIN..=BEGIN, end)
    };
    let places: Vec<_> = blocks.iter().map(|(_, place)| *place).collect();
    let found = bounded(bytes.len(), || {
        let all = known(&bytes, &places, at + len);
        assert!(!is_own || blocks.is_empty() || all);
        ask(&bytes, version, count, room, &blocks)
    });
    assert!(found || !is_own || count != blocks.len() as u64 || room != (BEGIN, at + len - BEGIN));
}

/// Blocks whose separators ascend from an empty one.
fn blocks(script: &mut Source<'_>) -> Blocks {
    // Enough for several nodes, and levels.
    let more = match script.below(32) {
        0..20 => 0,
        20..31 => script.below(200),
        _ => 64 * (62 + script.below(4)) + script.below(3),
    };
    let mut separators = std::collections::BTreeSet::new();
    let mut separator = Vec::new();
    for _ in 0..script.below(30) {
        separator.truncate(script.below(separator.len() + 1));
        let len = 1 + script.below(5);
        separator.extend(script.take(len));
        if script.rarely(30) {
            separator.resize(separator.len() + script.below(1000), b'a');
        }
        if script.rarely(20) {
            separator.resize(253 + script.below(5), b'a');
            separators.insert(separator.clone());
            separator.pop();
            separator.push(b'a' + script.u8() % 4);
        }
        separators.insert(separator.clone());
    }
    let more = (0..more as u16).map(|number| [b"h", &number.to_be_bytes()[..]].concat());
    separators.extend(more);
    separators.insert(Vec::new());
    if script.rarely(30) {
        separators.clear();
    }
    let mut at = BEGIN;
    let place = |separator| {
        let len = 5 + u64::from(script.u16());
        at += len;
        (separator, (at - len, len))
    };
    separators.into_iter().map(place).collect()
}

/// Whether it is sound: then every key is led to the last block whose separator is not above
/// it, and else it is refused.
fn ask(bytes: &[u8], version: u8, count: u64, room: BlockPlace, keys: &Blocks) -> bool {
    let naive = read(bytes, version).filter(|blocks| fill(blocks, count, room));
    let index = fuzz::Index::parse(bytes, version.into(), count, room);
    assert_eq!(index.is_ok(), naive.is_some(), "{index:?}");
    let (Ok(index), Some(blocks)) = (index, naive) else {
        return false;
    };
    for (ordinal, (_, place)) in blocks.iter().enumerate() {
        assert_eq!(index.nth(ordinal), Ok(Some(*place)));
    }
    assert_eq!(index.nth(blocks.len()), Ok(None));
    let keys = keys.iter().chain(&blocks).map(|(separator, _)| separator);
    for key in keys.take(100).chain([&b"~".to_vec(), &vec![b'a'; 600]]) {
        for probe in neighbours(key).iter().chain([key]) {
            let above = blocks.partition_point(|(separator, _)| separator <= probe);
            let led = above.checked_sub(1).map(|ordinal| {
                let (separator, place) = &blocks[ordinal];
                Led {
                    ordinal,
                    place: *place,
                    separator: separator.len(),
                    matched: common(separator, probe),
                }
            });
            assert_eq!(index.locate(probe), Ok(led), "{probe:?}");
        }
    }
    true
}

/// Whether so many blocks fill the room, and their separators ascend from an empty one.
fn fill(blocks: &Blocks, count: u64, room: BlockPlace) -> bool {
    let mut at = Some(room.0);
    let mut last: Option<&[u8]> = None;
    for (separator, (offset, len)) in blocks {
        if at != Some(*offset) || *len <= 4 || last.is_none() != separator.is_empty() {
            return false;
        }
        if last.is_some_and(|last| last >= separator.as_slice()) {
            return false;
        }
        at = offset.checked_add(*len);
        last = Some(separator);
    }
    // 64 blocks take less than 4 GiB.
    let small = |blocks: &[(Vec<u8>, BlockPlace)]| {
        let (_, (offset, len)) = &blocks[blocks.len() - 1];
        offset + len - blocks[0].1.0 <= u32::MAX.into()
    };
    let fills = at.is_some() && at == room.0.checked_add(room.1);
    fills && blocks.chunks(64).all(small) && blocks.len() as u64 == count
}
