//! Without a manifest and footers, a store without times whose segments have tombstones was
//! repaired as one that has times, even if the caller said that it has none.

use crate::targets::sample::{DIR, Sample, builder, builder_at, path};
use seendb::Canon;
use std::ops::ControlFlow;
use std::path::Path;

#[test]
fn what_the_caller_says_counts() {
    let sample = Sample::get(false);
    let vfs = sample.vfs.copy();
    for (name, bytes) in vfs.all(Path::new(DIR)) {
        let mut bytes = bytes.to_vec();
        if name == "MANIFEST" {
            bytes.clear();
        } else if name.ends_with(".seg") {
            bytes.truncate(bytes.len() - 30);
        }
        vfs.put(&path(&name), bytes);
    }
    let builder = builder(&vfs).canon(Canon::raw()).stamps(false);
    let report = builder.repair_into("/repaired", &mut |_| ControlFlow::Continue(()));
    assert!(report.unwrap().entries > 0);
    let seen = builder_at(&vfs, "/repaired").open().unwrap();
    let mut records = seen.scan("").unwrap().map(|entry| entry.unwrap().1);
    assert!(records.all(|record| record.first_seen.is_none()));
}
