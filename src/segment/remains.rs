//! A segment's file that may be damaged: whose it is, and what it says of itself.
#![deny(clippy::indexing_slicing)]

use super::block::{self, At, Block, measure};
use super::dictionary::Dictionary;
use super::footer::Footer;
use super::open::{SegmentRef, read_any_header};
use super::part::read_dictionary;
use super::{Form, old};
use crate::error::{Error, Result};
use crate::header::{self, Header, StoreId, VERSION};
use crate::vfs::{File, Vfs, Window};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a header ends that does not tell: no version has another.
const HEADER: u64 = 52;

/// The most bytes that a block has: it ends with the entry that brings it to about
/// 5 KiB, and a key has less than 64 KiB, which codes may double.
pub(super) const MAX_BLOCK: u64 = 256 << 10;

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
        let header_len = header.as_ref().map_or(HEADER, |header| header.len);
        let footer = match Footer::read(&*file, path, size, header_len) {
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

    /// The form of its blocks, if header and footer or the first block tell. That a block
    /// of one form passes for one of another takes more than its checksum: lengths and
    /// orders must fit too.
    pub(crate) fn form(&self, vfs: &dyn Vfs) -> Option<Form> {
        match (self.header(), self.footer()) {
            (Some(header), Some(footer)) => return Some(Form::of(header.version, footer.records)),
            (None, Some(footer)) if footer.dictionary.is_some() => {
                let records = footer.records;
                return Some(Form::Packed { records });
            }
            (None, Some(footer)) if !footer.records => return Some(Form::Old(old::Form::Bare)),
            _ => {}
        }
        self.first_block(vfs, |form, _| form)
    }

    /// The form where nothing tells it, but for what is left: of the store's own kind.
    pub(super) fn likely_form(&self, stamps: bool) -> Form {
        let version = match (self.header(), self.footer()) {
            (Some(header), _) => header.version,
            (None, Some(footer)) if footer.dictionary.is_none() => old::LAST,
            _ => VERSION,
        };
        Form::of(
            version,
            self.footer().map_or(stamps, |footer| footer.records),
        )
    }

    /// Whether entries of the store have times, as far as the footer or the first block
    /// tells. Tombstones without any times beside them can be of either kind of store.
    pub(crate) fn stamps(&self, vfs: &dyn Vfs) -> Option<bool> {
        if let Some(footer) = self.footer() {
            return Some(footer.stamps);
        }
        self.first_block(vfs, |form, block| match form {
            form if form.is_bare() => Some(false),
            Form::Old(old::Form::Millis) => Some(true),
            _ => has_times(&block).then_some(true),
        })?
    }

    /// What the first block tells, if it is intact.
    fn first_block<T>(&self, vfs: &dyn Vfs, read: impl FnOnce(Form, Block<'_>) -> T) -> Option<T> {
        let file = self.file(vfs).ok()?;
        let mut window = Window::new(file.clone(), self.size);
        let known = self.header().map(|header| Form::of(header.version, false));
        let is_old = |form: &Form| matches!(form, Form::Old(_));
        for form in Form::ALL {
            if known.is_some_and(|known| is_old(&known) != is_old(&form)) {
                continue;
            }
            let Ok((dictionary, at)) = self.dictionary(&*file, form, &mut Vec::new()) else {
                continue;
            };
            let bytes = window.get(at, MAX_BLOCK);
            let block = measure(bytes, form, &dictionary).and_then(|len| bytes.get(..len));
            let Some(bytes) = block else {
                continue;
            };
            let (stored, computed) = block::checksums(bytes, at);
            let block = Block::parse(bytes, form, &dictionary);
            if let Ok(block) = block
                && stored == computed
                && block.check(None).is_ok()
            {
                return Some(read(form, block));
            }
        }
        None
    }

    /// The dictionary, and where blocks begin. If the first part is damaged, that is told
    /// to `harmless` where the second one is intact.
    pub(super) fn dictionary(
        &self,
        file: &dyn File,
        form: Form,
        harmless: &mut Vec<Error>,
    ) -> Result<(Dictionary, u64)> {
        let header_len = self.header().map_or(HEADER, |header| header.len);
        if let Form::Old(_) = form {
            return Ok((Dictionary::plain(), header_len));
        }
        let again = self.footer().and_then(|footer| footer.dictionary);
        let end = self.footer().map_or(self.size, Footer::footer_at);
        let first = read_dictionary(file, &self.path, header_len, end);
        match (first, again) {
            (Ok((dictionary, len)), _) => {
                if let Some(again) = again {
                    let second = read_dictionary(file, &self.path, again.offset, end);
                    harmless.extend(second.err());
                }
                Ok((dictionary, header_len + len))
            }
            (Err(damage), Some(again)) => {
                let second = read_dictionary(file, &self.path, again.offset, end);
                let (dictionary, len) = second.map_err(|_| damage.clone())?;
                harmless.push(damage);
                Ok((dictionary, header_len + len))
            }
            (Err(damage), _) => Err(damage),
        }
    }

    /// Why nothing tells whose the file is, if that is because the disk does not give it.
    pub(crate) fn unread(&self) -> Option<&Error> {
        match (&self.header, &self.footer) {
            (Err(error @ Error::Io { .. }), Err(_)) => Some(error),
            _ => None,
        }
    }
}

/// Whether an entry of a block has a time.
fn has_times(block: &Block<'_>) -> bool {
    let (mut at, mut key) = (At::Start, Vec::new());
    while let Ok(Some((stored, next))) = block.step(at, &mut key) {
        if stored.first().is_some() {
            return true;
        }
        at = next;
    }
    false
}
