//! A frame's time was taken as it was and cut to 48 bits in memory, so that a store gave
//! another time than its log has. It is damage.

use crate::support::expect_refused;
use crate::targets::files::{Header, frame_crc, u64_at};
use crate::targets::sample::{Sample, path};

#[test]
fn it_is_refused() {
    let sample = Sample::get(true);
    let name = sample.name(".log", 0);
    let mut log = sample.file(&name);
    let (header, end) = Header::read(&log);
    let id = u64_at(&header.fields.0[0].1, 0);
    let frame = end.next_multiple_of(8);
    let size = 24 + u64_at(&log, frame + 4) as u32 as usize;
    let time = frame + 25;
    log[time..time + 8].copy_from_slice(&(1u64 << 48).to_le_bytes());
    let crc = frame_crc(id, &log[frame + 4..frame + size.next_multiple_of(8)]);
    log[frame..frame + 4].copy_from_slice(&crc.to_le_bytes());
    let vfs = sample.vfs.copy();
    vfs.put(&path(&name), log);
    expect_refused(&vfs, "a time of 48 bits");
}
