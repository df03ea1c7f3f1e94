//! A frame's time was taken as it was and cut to 48 bits in memory, so that a store gave
//! another time than its log has. It is damage; so are more than 40 bits of seconds.

use crate::support::{expect_refused, with_log};
use crate::targets::sample::{Kind, Sample};

#[test]
fn it_is_refused() {
    for (kind, bits) in [(Kind::Old, 48), (Kind::Records, 40)] {
        let time = (1u64 << bits).to_le_bytes();
        // The flag that a time follows, it, and an insert of the key "a".
        let body = [&[1], &time[..], &[1, 1, b'a']].concat();
        let vfs = with_log(Sample::of(kind), &body);
        expect_refused(&vfs, &format!("a time of {bits} bits"));
    }
}
