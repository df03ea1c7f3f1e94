//! If the version in the header of a log of version 1 was damaged so that it said 2, a repair
//! took its times, which are milliseconds, for seconds. The header's checksum tells which
//! version it was.

use crate::targets::sample::{Kind, Sample, builder, builder_at, path};
use std::ops::ControlFlow;

#[test]
fn the_checksum_tells() {
    let sample = Sample::of(Kind::Old);
    let name = sample.name(".log", 0);
    let vfs = sample.vfs.copy();
    let mut bytes = sample.file(&name);
    bytes[8] = 2;
    vfs.put(&path(&name), bytes);
    let report = builder(&vfs).repair_into("/repaired", &mut |_| ControlFlow::Continue(()));
    assert!(!report.unwrap().damage.is_empty());
    let seen = builder_at(&vfs, "/repaired").open().unwrap();
    let entries = sample.entries(sample.batches.len());
    assert!(seen.scan("").unwrap().map(Result::unwrap).eq(entries));
}
