//! Damaged stores, and what a repair of them left.

use super::{at, copy_dir, manual, names, place};
use seendb::{Lost, RepairReport, Seen};
use std::ops::{ControlFlow, Range};
use std::path::Path;

pub fn repair(from: &Path, into: &Path) -> RepairReport {
    Seen::repair(from, into, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// URLs in the order in which they are inserted: not that of keys.
pub fn urls(range: Range<u32>) -> Vec<String> {
    range
        .map(|i| {
            let mixed = i.wrapping_mul(0x9e37_79b1);
            // No dictionary makes that much shorter.
            let noise = u64::from(mixed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!(
                "https://www{}.example.com/{mixed:08x}/{i}/{noise:016x}",
                mixed % 13
            )
        })
        .collect()
}

/// Those of `urls` that a store does not have.
pub fn absent(store: &Seen, urls: &[String]) -> Vec<String> {
    let known = store.get_many(urls).unwrap();
    let absent = urls.iter().zip(known).filter(|(_, known)| known.is_none());
    absent.map(|(url, _)| url.clone()).collect()
}

/// Whether a key lies where a part of a segment was lost.
pub fn may_have_held(lost: &Lost, url: &str) -> bool {
    let key = url.as_bytes();
    lost.first_batch.is_none()
        && lost.last_batch.is_none()
        && lost.after.as_deref().is_none_or(|after| after < key)
        && lost.before.as_deref().is_none_or(|before| key < before)
}

pub fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

pub const IN_FIRST: u32 = 9_000;

pub const IN_SECOND: u32 = 12_000;

pub const IN_LOG: u32 = 12_200;

/// A store as a kill leaves it: a run of 9,000 keys in some segments, one of 3,000, and
/// 200 in the log, a batch each.
pub fn killed(path: &Path, stamps: bool) {
    let (_dir, original) = place();
    let seen = manual(&original).stamps(stamps).create().unwrap();
    for part in urls(0..IN_FIRST).chunks(3_000) {
        seen.insert_many(part).unwrap();
    }
    seen.flush().unwrap();
    seen.insert_many(&urls(IN_FIRST..IN_SECOND)).unwrap();
    seen.flush().unwrap();
    for url in urls(IN_SECOND..IN_LOG) {
        seen.insert(url).unwrap();
    }
    assert_eq!((seen.stats().runs, seen.len()), (2, u64::from(IN_LOG)));
    copy_dir(&original, path);
    assert!(names(path, ".seg").len() >= 4);
    assert_eq!(names(path, ".log").len(), 1);
}

/// Where the parts of a segment are: blocks end where the index begins.
pub struct Parts {
    pub index: usize,
    pub filter: usize,
    /// The second part with the dictionary.
    pub again: usize,
    pub footer: usize,
}

impl Parts {
    /// Where the first part with the dictionary ends: it is as long as the second.
    pub fn dictionary(&self) -> usize {
        52 + self.footer - self.again
    }
}

pub fn parts(bytes: &[u8]) -> Parts {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let footer = number(bytes.len() - 24);
    // Fields 11, 12 and 17: index, filter, and the dictionary's second part.
    let field = |tag: u8| {
        let mut at = footer;
        while bytes[at] != tag {
            at += 6 + u32::from_le_bytes(bytes[at + 2..at + 6].try_into().unwrap()) as usize;
        }
        number(at + 6)
    };
    Parts {
        index: field(11),
        filter: field(12),
        again: field(17),
        footer,
    }
}

/// A closed store with one segment of a few blocks, and no log.
pub fn one_segment(path: &Path, stamps: bool) -> Vec<String> {
    let urls = urls(0..600);
    let seen = manual(path).stamps(stamps).create().unwrap();
    seen.insert_many(&urls).unwrap();
    seen.close().unwrap();
    assert_eq!(names(path, ".seg").len(), 1);
    urls
}

/// A killed store with `count` batches in its log, each with its position, times ten.
pub fn only_a_log(path: &Path, count: u32, flushed: u32) {
    let (_dir, original) = place();
    let seen = manual(&original).create().unwrap();
    for (i, url) in urls(0..count).into_iter().enumerate() {
        let mut batch = seen.batch();
        batch.insert(url).unwrap();
        batch.position(10 * (i as u64 + 1)).at(at(1_000 + i as u64));
        seen.apply(batch).unwrap();
        if i + 1 == flushed as usize {
            seen.flush().unwrap();
        }
    }
    copy_dir(&original, path);
}

/// Where the frames of the log begin and end.
pub fn frames(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut at = 88;
    let mut frames = Vec::new();
    loop {
        let len = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        if len == 0 {
            return frames;
        }
        let end = (at + 24 + len).next_multiple_of(8);
        frames.push(at..end);
        at = end;
    }
}
