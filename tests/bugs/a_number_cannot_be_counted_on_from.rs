//! Numbers of files and frames at the ends of their range were counted on from, or back
//! to the one before: opening, or the next write, panicked.

use crate::support::{expect_refused, with_manifest};
use crate::targets::files::{Header, MUST};
use crate::targets::sample::{Sample, path};

#[test]
fn it_is_refused() {
    let sample = Sample::get(true);
    for tag in [4 | MUST, 5 | MUST] {
        for number in [0u64, 1 << 62, u64::MAX] {
            if (tag, number) == (4 | MUST, 0) {
                // No file has a number below the first.
                continue;
            }
            let vfs = with_manifest(sample, |manifest| {
                manifest.fields.set(tag, &number.to_le_bytes());
            });
            expect_refused(&vfs, "the number of the next f");
        }
    }
    // A repair, which takes what an intact manifest says of its logs, counted on too.
    for number in [0u64, 1 << 62, u64::MAX] {
        let vfs = with_manifest(sample, |manifest| {
            let fields = manifest.fields.0.iter_mut();
            for (_, log) in fields.filter(|(tag, _)| *tag == 8 | MUST) {
                log[8..16].copy_from_slice(&number.to_le_bytes());
            }
        });
        expect_refused(&vfs, "the number of a log's first frame");
    }
    let name = sample.name(".log", 0);
    for number in [0u64, 1 << 62, u64::MAX] {
        let whole = sample.file(&name);
        let (mut header, end) = Header::read(&whole);
        header.fields.set(2 | MUST, &number.to_le_bytes());
        let vfs = sample.vfs.copy();
        vfs.put(&path(&name), [&header.write(), &whole[end..]].concat());
        expect_refused(&vfs, "the number of its first frame");
    }
}
