//! A segment in two runs was counted twice by `len`, and removed once by a merge while
//! it was still named; a log named twice was read twice.

use crate::support::{expect_refused, with_manifest};
use crate::targets::files::MUST;
use crate::targets::sample::Sample;

#[test]
fn it_is_refused() {
    let sample = Sample::get(true);
    for tag in [7 | MUST, 8 | MUST] {
        let vfs = with_manifest(sample, |manifest| {
            let fields = &mut manifest.fields.0;
            let named = fields.iter().find(|(known, _)| *known == tag);
            let again = named.unwrap().clone();
            fields.push(again);
        });
        expect_refused(&vfs, "each file named once");
    }
}
