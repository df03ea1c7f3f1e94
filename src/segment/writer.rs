//! Writes a segment, from keys in order.
//!
//! What is held in memory: one block, the index, 8 bytes a key for the filter,
//! the dictionary, and a buffer for writes. Lookups come to a file only once it is complete, so
//! that nothing is synced before the end.

use super::coder::Coder;
use super::footer::{Footer, Piece};
use super::packed::common;
use super::part::{Part, dictionary_part};
use super::{MAX_KEY, Meta, Place, block, checksum, index};
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::filter::{self, FilterKind};
use crate::header::{self, FileKind, StoreId};
use crate::record::Stored;
use crate::vfs::{File, Vfs, write_all_at};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Writes are at least this large, but for the last.
const WRITE: usize = 256 << 10;

/// What a segment is made for.
#[derive(Debug, Clone)]
pub(crate) struct Params {
    pub(crate) store: StoreId,
    pub(crate) number: u64,
    /// Of the store's hash.
    pub(crate) seed: u64,
    pub(crate) policy: String,
    /// Whether entries of the store have times.
    pub(crate) stamps: bool,
    /// Whether entries have records; those without times need them for tombstones only.
    pub(crate) records: bool,
    /// Segments of the run before this one.
    pub(crate) place: u32,
    pub(crate) filter: FilterKind,
    /// Of the filter.
    pub(crate) filter_size: filter::Size,
    /// How its keys are coded, if all of them were sampled for it; and by what.
    pub(crate) codec: Option<Codec>,
    pub(crate) coder: Arc<Coder>,
    /// About how many bytes a block has.
    pub(crate) block_size: usize,
    pub(crate) sequences: (u64, u64),
    /// The segments that this one is merged from.
    pub(crate) inputs: Vec<u64>,
    pub(crate) position: Option<u64>,
}

/// The size of blocks unless something speaks for another: a page.
pub(crate) const DEFAULT_BLOCK_SIZE: usize = 4096;

/// A segment that is being written. One that was dropped or failed leaves its
/// file behind, for the caller to remove.
#[derive(Debug)]
pub(crate) struct Writer {
    sink: Sink,
    params: Params,
    block: block::Builder,
    index: index::Builder,
    filter: filter::Builder,
    /// The last key of the last block.
    block_before: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    keys: u64,
    key_bytes: u64,
}

impl Writer {
    /// Begins a segment in a new file.
    pub(crate) fn create(vfs: &dyn Vfs, path: &Path, params: Params) -> Result<Writer> {
        let file = vfs.create(path).map_err(|e| Error::io("create", path, e))?;
        let mut sink = Sink::new(file, path);
        let header = header::encode(FileKind::Segment, params.store, params.number, &[]);
        sink.buffer.extend_from_slice(&header);
        let dictionary = dictionary_part(params.coder.dictionary(), sink.at());
        sink.buffer.extend_from_slice(&dictionary);
        Ok(Writer {
            sink,
            block: block::Builder::new(params.coder.clone(), params.records, params.block_size),
            index: index::Builder::default(),
            filter: filter::Builder::new(params.filter, params.filter_size),
            block_before: Vec::new(),
            first: Vec::new(),
            last: Vec::new(),
            keys: 0,
            key_bytes: 0,
            params,
        })
    }

