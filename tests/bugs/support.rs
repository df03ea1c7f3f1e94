//! Stores whose files say something else than what was written to them.

use crate::targets::answers::expect_typed;
use crate::targets::files::{Header, frame_crc, u64_at};
use crate::targets::memory::Memory;
use crate::targets::sample::{Sample, builder, path};
use seendb::vfs::Vfs;
use seendb::{Error, Seen};
use std::path::Path;
use std::sync::Arc;

/// The store of a sample with another manifest.
pub(crate) fn with_manifest(sample: &Sample, change: impl FnOnce(&mut Header)) -> Arc<Memory> {
    let vfs = sample.vfs.copy();
    let (mut header, _) = Header::read(&sample.file("MANIFEST"));
    change(&mut header);
    vfs.put(&path("MANIFEST"), header.write());
    vfs
}

/// The store of a sample whose log has one frame with this body.
pub(crate) fn with_log(sample: &Sample, body: &[u8]) -> Arc<Memory> {
    let vfs = sample.vfs.copy();
    let name = sample.name(".log", 0);
    let whole = sample.file(&name);
    let (header, end) = Header::read(&whole);
    let (id, first) = (&header.fields.0[0].1, &header.fields.0[1].1);
    let at = end.next_multiple_of(8);
    let mut frame = (body.len() as u32).to_le_bytes().to_vec();
    frame.extend(first);
    frame.extend((at as u64).to_le_bytes());
    frame.extend(body);
    frame.resize((4 + frame.len()).next_multiple_of(8) - 4, 0);
    let crc = frame_crc(u64_at(id, 0), &frame);
    let log = [&whole[..at], &crc.to_le_bytes(), &frame].concat();
    vfs.put(&path(&name), log);
    vfs
}

/// Opens a copy for reading, and one for writing.
pub(crate) fn open(vfs: &Arc<Memory>) -> [Result<Seen, Error>; 2] {
    [
        builder(&vfs.copy()).open_read_only(),
        builder(&vfs.copy()).open(),
    ]
}

/// Opening, and `verify`, refuse the store with an error that says `words`.
pub(crate) fn expect_refused(vfs: &Arc<Memory>, words: &str) {
    let as_vfs: Arc<dyn Vfs> = vfs.clone();
    let verified = match seendb::fuzz::verify(&as_vfs, Path::new(crate::targets::sample::DIR)) {
        Ok(report) => report.damage.into_iter().next().unwrap(),
        Err(error) => error,
    };
    let opened = open(vfs).map(Result::unwrap_err);
    for error in opened.iter().chain([&verified]) {
        expect_typed(error);
        assert!(error.to_string().contains(words), "{error}");
    }
}
