//! A log whose first frame does not follow what is in segments was refused by a writer
//! and by `verify`, and taken by a reader.

use crate::support::{expect_refused, with_manifest};
use crate::targets::files::MUST;
use crate::targets::sample::Sample;

#[test]
fn it_is_refused() {
    let vfs = with_manifest(Sample::get(true), |manifest| {
        manifest.fields.set(5 | MUST, &1u64.to_le_bytes());
    });
    expect_refused(&vfs, "logs that follow one another");
}
