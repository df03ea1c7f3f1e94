//! The sum of the segments' sizes overflowed in `verify`, or with the bytes of the logs.

use crate::support::{expect_refused, with_manifest};
use crate::targets::files::MUST;
use crate::targets::sample::Sample;

#[test]
fn it_is_refused() {
    for (segments, size) in [(2, u64::MAX), (1, u64::MAX - 2_000), (1, 1 << 62)] {
        let vfs = with_manifest(Sample::get(true), |manifest| {
            let fields = manifest.fields.0.iter_mut();
            let runs = fields.filter(|(tag, _)| *tag == 7 | MUST);
            for (_, value) in runs.take(segments) {
                value[8..16].copy_from_slice(&size.to_le_bytes());
            }
        });
        expect_refused(&vfs, "bytes in all");
    }
}
