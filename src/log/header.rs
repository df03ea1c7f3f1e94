//! The header of a log: what its fields say.

use super::{ALIGN, tag};
use crate::error::{Error, Result};
use crate::header::{self, FileKind, MAX_NUMBER, StoreId, malformed, unknown_field};
use crate::vfs::{File, read_exact_at};
use crate::wire::Reader;
use std::path::Path;

/// What a log's header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogHeader {
    /// The format version; 0 if it is not known.
    pub(super) version: u32,
    /// The log's random id.
    pub(super) id: u64,
    pub(super) first_sequence: u64,
    /// Whether the log's writer shows entries only when they are durable.
    pub(super) immediate: bool,
    /// The header's length in bytes.
    pub(super) len: u64,
}

impl LogHeader {
    /// Reads and checks the header of log `number` of a store.
    pub(super) fn read(
        file: &dyn File,
        path: &Path,
        store: StoreId,
        number: u64,
    ) -> Result<LogHeader> {
        let header = header::read(file, path, FileKind::Log)?;
        header.check_identity(path, store, number)?;
        let bad = |m| malformed(path, 48, m);
        let mut id = None;
        let mut first = None;
        let mut immediate = false;
        let mut fields = Reader::new(&header.fields);
        while !fields.is_empty() {
            let (field, value) = fields.field().map_err(bad)?;
            let mut value = Reader::new(value);
            match field {
                tag::ID => id = Some(value.u64("the log's id").map_err(bad)?),
                tag::FIRST_SEQUENCE => {
                    first = Some(value.u64("the first sequence number").map_err(bad)?);
                }
                tag::IMMEDIATE => {
                    immediate = value.u8("whether entries are shown late").map_err(bad)? != 0;
                }
                other => unknown_field(path, other, "fields 1 to 3")?,
            }
        }
        let (Some(id), Some(first_sequence)) = (id, first) else {
            return Err(Error::corrupt(
                path,
                48,
                "the fields 1 and 2 of a log's header",
                "one of them is missing",
            ));
        };
        if !(1..=MAX_NUMBER).contains(&first_sequence) {
            return Err(Error::corrupt(
                path,
                48,
                format!("the number of its first frame, 1 to {MAX_NUMBER}"),
                first_sequence.to_string(),
            ));
        }
        Ok(LogHeader {
            version: header.version,
            id,
            first_sequence,
            immediate,
            len: header.len,
        })
    }

    /// What a header whose checksum does not fit says if it is one of this version,
    /// and the damage is elsewhere in it. Frames whose checksums fit its id bear it
    /// out.
    pub(super) fn guess(file: &dyn File) -> Option<LogHeader> {
        // As `LogWriter` writes it: 48 bytes, the fields of 14, 14 and 7, a checksum.
        let mut bytes = [0; 87];
        read_exact_at(file, &mut bytes, 0).ok()?;
        let (bytes, crc) = bytes.split_last_chunk()?;
        let was = header::version_by_checksum(bytes, u32::from_le_bytes(*crc));
        let mut reader = Reader::new(bytes.get(54..)?);
        let id = reader.u64("the log's id").ok()?;
        reader.take(6, "a field").ok()?;
        Some(LogHeader {
            // If it is not all that is damaged, times must tell.
            version: was.unwrap_or(0),
            id,
            first_sequence: reader.u64("the first sequence number").ok()?,
            immediate: false,
            len: 87,
        })
    }

    /// Where the first frame begins.
    pub(super) fn frames_at(&self) -> u64 {
        self.len.next_multiple_of(ALIGN as u64)
    }
}
