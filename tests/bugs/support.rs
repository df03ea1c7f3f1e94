//! Stores whose files say something else than what was written to them.

use crate::targets::files::Header;
use crate::targets::memory::Memory;
use crate::targets::sample::{Sample, builder, expect_typed, path};
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
