//! An open segment: its index and filter in memory, its blocks read as needed.
#![deny(clippy::indexing_slicing)]

use super::block::{self, Block};
use super::footer::Footer;
use super::index::{Index, Located};
use super::{Cursor, Fault, Form, Meta, Place, bad_checksum};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::header::{StoreId, malformed};
use crate::record::Stored;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::thread_local;
use crate::vfs::{File, Map, prefetch, read_exact_at};
use crate::wire::Malformed;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

/// The answer of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) record: Option<Stored>,
    /// Bytes of the block that was read.
    pub(crate) bytes: u64,
}

/// A segment that is open for reading.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(super) file: Arc<dyn File>,
    pub(super) path: PathBuf,
    pub(super) store: StoreId,
    pub(super) footer: Footer,
    pub(super) form: Form,
    pub(super) index: Index,
    /// Where blocks begin.
    pub(super) blocks_at: u64,
    pub(super) meta: Meta,
    pub(super) filter: Filter,
    pub(super) map: Option<Mapped>,
}

/// The file's bytes, and which blocks of them were verified.
#[derive(Debug)]
pub(super) struct Mapped {
    map: Box<dyn Map>,
    /// One bit a block. A bit is set after the block's bytes were checked, and
    /// these do not change, so that no order between the two is needed.
    verified: Vec<AtomicU64>,
}

/// Cache lines of a block that are asked for before it is searched.
const PREFETCH_LINES: usize = 80;

thread_local! {
    /// For blocks that are read with calls.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Segment {
    pub(crate) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The seed of the hashes that the filter takes.
    pub(crate) fn seed(&self) -> u64 {
        self.footer.seed
    }

    /// The text of the policy that the keys were made under.
    pub(crate) fn policy(&self) -> &str {
        &self.footer.policy
    }

    /// Whether entries of its store have times.
    pub(crate) fn stamps(&self) -> bool {
        self.footer.stamps
    }

    /// Whether its entries have records.
    pub(crate) fn has_records(&self) -> bool {
        self.footer.records
    }

    /// Whether `key` lies in the segment's range.
    #[inline]
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        self.meta.keys > 0 && key >= self.meta.first.as_slice() && key <= self.meta.last.as_slice()
    }

    #[inline]
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Bytes of memory for the index and the marks of verified blocks.
    pub(crate) fn memory_index(&self) -> usize {
        let marks = self.map.as_ref().map_or(0, |m| m.verified.len() * 8);
        self.index.memory() + marks
    }

    /// Looks a key up in the one block that can hold it.
    pub(crate) fn find(&self, key: &[u8]) -> Result<Found> {
        match self.locate(key)? {
            Some(located) => self.find_at(located, key),
            None => Ok(Found {
                record: None,
                bytes: 0,
            }),
        }
    }

    /// The first half of [`find`](Segment::find): where the key's block is. The
    /// block is asked for, so that a batch can locate all of its keys first.
    pub(crate) fn locate(&self, key: &[u8]) -> Result<Option<Located>> {
        let located = self.index.locate(key).map_err(|m| self.bad_index(m))?;
        if let (Some(mapped), Some(located)) = (&self.map, located)
            && mapped.is_verified(located.ordinal)
            && let Some(bytes) = mapped.bytes(located.place)
        {
            // Which lines a search touches is known only step by step, and each
            // step would wait for memory: ask for all of a block of usual size.
            for line in bytes.chunks(64).take(PREFETCH_LINES) {
                prefetch(line.as_ptr());
            }
        }
        Ok(located)
    }

    /// The second half of [`find`](Segment::find).
    pub(crate) fn find_at(&self, located: Located, key: &[u8]) -> Result<Found> {
        let place = located.place;
        let record = match &self.map {
            Some(mapped) => {
                let bytes = self.mapped_block(mapped, located)?;
                self.find_in(bytes, place, key)?
            }
            None => BUFFER.with(|buffer| {
                let buffer = &mut *buffer.borrow_mut();
                self.read_verified(place, buffer)?;
                self.find_in(buffer, place, key)
            })?,
        };
        Ok(Found {
            record,
            bytes: place.len,
        })
    }

    #[inline]
    fn find_in(&self, bytes: &[u8], place: Place, key: &[u8]) -> Result<Option<Stored>> {
        Block::parse(bytes, self.form)
            .and_then(|block| block.find(key))
            .map_err(|fault| self.bad_block(fault, place))
    }

    #[inline]
    fn mapped_block<'a>(&self, mapped: &'a Mapped, located: Located) -> Result<&'a [u8]> {
        let Some(bytes) = mapped.bytes(located.place) else {
            return Err(Error::corrupt(
                &self.path,
                located.place.offset,
                format!("a block of {} bytes", located.place.len),
                "the end of the file",
            ));
        };
        if !mapped.is_verified(located.ordinal) {
            self.first_use(mapped, located, bytes)?;
        }
        Ok(bytes)
    }

    /// Brings a block into memory with one request that can fail, and verifies it.
    #[cold]
    fn first_use(&self, mapped: &Mapped, located: Located, bytes: &[u8]) -> Result<()> {
        let offset = usize::try_from(located.place.offset).unwrap_or(usize::MAX);
        mapped
            .map
            .populate(offset, bytes.len())
            .map_err(|e| Error::io("read", &self.path, e))?;
        self.check_block(bytes, located.place.offset)?;
        if let Some(word) = mapped.verified.get(located.ordinal / 64) {
            word.fetch_or(1 << (located.ordinal % 64), Relaxed);
        }
        Ok(())
    }

    /// Reads a block with a call and verifies it.
    pub(super) fn read_verified(&self, place: Place, buffer: &mut Vec<u8>) -> Result<()> {
        self.read(place, buffer)?;
        self.check_block(buffer, place.offset)
    }

    /// Reads bytes that the index or the footer names, and that therefore lie
    /// within the file.
    pub(super) fn read(&self, place: Place, buffer: &mut Vec<u8>) -> Result<()> {
        let len = usize::try_from(place.len).unwrap_or(usize::MAX);
        buffer.resize(len, 0);
        read_exact_at(&*self.file, buffer, place.offset)
            .map_err(|e| Error::io("read", &self.path, e))
    }

    pub(super) fn check_block(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let (stored, computed) = block::checksums(bytes, offset);
        if stored == computed {
            return Ok(());
        }
        Err(bad_checksum(
            &self.path, offset, "a block", stored, computed,
        ))
    }

    pub(super) fn bad_block(&self, fault: Fault, place: Place) -> Error {
        fault.into_error(&self.path, place.offset)
    }

    pub(super) fn bad_index(&self, m: Malformed) -> Error {
        malformed(&self.path, self.footer.index.place.offset, m)
    }

    /// All entries in order, read with calls and verified.
    pub(crate) fn cursor(self: &Arc<Self>) -> Cursor {
        Cursor::new(Arc::clone(self))
    }
}

impl Mapped {
    pub(super) fn new(map: Box<dyn Map>, blocks: usize) -> Mapped {
        let words = blocks.div_ceil(64);
        Mapped {
            map,
            verified: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    #[inline]
    fn bytes(&self, place: Place) -> Option<&[u8]> {
        let start = usize::try_from(place.offset).ok()?;
        let end = usize::try_from(place.end()?).ok()?;
        self.map.bytes().get(start..end)
    }

    #[inline]
    fn is_verified(&self, ordinal: usize) -> bool {
        self.verified
            .get(ordinal / 64)
            .is_some_and(|word| word.load(Relaxed) >> (ordinal % 64) & 1 == 1)
    }
}
