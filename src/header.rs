//! The header that every file of a store begins with.
//!
//! ```text
//! offset  size
//! 0       8     magic: "seenLOG\0", "seenSEG\0" or "seenMAN\0"
//! 8       4     format version, u32
//! 12      4     length of the fields in bytes, u32
//! 16      16    the store's id
//! 32      8     incarnation, u64: 1, and a random one after a repair
//! 40      8     the file's number, u64; 0 for the manifest
//! 48      n     tagged fields, see `wire`
//! 48+n    4     CRC-32 of all bytes before
//! ```
//!
//! A file that was swapped with one of another store, or of the same store under
//! another number, is told by its header.

use crate::error::{Error, Result};
use crate::vfs::{File, read_exact_at};
use crate::wire::{MUST_UNDERSTAND, Malformed, Reader};
use std::fmt;
use std::path::Path;

/// The format version that this build writes.
pub(crate) const VERSION: u32 = 4;

/// The oldest that it reads.
const OLDEST: u32 = 1;

/// No release will come to this version: a header that names it is damaged.
const NO_VERSION: u32 = 1 << 10;

/// Bytes before the fields.
const FIXED: usize = 48;

/// More than any header of this version can need.
const MAX_FIELDS: u64 = 64 << 20;

/// The largest number of a file or a frame: far more than there can be, and counting on
/// from it does not overflow.
pub(crate) const MAX_NUMBER: u64 = (1 << 62) - 1;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Log,
    Segment,
    Manifest,
}

impl FileKind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            FileKind::Log => b"seenLOG\0",
            FileKind::Segment => b"seenSEG\0",
            FileKind::Manifest => b"seenMAN\0",
        }
    }
}

/// Which store a file belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId {
    pub(crate) id: [u8; 16],
    pub(crate) incarnation: u64,
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:032x}.{}",
            u128::from_be_bytes(self.id),
            self.incarnation
        )
    }
}

/// A header that was read and whose checksum fits.
#[derive(Debug)]
pub(crate) struct Header {
    /// The format version, from 1 to [`VERSION`].
    pub(crate) version: u32,
    pub(crate) store: StoreId,
    pub(crate) number: u64,
    pub(crate) fields: Vec<u8>,
    /// Bytes that the header takes: what follows begins here.
    pub(crate) len: u64,
}

