//! The sum of the segments' sizes overflowed in `verify`.

use crate::support::{expect_refused, with_manifest};
use crate::targets::files::MUST;
use crate::targets::sample::Sample;

#[test]
fn it_is_refused() {
    let vfs = with_manifest(Sample::get(true), |manifest| {
        for (tag, value) in &mut manifest.fields.0 {
            if *tag == 7 | MUST {
                value[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
            }
        }
    });
    expect_refused(&vfs, "less than 2^64 bytes");
}
