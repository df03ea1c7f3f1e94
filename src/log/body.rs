//! The body of a frame: one batch of operations.

use crate::error::{Error, Result};
use crate::header::malformed;
use crate::record::MAX_MILLIS;
use crate::wire::{Reader, put_varint};
use std::path::Path;

const HAS_TIME: u8 = 1;
const HAS_POSITION: u8 = 2;
const INSERT: u8 = 1;

/// Writes a body into a buffer that is used again for every frame.
#[derive(Debug)]
pub(crate) struct BodyWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> BodyWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, millis: Option<u64>, position: Option<u64>) -> Self {
        let mut flags = 0;
        if millis.is_some() {
            flags |= HAS_TIME;
        }
        if position.is_some() {
            flags |= HAS_POSITION;
        }
        out.push(flags);
        for value in [millis, position].into_iter().flatten() {
            out.extend_from_slice(&value.to_le_bytes());
        }
        BodyWriter { out }
    }

    #[inline]
    pub(crate) fn insert(&mut self, key: &[u8]) {
        self.out.push(INSERT);
        put_varint(self.out, key.len() as u64);
        self.out.extend_from_slice(key);
    }
}

/// What one frame says, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    /// Insert the key, first seen at the time in milliseconds.
    Insert { key: &'a [u8], millis: Option<u64> },
    /// The batch carried this position. Comes after its inserts.
    Position(u64),
}

/// Takes a body apart. `offset` is the body's place in the file. The checksum
/// fitted, so that what makes no sense here is damage or a newer writer's.
pub(super) fn read(
    body: &[u8],
    path: &Path,
    offset: u64,
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
    let mut millis = None;
    let mut position = None;
    if flags & HAS_TIME != 0 {
        let time = reader.u64("the time of a batch").map_err(bad)?;
        if time > MAX_MILLIS {
            return Err(Error::corrupt(
                path,
                offset + 1,
                "a time of 48 bits",
                time.to_string(),
            ));
        }
        millis = Some(time);
    }
    if flags & HAS_POSITION != 0 {
        position = Some(reader.u64("the position of a batch").map_err(bad)?);
    }
    while !reader.is_empty() {
        let at = offset + reader.offset() as u64;
        let kind = reader.u8("an operation").map_err(bad)?;
        if kind != INSERT {
            return Err(unknown("log operation", format!("kind {kind}"), "kind 1"));
        }
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
        each(Operation::Insert { key, millis })?;
    }
    position.map_or(Ok(()), |position| each(Operation::Position(position)))
}
