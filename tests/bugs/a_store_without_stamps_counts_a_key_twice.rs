//! In a store without times, a key that was put again while it was there counted once more
//! when the log was read.

use crate::targets::memory::Memory;
use crate::targets::sample::builder;
use seendb::State;
use std::sync::Arc;

#[test]
fn it_counts_once() {
    let vfs = Arc::new(Memory::default());
    let seen = builder(&vfs).stamps(false).open().unwrap();
    assert!(seen.put("https://example.com/", State::Seen).unwrap());
    assert!(!seen.put("https://example.com/", State::Seen).unwrap());
    assert_eq!(seen.len(), 1);
    // As a kill leaves it.
    let killed = vfs.copy();
    assert_eq!(builder(&killed).open_read_only().unwrap().len(), 1);
    let seen = builder(&killed).open().unwrap();
    assert_eq!((seen.len(), seen.stats().states.seen), (1, 1));
    assert!(seen.forget("https://example.com/").unwrap());
    assert!(seen.is_empty());
}