    /// Adds a key, which must be above the last one.
    pub(crate) fn add(&mut self, key: &[u8], record: Stored) -> Result<()> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(self.sink.refuse("a key must have 1 to 65,535 bytes"));
        }
        if self.keys > 0 && key <= self.last.as_slice() {
            return Err(self.sink.refuse("a key must be above the one before"));
        }
        if !self.params.records && record != Stored::Seen(None) {
            return Err(self.sink.refuse("only plain keys go without records"));
        }
        if let Some(entries) = self.block.cut() {
            self.end_block(entries)?;
        }
        if self.keys == 0 {
            set(&mut self.first, key);
        }
        self.block.push(key, record);
        self.filter.add(filter::hash(self.params.seed, key));
        set(&mut self.last, key);
        self.keys += 1;
        self.key_bytes += key.len() as u64;
        Ok(())
    }

    /// Keys so far.
    pub(crate) fn keys(&self) -> u64 {
        self.keys
    }

    /// About how many bytes the file would have if it ended here.
    pub(crate) fn size(&self) -> u64 {
        self.sink.at()
            + self.block.size() as u64
            + self.index.size() as u64
            + self.filter.size()
            + (self.first.len() + self.last.len()) as u64
    }

    /// Ends the file and makes it durable; its directory is left to the caller. The last of
    /// a run says so.
    pub(crate) fn finish(mut self, is_last: bool) -> Result<Meta> {
        while self.block.waiting() > 0 {
            let entries = self.block.cut().unwrap_or(self.block.waiting());
            self.end_block(entries)?;
        }
        let mut bytes = Vec::new();
        if !self.index.finish(&mut bytes) {
            return Err(self.sink.refuse("its index is larger than 4 GiB"));
        }
        let index = self.sink.part(&bytes)?;
        drop(bytes);
        let filter = self
            .filter
            .finish()
            .map_err(|e| Error::io("allocate memory for the filter of", &self.sink.path, e))?;
        let filter_part = self.sink.part(filter.bytes())?;
        let dictionary = dictionary_part(self.params.coder.dictionary(), self.sink.at());
        let dictionary = self.sink.part(&dictionary)?.place;
        let (content, at) = self.sink.content()?;
        let footer = Footer {
            seed: self.params.seed,
            policy: self.params.policy,
            stamps: self.params.stamps,
            records: self.params.records,
            piece: Some(Piece {
                place: self.params.place,
                is_last,
            }),
            first: self.first,
            last: self.last,
            sequences: self.params.sequences,
            position: self.params.position,
            keys: self.keys,
            blocks: self.index.blocks(),
            key_bytes: self.key_bytes,
            inputs: self.params.inputs,
            content,
            index,
            filter: filter_part,
            parameters: filter.parameters(),
            dictionary: Some(dictionary),
            codec: self.params.codec,
        };
        let size = self.sink.end(&footer.encode(at))?;
        Ok(Meta {
            number: self.params.number,
            size,
            content,
            keys: self.keys,
            first: footer.first,
            last: footer.last,
            sequences: footer.sequences,
            position: footer.position,
        })
    }

    /// Writes the block of the first entries that wait.
    fn end_block(&mut self, entries: usize) -> Result<()> {
        // Before the block goes to the buffer, so that an error changes nothing.
        self.sink.flush(WRITE)?;
        let first = self.block.key(0);
        let separator = if self.index.blocks() == 0 {
            &[]
        } else {
            // It is above `block_before`, so it is longer than what they share.
            let len = common(&self.block_before, first) + 1;
            first.get(..len).unwrap_or(first)
        };
        let (separator, len) = (separator.to_vec(), separator.len());
        set(&mut self.block_before, self.block.key(entries - 1));
        let offset = self.sink.at();
        if !self
            .block
            .finish(entries, len, offset, &mut self.sink.buffer)
        {
            return Err(self
                .sink
                .refuse("the records of a block are larger than 16 MiB"));
        }
        let place = Place {
            offset,
            len: self.sink.at() - offset,
        };
        self.index.push(&separator, place);
        Ok(())
    }
}

/// Copies into memory that is there already.
fn set(to: &mut Vec<u8>, from: &[u8]) {
    to.clear();
    to.extend_from_slice(from);
}

/// The file, written in large pieces and hashed on the way.
struct Sink {
    file: Arc<dyn File>,
    path: PathBuf,
    buffer: Vec<u8>,
    /// Bytes that are in the file.
    written: u64,
    hash: Xxh3,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink")
            .field("path", &self.path)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl Sink {
    fn new(file: Arc<dyn File>, path: &Path) -> Sink {
        Sink {
            file,
            path: path.to_path_buf(),
            buffer: Vec::with_capacity(WRITE + 2 * DEFAULT_BLOCK_SIZE),
            written: 0,
            hash: Xxh3::new(),
        }
    }

    /// The offset of what is written next.
    fn at(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Writes the buffer if it holds at least `from` bytes. After an error the
    /// bytes are still there.
    fn flush(&mut self, from: usize) -> Result<()> {
        if self.buffer.len() < from {
            return Ok(());
        }
        self.write(&self.buffer)?;
        self.hash.update(&self.buffer);
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        write_all_at(&*self.file, bytes, self.written)
            .map_err(|e| Error::io("write to", &self.path, e))
    }

    /// Writes a part that is large already.
    fn part(&mut self, bytes: &[u8]) -> Result<Part> {
        self.flush(1)?;
        let offset = self.written;
        self.write(bytes)?;
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        Ok(Part {
            place: Place {
                offset,
                len: bytes.len() as u64,
            },
            crc: checksum(offset, bytes),
        })
    }

    /// The hash of all bytes so far, and their number.
    fn content(&mut self) -> Result<(u128, u64)> {
        self.flush(1)?;
        Ok((self.hash.digest128(), self.written))
    }

    /// Writes the last bytes, makes the file durable and answers its size.
    fn end(self, bytes: &[u8]) -> Result<u64> {
        self.write(bytes)?;
        self.file
            .sync()
            .map_err(|e| Error::io("sync", &self.path, e))?;
        Ok(self.written + bytes.len() as u64)
    }

    /// The error for input that no segment can hold: a bug of the caller.
    fn refuse(&self, why: &'static str) -> Error {
        let source = io::Error::new(io::ErrorKind::InvalidInput, why);
        Error::io("write the segment", &self.path, source)
    }
}
