//! A segment's file that may be damaged: whose it is, and what it says of itself.
#![deny(clippy::indexing_slicing)]

use super::Form;
use super::block::{self, Block, measure};
use super::footer::Footer;
use super::open::{SegmentRef, read_any_header};
use crate::error::{Error, Result};
use crate::header::{self, Header, StoreId};
use crate::vfs::{File, Vfs, Window};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where blocks begin if the header does not tell: behind one of this version.
const BLOCKS_AT: u64 = 52;

/// The most bytes that a block has: it ends with the entry that brings it to about
/// 4 KiB, and a key has less than 64 KiB.
pub(super) const MAX_BLOCK: u64 = 128 << 10;

/// A segment that was looked at, without its blocks. Its file is opened again when they
/// are read: a store has more segments than a process may have files open.
#[derive(Debug)]
pub(crate) struct Remains {
    pub(super) path: PathBuf,
    /// Of the file; what is behind the size that the manifest names does not count.
    pub(super) size: u64,
    pub(super) header: Result<Header>,
    pub(super) footer: Result<Footer>,
    /// The store that the header names, be it damaged or not.
    claimed: Option<StoreId>,
}

impl Remains {
    /// Looks at the file. Damage is no error here; what this build does not know is one.
    pub(crate) fn open(vfs: &dyn Vfs, path: &Path, expect: Option<&SegmentRef>) -> Result<Remains> {
        let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
        let size = file
            .len()
            .map_err(|e| Error::io("find the length of", path, e))?;
        let size = expect.map_or(size, |named| named.size.min(size));
        let known = |error: &Error| !matches!(error, Error::UnsupportedFormat { .. });
        let header = match read_any_header(&*file, path) {
            Err(error) if !known(&error) => return Err(error),
            header => header,
        };
        let blocks_at = header.as_ref().map_or(BLOCKS_AT, |header| header.len);
        let footer = match Footer::read(&*file, path, size, blocks_at) {
            Err(error) if !known(&error) => return Err(error),
            footer => footer,
        };
        let claimed = match &header {
            Ok(header) => Some(header.store),
            Err(_) => header::claimed(&*file),
        };
        Ok(Remains {
            path: path.to_path_buf(),
            size,
            header,
            footer,
            claimed,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn header(&self) -> Option<&Header> {
        self.header.as_ref().ok()
    }

    pub(crate) fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref().ok()
    }

    /// The file, to read blocks from.
    pub(super) fn file(&self, vfs: &dyn Vfs) -> Result<Arc<dyn File>> {
        let file = vfs.open(&self.path);
        file.map_err(|e| Error::io("open", &self.path, e))
    }

    /// The store that the header names, be it damaged or not.
    pub(crate) fn claimed(&self) -> Option<StoreId> {
        self.claimed
    }

    /// The form of its blocks, if header and footer or the first block tell. A block of
    /// one form never passes for one of another: its first entry shares nothing and has a
    /// suffix, so that the two numbers it begins with cannot be read as something else.
    pub(crate) fn form(&self, vfs: &dyn Vfs) -> Option<Form> {
        match (self.header(), self.footer()) {
            (Some(header), Some(footer)) => return Some(Form::of(header.version, footer.records)),
            (None, Some(footer)) if !footer.records => return Some(Form::Bare),
            _ => {}
        }
        self.first_block(vfs, |form, _| form)
    }

    /// Whether entries of the store have times, as far as the footer or the first block
    /// tells. Tombstones without any times beside them can be of either kind of store.
    pub(crate) fn stamps(&self, vfs: &dyn Vfs) -> Option<bool> {
        if let Some(footer) = self.footer() {
            return Some(footer.stamps);
        }
        self.first_block(vfs, |form, block| match form {
            Form::Bare => Some(false),
            Form::Millis => Some(true),
            Form::Records => has_times(&block).then_some(true),
        })?
    }

    /// What the first block tells, if it is intact.
    fn first_block<T>(&self, vfs: &dyn Vfs, read: impl FnOnce(Form, Block<'_>) -> T) -> Option<T> {
        let at = self.blocks_at();
        let mut window = Window::new(self.file(vfs).ok()?, self.size);
        let bytes = window.get(at, MAX_BLOCK);
        let (form, block) = Form::ALL.into_iter().find_map(|form| {
            let bytes = bytes.get(..measure(bytes, form)?)?;
            let (stored, computed) = block::checksums(bytes, at);
            let block = Block::parse(bytes, form).ok()?;
            (stored == computed && block.check().is_ok()).then_some((form, block))
        })?;
        Some(read(form, block))
    }

    /// Why nothing tells whose the file is, if that is because the disk does not give it.
    pub(crate) fn unread(&self) -> Option<&Error> {
        match (&self.header, &self.footer) {
            (Err(error @ Error::Io { .. }), Err(_)) => Some(error),
            _ => None,
        }
    }

    pub(super) fn blocks_at(&self) -> u64 {
        self.header().map_or(BLOCKS_AT, |header| header.len)
    }
}

/// Whether an entry of a block has a time.
fn has_times(block: &Block<'_>) -> bool {
    let (mut at, mut key) = (0, Vec::new());
    while let Ok(Some((stored, next))) = block.step(at, &mut key) {
        if stored.first().is_some() {
            return true;
        }
        at = next;
    }
    false
}
