//! In a log, the record of a key that was seen was taken whatever kind of state it said that
//! it replaces, and a number above all kinds counted as none. It is damage, as it is for
//! other records.

use crate::support::{expect_refused, with_log};
use crate::targets::sample::Sample;

#[test]
fn it_is_refused() {
    for replaces in [5, 31] {
        let head = 1 | replaces << 3;
        // No flags, and a put of the key "a" with a record of six bytes.
        let body = [0, 2, 1, b'a', 6, head, 1, 0, 0, 0, 0];
        let vfs = with_log(Sample::get(true), &body);
        expect_refused(&vfs, "the kind of a state that is replaced");
    }
}
