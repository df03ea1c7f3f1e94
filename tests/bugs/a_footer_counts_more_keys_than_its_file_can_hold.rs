//! `len` believed a footer's number of keys: the sum over segments overflowed.

use crate::support::expect_refused;
use crate::targets::parts::{COUNTS, Parts};
use crate::targets::sample::{Sample, path};
use crate::targets::segment::rename;

#[test]
fn it_is_refused() {
    let sample = Sample::get(true);
    let vfs = sample.vfs.copy();
    for which in [0, 1] {
        let name = sample.name(".seg", which);
        let whole = sample.file(&name);
        let mut parts = Parts::read(&whole);
        let counts = parts.footer.0.iter_mut().find(|(tag, _)| *tag == COUNTS);
        counts.unwrap().1[..8].copy_from_slice(&(u64::MAX / 2 + 9).to_le_bytes());
        let bytes = parts.write();
        rename(&vfs, &name, &whole, &bytes);
        vfs.put(&path(&name), bytes);
    }
    expect_refused(&vfs, "counts fit each other and the file");
}
