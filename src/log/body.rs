//! The body of a frame: one batch of operations.

use crate::error::{Error, Result};
use crate::header::malformed;
use crate::record::{MAX_SECONDS, Unreadable, plain};
use crate::wire::{Reader, put_varint};
use std::path::Path;

const HAS_TIME: u8 = 1;
const HAS_POSITION: u8 = 2;
const INSERT: u8 = 1;
const PUT: u8 = 2;
/// The largest time of a batch in version 1, in milliseconds.
const MAX_MILLIS: u64 = (1 << 48) - 1;

/// Writes a body into a buffer that is used again for every frame.
#[derive(Debug)]
pub(crate) struct BodyWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The record that an insert of this batch has, and so need not be written.
    plain: Option<[u8; 6]>,
}

impl<'a> BodyWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, seconds: Option<u64>, position: Option<u64>) -> Self {
        let mut flags = 0;
        if seconds.is_some() {
            flags |= HAS_TIME;
        }
        if position.is_some() {
            flags |= HAS_POSITION;
        }
        out.push(flags);
        for value in [seconds, position].into_iter().flatten() {
            out.extend_from_slice(&value.to_le_bytes());
        }
        BodyWriter {
            out,
            plain: seconds.map(plain),
        }
    }

    /// Adds an entry, whose record's bytes are given.
    #[inline]
    pub(crate) fn put(&mut self, key: &[u8], record: &[u8]) {
        let inserted = match &self.plain {
            Some(plain) => record == plain,
            None => record.is_empty(),
        };
        self.out.push(if inserted { INSERT } else { PUT });
        put_varint(self.out, key.len() as u64);
        self.out.extend_from_slice(key);
        if !inserted {
            put_varint(self.out, record.len() as u64);
            self.out.extend_from_slice(record);
        }
    }
}

/// What one frame says, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    /// Insert the key, first seen at the time in seconds.
    Insert { key: &'a [u8], seconds: Option<u64> },
    /// The key has this record now. Its bytes were checked.
    Put { key: &'a [u8], record: &'a [u8] },
    /// The batch carried this position. Comes after its entries.
    Position(u64),
}

/// Takes a body apart, of a log of a version, or of one that is not known: 0. `offset` is the body's place in the file. The checksum
/// fitted, so that what makes no sense here is damage or a newer writer's.
pub(super) fn read(
    body: &[u8],
    path: &Path,
    offset: u64,
    version: u32,
    each: &mut dyn FnMut(Operation<'_>) -> Result<()>,
) -> Result<()> {
    let bad = |m| malformed(path, offset, m);
    let unknown = |what, found: String, supported: &str| Error::UnsupportedFormat {
        path: path.to_path_buf(),
        what,
        found,
        supported: supported.to_string(),
    };
    let mut reader = Reader::new(body);
    let flags = reader.u8("the flags of a batch").map_err(bad)?;
    if flags & !(HAS_TIME | HAS_POSITION) != 0 {
        return Err(unknown(
            "flags of a batch",
            flags.to_string(),
            "flags 1 and 2",
        ));
    }
    let mut seconds = None;
    let mut position = None;
    if flags & HAS_TIME != 0 {
        let time = reader.u64("the time of a batch").map_err(bad)?;
        // What is no time in seconds, since 2004, is one in milliseconds.
        let is_millis = version == 1 || version == 0 && time > MAX_SECONDS;
        let (most, unit, expected) = match is_millis {
            true => (MAX_MILLIS, 1000, "a time of 48 bits"),
            false => (MAX_SECONDS, 1, "a time of 40 bits"),
        };
        if time > most {
            return Err(Error::corrupt(path, offset + 1, expected, time.to_string()));
        }
        seconds = Some(time / unit);
    }
    if flags & HAS_POSITION != 0 {
        position = Some(reader.u64("the position of a batch").map_err(bad)?);
    }
    while !reader.is_empty() {
        let at = offset + reader.offset() as u64;
        let kind = reader.u8("an operation").map_err(bad)?;
        let is_put = match (kind, version) {
            (INSERT, _) => false,
            (PUT, 0 | 2..) => true,
            _ => {
                let known = if version == 1 {
                    "kind 1"
                } else {
                    "kinds 1 and 2"
                };
                return Err(unknown("log operation", format!("kind {kind}"), known));
            }
        };
        let length = reader.length("the length of a key").map_err(bad)?;
        let key = reader.take(length, "a key").map_err(bad)?;
        if key.is_empty() || key.len() > usize::from(u16::MAX) {
            return Err(Error::corrupt(
                path,
                at,
                "a key of 1 to 65,535 bytes",
                format!("{} bytes", key.len()),
            ));
        }
        if !is_put {
            each(Operation::Insert { key, seconds })?;
            continue;
        }
        let length = reader.length("the length of a record").map_err(bad)?;
        let record_at = reader.offset();
        let record = reader.take(length, "a record").map_err(bad)?;
        let too_long = record.len() > usize::from(u8::MAX);
        match crate::record::read(record) {
            Ok(_) if !too_long => each(Operation::Put { key, record })?,
            Err(Unreadable::State(state)) => {
                let known = crate::record::KNOWN_STATES;
                return Err(unknown("record state", state.to_string(), known));
            }
            Err(Unreadable::Malformed(m)) => {
                let at = offset + record_at as u64;
                return Err(malformed(path, at, m));
            }
            Ok(_) => {
                let found = format!("{} bytes", record.len());
                return Err(Error::corrupt(
                    path,
                    at,
                    "a record of at most 255 bytes",
                    found,
                ));
            }
        }
    }
    position.map_or(Ok(()), |position| each(Operation::Position(position)))
}
