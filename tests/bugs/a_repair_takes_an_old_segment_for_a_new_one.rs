//! A repair that could not tell the form of a segment's blocks, as the first one was damaged,
//! took them for those of the present version, and lost them all with the dictionary that
//! there was none of. The header says the version, and a footer whether it has one.

use crate::targets::memory::Memory;
use crate::targets::old::downgrade;
use crate::targets::sample::{DIR, builder, builder_at, path};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const KEYS: u64 = 900;

#[test]
fn whose_footer_and_first_block_are_lost() {
    let vfs = Arc::new(Memory::default());
    let seen = builder(&vfs).create().unwrap();
    let key = |i: u64| {
        format!(
            "https://example.com/{i:04}/{:016x}",
            i.wrapping_mul(i << 40 | 77)
        )
    };
    seen.insert_many(&(0..KEYS).map(key).collect::<Vec<_>>())
        .unwrap();
    seen.close().unwrap();
    downgrade(&vfs);
    let files = vfs.all(Path::new(DIR));
    let name = files.keys().find(|name| name.ends_with(".seg")).unwrap();
    let mut bytes = files[name].to_vec();
    bytes[100] ^= 1;
    bytes.truncate(bytes.len() - 10);
    vfs.put(&path(name), bytes);
    let report = builder(&vfs).repair_into("/repaired", &mut |_| ControlFlow::Continue(()));
    assert_eq!(report.unwrap().lost.len(), 1);
    let left = builder_at(&vfs, "/repaired")
        .open_read_only()
        .unwrap()
        .len();
    assert!((KEYS / 2..KEYS).contains(&left), "{left}");
}