/// The bytes of a header.
pub(crate) fn encode(kind: FileKind, store: StoreId, number: u64, fields: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(FIXED + fields.len() + 4);
    out.extend_from_slice(kind.magic());
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(fields.len() as u32).to_le_bytes());
    out.extend_from_slice(&store.id);
    out.extend_from_slice(&store.incarnation.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(fields);
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Reads and checks the header of `file`.
pub(crate) fn read(file: &dyn File, path: &Path, kind: FileKind) -> Result<Header> {
    let length = file
        .len()
        .map_err(|e| Error::io("find the length of", path, e))?;
    if length < FIXED as u64 + 4 {
        return Err(Error::corrupt(
            path,
            length,
            format!("a header of at least {} bytes", FIXED + 4),
            "the end of the file",
        ));
    }
    let mut bytes = vec![0; FIXED];
    read_exact_at(file, &mut bytes, 0).map_err(|e| Error::io("read", path, e))?;
    let malformed = |m: Malformed| malformed(path, 0, m);

    let mut reader = Reader::new(&bytes);
    let magic = reader.take(8, "a magic number").map_err(malformed)?;
    if magic != kind.magic() {
        return Err(Error::corrupt(
            path,
            0,
            format!("the magic bytes \"{}\"", kind.magic().escape_ascii()),
            format!("\"{}\"", magic.escape_ascii()),
        ));
    }
    let version = reader.u32("a version").map_err(malformed)?;
    let fields_len = u64::from(reader.u32("a length").map_err(malformed)?);
    let id = reader.array("a store id").map_err(malformed)?;
    let incarnation = reader.u64("an incarnation").map_err(malformed)?;
    let number = reader.u64("a file number").map_err(malformed)?;

    // A later version may put other things behind the version, so that it is
    // compared before the checksum. A flipped bit in it is told apart by trying
    // the checksum of this version's layout.
    let len = FIXED as u64 + fields_len + 4;
    let fits = fields_len <= MAX_FIELDS && len <= length;
    let mut crc_fits = false;
    let mut fields = Vec::new();
    let mut stored = 0;
    let mut computed = 0;
    if fits {
        let mut rest = vec![0; (len - FIXED as u64) as usize];
        read_exact_at(file, &mut rest, FIXED as u64).map_err(|e| Error::io("read", path, e))?;
        let mut reader = Reader::new(&rest);
        fields = reader
            .take(fields_len as usize, "the fields")
            .map_err(malformed)?
            .to_vec();
        stored = reader.u32("a checksum").map_err(malformed)?;
        bytes.extend_from_slice(&fields);
        computed = crc32fast::hash(&bytes);
        crc_fits = stored == computed;
    }
    if !(OLDEST..=VERSION).contains(&version) {
        let is_damaged = fits && version_by_checksum(&bytes, stored).is_some();
        if (VERSION..NO_VERSION).contains(&version) && !is_damaged {
            return Err(Error::UnsupportedFormat {
                path: path.to_path_buf(),
                what: "format version",
                found: version.to_string(),
                supported: format!("{OLDEST} to {VERSION}"),
            });
        }
        return Err(Error::corrupt(
            path,
            8,
            format!("format version {OLDEST} to {VERSION}"),
            version.to_string(),
        ));
    }
    if !fits {
        return Err(Error::corrupt(
            path,
            12,
            format!("a length of fields that the file's {length} bytes can hold"),
            fields_len.to_string(),
        ));
    }
    if !crc_fits {
        return Err(Error::corrupt(
            path,
            len - 4,
            format!("the header's checksum {computed:08x}"),
            format!("{stored:08x}"),
        ));
    }
    Ok(Header {
        version,
        store: StoreId { id, incarnation },
        number,
        fields,
        len,
    })
}

/// The store that a file's header names, whether or not its checksum fits; `None` if the
/// file has no whole header, or cannot be read.
pub(crate) fn claimed(file: &dyn File) -> Option<StoreId> {
    let mut bytes = [0; FIXED];
    read_exact_at(file, &mut bytes, 0).ok()?;
    let mut reader = Reader::new(bytes.get(16..)?);
    Some(StoreId {
        id: reader.array("a store id").ok()?,
        incarnation: reader.u64("an incarnation").ok()?,
    })
}

/// Whether a file begins as one of this kind does, or was never begun: so far as its
/// bytes reach. With `of`, it must be that store's.
pub(crate) fn looks_like(
    file: &dyn File,
    path: &Path,
    kind: FileKind,
    of: Option<StoreId>,
) -> Result<bool> {
    let mut bytes = [0; 40];
    let length = file
        .len()
        .map_err(|e| Error::io("find the length of", path, e))?;
    let there = usize::try_from(length).map_or(bytes.len(), |len| len.min(bytes.len()));
    let bytes = bytes.get_mut(..there).unwrap_or_default();
    read_exact_at(file, bytes, 0).map_err(|e| Error::io("read", path, e))?;
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(of.is_some());
    }
    let mut expected = Vec::from(kind.magic());
    expected.truncate(there);
    let same_store = match (of, bytes.get(16..)) {
        (Some(store), Some(id)) => {
            let incarnation = store.incarnation.to_le_bytes();
            [&store.id[..], &incarnation].concat().starts_with(id)
        }
        _ => true,
    };
    Ok(bytes.starts_with(&expected) && same_store)
}

/// The version with which the checksum `stored` fits a header's other bytes: what it was
/// if nothing else is damaged.
pub(crate) fn version_by_checksum(bytes: &[u8], stored: u32) -> Option<u32> {
    let (before, after) = (bytes.get(..8)?, bytes.get(12..)?);
    (OLDEST..=VERSION).find(|version| {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(before);
        hasher.update(&version.to_le_bytes());
        hasher.update(after);
        hasher.finalize() == stored
    })
}

impl Header {
    /// Checks that the file is the one that the manifest names.
    pub(crate) fn check_identity(&self, path: &Path, store: StoreId, number: u64) -> Result<()> {
        if self.store != store {
            return Err(Error::corrupt(
                path,
                16,
                format!("a file of the store {store:?}"),
                format!("one of the store {:?}", self.store),
            ));
        }
        if self.number != number {
            return Err(Error::corrupt(
                path,
                40,
                format!("file number {number}"),
                format!("{}", self.number),
            ));
        }
        Ok(())
    }
}

/// The error for bytes that a reader could not make sense of; `base` is the
/// file's offset of the first of them.
pub(crate) fn malformed(path: &Path, base: u64, m: Malformed) -> Error {
    Error::corrupt(
        path,
        base + m.at as u64,
        m.expected,
        "something else, or the end",
    )
}

/// The answer to a field that this build does not know: to be skipped, unless
/// its tag says that it must be understood.
pub(crate) fn unknown_field(path: &Path, tag: u16, known: &'static str) -> Result<()> {
    if tag & MUST_UNDERSTAND == 0 {
        return Ok(());
    }
    Err(Error::UnsupportedFormat {
        path: path.to_path_buf(),
        what: "field",
        found: format!("field {}", tag & !MUST_UNDERSTAND),
        supported: known.to_string(),
    })
}
