//! An open segment: its index and filter in memory, its blocks read as needed.
#![deny(clippy::indexing_slicing)]

use super::block::{self, Block};
use super::dictionary::Dictionary;
use super::footer::Footer;
use super::index::{Index, Located};
use super::packed::{Probe, common};
use super::{Cursor, Fault, Form, Meta, Place, bad_checksum};
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::header::{StoreId, malformed};
use crate::record::Stored;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::thread_local;
use crate::vector::prefetch_lines;
use crate::vfs::{File, Map, read_exact_at};
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
    pub(super) dictionary: Arc<Dictionary>,
    /// Its bytes of memory, unless another segment answers for them.
    pub(super) own_dictionary: usize,
    pub(super) index: Index,
    /// Where blocks begin.
    pub(super) blocks_at: u64,
    pub(super) meta: Meta,
    pub(super) range: Range,
    pub(super) filter: Filter,
    pub(super) map: Option<Mapped>,
}

/// The range of keys, as far as a few bytes of its ends tell.
#[derive(Debug)]
pub(super) struct Range {
    /// What the first and the last key begin with.
    common: Vec<u8>,
    /// The heads of the rest of both.
    first: u64,
    last: u64,
}

impl Range {
    pub(super) fn new(first: &[u8], last: &[u8]) -> Range {
        let len = common(first, last);
        let rest = |key: &[u8]| head(key.get(len..).unwrap_or_default());
        Range {
            common: first.get(..len).unwrap_or_default().to_vec(),
            first: rest(first),
            last: rest(last),
        }
    }

    /// Whether a key lies in the range, if so little tells it.
    #[inline]
    fn surely_holds(&self, key: &[u8]) -> bool {
        key.strip_prefix(self.common.as_slice())
            .is_some_and(|rest| {
                let head = head(rest);
                head > self.first && head < self.last
            })
    }
}

/// The first eight bytes of a key as a number: of two keys whose heads differ, the one with
/// the lesser head is the lesser.
#[inline]
fn head(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let bytes = key.iter().chain(std::iter::repeat(&0)).take(8);
            bytes.fold(0, |head, &byte| head << 8 | u64::from(byte))
        }
    }
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

    /// How its keys were to be coded; `None` if it is of an older format, or of a codec that
    /// this build does not know.
    pub(crate) fn codec(&self) -> Option<Codec> {
        self.footer.codec
    }

    /// Whether `key` lies in the segment's range.
    #[inline]
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        self.range.surely_holds(key) || self.covers_closely(key)
    }

    #[inline(never)]
    fn covers_closely(&self, key: &[u8]) -> bool {
        self.meta.keys > 0 && key >= self.meta.first.as_slice() && key <= self.meta.last.as_slice()
    }

    #[inline]
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Bytes of memory for the index, the dictionary and the marks of verified blocks.
    pub(crate) fn memory_index(&self) -> usize {
        let marks = self.map.as_ref().map_or(0, |m| m.verified.len() * 8);
        self.index.memory() + self.own_dictionary + marks
    }

    /// Of those, for the dictionary; 0 if another segment of the run answers for it.
    pub(crate) fn own_dictionary(&self) -> usize {
        self.own_dictionary
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
        let located = self
            .index
            .locate(&Probe::new(key))
            .map_err(|m| self.bad_index(m))?;
        if let (Some(mapped), Some(located)) = (&self.map, located)
            && mapped.is_verified(located.ordinal)
            && let Some(bytes) = mapped.bytes(located.place)
        {
            // Which lines a search touches is known only step by step, and each
            // step would wait for memory: ask for all of a block of usual size.
            prefetch_lines(bytes, PREFETCH_LINES);
        }
        Ok(located)
    }

    /// The second half of [`find`](Segment::find).
    pub(crate) fn find_at(&self, located: Located, key: &[u8]) -> Result<Found> {
        let place = located.place;
        let record = match &self.map {
            Some(mapped) => {
                let bytes = self.mapped_block(mapped, located)?;
                self.find_in(bytes, located, key)?
            }
            None => BUFFER.with(|buffer| {
                let buffer = &mut *buffer.borrow_mut();
                self.read_verified(place, buffer)?;
                self.find_in(buffer, located, key)
            })?,
        };
        Ok(Found {
            record,
            bytes: place.len,
        })
    }

    #[inline]
    fn find_in(&self, bytes: &[u8], located: Located, key: &[u8]) -> Result<Option<Stored>> {
        self.parse(bytes)
            .and_then(|block| block.find(&Probe::new(key), located))
            .map_err(|fault| self.bad_block(fault, located.place))
    }

    #[inline]
    pub(super) fn parse<'a>(&'a self, bytes: &'a [u8]) -> std::result::Result<Block<'a>, Fault> {
        Block::parse(bytes, self.form, &self.dictionary)
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

    pub(crate) fn blocks(&self) -> usize {
        self.index.blocks()
    }

    /// The first key of the block of that number.
    pub(crate) fn first_key_of(&self, block: usize) -> Result<Option<Vec<u8>>> {
        let Some(place) = self.index.nth(block).map_err(|m| self.bad_index(m))? else {
            return Ok(None);
        };
        let (mut buffer, mut key) = (Vec::new(), Vec::new());
        self.read_verified(place, &mut buffer)?;
        self.parse(&buffer)
            .and_then(|block| block.step(block::At::Start, &mut key))
            .map_err(|fault| self.bad_block(fault, place))?;
        Ok(Some(key))
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
