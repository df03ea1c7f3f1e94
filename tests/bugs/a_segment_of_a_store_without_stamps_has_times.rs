//! A segment of a store without times whose records have some made a repair fail. As those
//! of logs, they are passed by.

use crate::targets::parts::Parts;
use crate::targets::sample::{Sample, builder, builder_at, path};
use crate::targets::segment::rename;
use std::ops::ControlFlow;

#[test]
fn they_are_passed_by() {
    let sample = Sample::get(false);
    let name = sample.name(".seg", 1);
    let whole = sample.file(&name);
    let mut parts = Parts::read(&whole);
    // The width of values, and behind the head, the values: wider ones have room for a time.
    let block = &mut parts.blocks[0];
    let (count, width) = (usize::from(block[0]), usize::from(block[3]));
    let end = 16 + (count * width).div_ceil(8);
    let value = |entry| {
        let bits = (entry * width..(entry + 1) * width).rev();
        bits.fold(0, |value, bit| {
            value << 1 | block[16 + bit / 8] >> (bit % 8) & 1
        })
    };
    let mut values: Vec<u8> = (0..count).map(value).collect();
    assert_eq!((block[1], values[0]), (0, 0), "a key that was seen");
    values[0] = 5 << 3 | 1;
    block[3] = 8;
    block.splice(16..end, values);
    let bytes = parts.write();
    let vfs = sample.vfs.copy();
    rename(&vfs, &name, &whole, &bytes);
    vfs.put(&path(&name), bytes);
    let report = builder(&vfs).repair_into("/repaired", &mut |_| ControlFlow::Continue(()));
    assert!(report.unwrap().lost.is_empty());
    let seen = builder_at(&vfs, "/repaired").open().unwrap();
    let entries = sample.entries(sample.batches.len());
    assert!(seen.scan("").unwrap().map(Result::unwrap).eq(entries));
}
