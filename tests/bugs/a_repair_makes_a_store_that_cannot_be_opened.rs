//! Without a manifest, a repair counted on from the numbers of frames and files that it
//! met, however large: the manifest of the new store was refused.

use crate::targets::files::MUST;
use crate::targets::memory::Memory;
use crate::targets::parts::Parts;
use crate::targets::sample::{Sample, builder, builder_at, path};
use seendb::vfs::Vfs;
use seendb::{Canon, RepairReport};
use std::ops::ControlFlow;
use std::sync::Arc;

const SEQUENCES: u16 = 6 | MUST;

fn repaired(vfs: &Arc<Memory>) -> RepairReport {
    let builder = builder(vfs).canon(Canon::raw()).stamps(true);
    let report = builder.repair_into("/new", &mut |_| ControlFlow::Continue(()));
    let report = report.unwrap();
    let seen = builder_at(vfs, "/new").open().unwrap();
    assert_eq!(seen.len(), report.entries);
    assert!(seen.insert("one more").unwrap());
    seen.close().unwrap();
    report
}

#[test]
fn a_segment_of_frames_beyond_the_last_counts_as_one_without_a_footer() {
    let sample = Sample::get(true);
    let name = sample.name(".seg", 0);
    for last in [u64::MAX, 1 << 62] {
        let vfs = sample.vfs.copy();
        vfs.remove(&path("MANIFEST")).unwrap();
        let mut parts = Parts::read(&sample.file(&name));
        let value = [1u64.to_le_bytes(), last.to_le_bytes()].concat();
        parts.footer.set(SEQUENCES, &value);
        vfs.put(&path(&name), parts.write());
        let report = repaired(&vfs);
        let all = sample.entries(sample.batches.len());
        assert_eq!(report.entries, all.len() as u64);
    }
}

#[test]
fn a_file_beyond_the_last_number_is_none_of_the_store() {
    let sample = Sample::get(true);
    let whole = sample.file(&sample.name(".seg", 0));
    for number in [u64::MAX, (1 << 62) - 1] {
        let vfs = sample.vfs.copy();
        vfs.remove(&path("MANIFEST")).unwrap();
        let mut parts = Parts::read(&whole);
        parts.header.fixed[40..48].copy_from_slice(&number.to_le_bytes());
        vfs.put(&path(&format!("{number}.seg")), parts.write());
        repaired(&vfs);
    }
}
