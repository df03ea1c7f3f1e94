//! A segment: a sorted, immutable file of keys with its own filter.
//!
//! ```text
//! header      see `header`, magic "seenSEG\0", no fields
//! dictionary  the strings that keys are coded with, see `part` and `dictionary`
//! blocks      one after the other, see `block`
//! index       one separator a block, see `index`
//! filter      the bits of the filter, see `filter`
//! dictionary  again: without one, no key could be read
//! footer      tagged fields, see `footer`
//! tail        24 bytes: where the footer is, see `footer`
//! ```
//!
//! Nothing lies between the parts: each begins where the one before it ends.
//! The footer is written last, so that a file without one was never finished.
//! Segments of format versions 1 to 3 have no dictionary, see `old`.
//!
//! Every part has a CRC-32. Those of all but the header cover the part's offset in
//! the file (u64) before its bytes, so that a part that landed in another place is
//! noticed. The header's has its own form, see `header`.
//!
//! A segment is opened without reading a block. A block is verified when it is
//! used for the first time, or each time with [`Reads::Pread`]; whoever reads
//! all of it (merges, `verify`) always reads with calls and verifies.
//!
//! [`Reads::Pread`]: crate::options::Reads::Pread

mod block;
mod coder;
mod cursor;
mod dictionary;
mod fields;
mod footer;
mod form;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod index;
mod old;
mod open;
mod packed;
mod part;
mod reader;
mod remains;
mod salvage;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub(crate) use coder::{Coder, Sampler, allowed, dictionary_memory};
pub(crate) use cursor::Cursor;
pub(crate) use footer::Footer;
pub(crate) use form::Form;
pub(crate) use index::Located;
pub(crate) use open::{Origin, SegmentRef, origin};
pub(crate) use reader::{Found, Segment};
pub(crate) use remains::Remains;
pub(crate) use salvage::{Salvage, Step};
pub(crate) use writer::{DEFAULT_BLOCK_SIZE, Params, Writer};

use crate::error::Error;
use crate::header;
use crate::wire::Malformed;
use std::path::Path;

/// The name of segment number `number` in the store's directory.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:06}.seg")
}

/// The longest key in bytes.
const MAX_KEY: usize = u16::MAX as usize;

/// The size of a CRC-32.
const CRC: usize = 4;

/// What is known of a segment without reading its blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) number: u64,
    /// Of the file, in bytes.
    pub(crate) size: u64,
    /// The xxh3-128 of all bytes before the footer.
    pub(crate) content: u128,
    pub(crate) keys: u64,
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    /// The first and the last sequence number of its entries.
    pub(crate) sequences: (u64, u64),
    pub(crate) position: Option<u64>,
}

impl Meta {
    /// The segment as the manifest names it.
    pub(crate) fn named(&self) -> SegmentRef {
        SegmentRef {
            number: self.number,
            size: self.size,
            content: self.content,
        }
    }
}

/// The codecs of blocks, as the footer names them: up to version 3, and since.
const CODEC_NONE: u8 = 0;
const CODEC_DICTIONARY: u8 = 1;

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    offset: u64,
    len: u64,
}

impl Place {
    fn end(self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// The checksum of a part that lies at `offset` of its file.
fn checksum(offset: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&offset.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// Why bytes whose checksum fits could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// They are not what the format says. Offsets count from the part's beginning.
    Malformed(Malformed),
    /// They are something that this build does not know.
    Unsupported {
        what: &'static str,
        found: u64,
        supported: &'static str,
    },
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Fault {
        Fault::Malformed(malformed)
    }
}

impl Fault {
    /// The error for a part that begins at `base` of the file.
    #[cold]
    fn into_error(self, path: &Path, base: u64) -> Error {
        match self {
            Fault::Malformed(malformed) => header::malformed(path, base, malformed),
            Fault::Unsupported {
                what,
                found,
                supported,
            } => Error::UnsupportedFormat {
                path: path.to_path_buf(),
                what,
                found: found.to_string(),
                supported: supported.to_string(),
            },
        }
    }
}

/// The error for a checksum that does not fit; `offset` is where the bytes are
/// that it covers.
#[cold]
fn bad_checksum(path: &Path, offset: u64, part: &str, stored: u32, computed: u32) -> Error {
    Error::corrupt(
        path,
        offset,
        format!("{part} with the checksum {stored:08x}"),
        format!("bytes with the checksum {computed:08x}"),
    )
}
