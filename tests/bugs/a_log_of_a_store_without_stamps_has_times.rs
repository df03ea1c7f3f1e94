//! Times in the log of a store that keeps none were told until the next flush, and not
//! after it. They are never told.

use crate::support::{open, with_manifest};
use crate::targets::files::MUST;
use crate::targets::sample::Sample;

#[test]
fn they_are_passed_by() {
    let sample = Sample::get(true);
    let key = sample.batches[1].entries[0].0.clone();
    let vfs = with_manifest(sample, |manifest| {
        manifest.fields.set(2 | MUST, &[0]);
        // Segments say for themselves whether they have times.
        manifest.fields.0.retain(|(tag, _)| *tag != 7 | MUST);
    });
    for seen in open(&vfs) {
        let seen = seen.unwrap();
        assert_eq!(seen.get(&key).unwrap().unwrap().first_seen, None);
    }
}
