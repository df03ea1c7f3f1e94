//! A segment of a store without times whose records have some made a repair fail. As those
//! of logs, they are passed by.

use crate::targets::files::varint;
use crate::targets::sample::{Sample, builder, builder_at, path};
use crate::targets::segment::{Parts, rename};
use std::ops::ControlFlow;

#[test]
fn they_are_passed_by() {
    let sample = Sample::get(false);
    let name = sample.name(".seg", 1);
    let whole = sample.file(&name);
    let mut parts = Parts::read(&whole);
    let block = &mut parts.blocks[0];
    // Codec, base and no payloads; then what the first entry shares, and its length.
    let rest = varint(varint(&block[3..]).unwrap().1).unwrap().1;
    let code = block.len() - rest.len();
    assert_eq!(block[code] & 7, 0, "a key that was seen");
    block[code] = 5 << 3 | 1;
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
