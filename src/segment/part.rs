//! Parts of a segment beside its blocks.
//!
//! The dictionary's part says its own length, so that it can be read where the footer is
//! lost:
//!
//! ```text
//! length      u32   of the dictionary
//! dictionary        see `dictionary`
//! crc         u32   of the part's offset in the file and all bytes before
//! ```
#![deny(clippy::indexing_slicing)]

use super::dictionary::Dictionary;
use super::{CRC, Place, bad_checksum, checksum};
use crate::error::{Error, Result};
use crate::header::malformed;
use crate::vfs::{File, HugeBytes, read_exact_at};
use crate::wire::Malformed;
use std::path::Path;

/// More than the largest dictionary takes.
const MOST_DICTIONARY: u64 = 2 << 20;
/// What the length and the checksum take.
const AROUND: u64 = 4 + CRC as u64;

/// The index or the filter: where it is, and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) place: Place,
    pub(super) crc: u32,
}

/// Reads the index or the filter, which lies within the file.
pub(super) fn read_part(file: &dyn File, path: &Path, part: Part, name: &str) -> Result<HugeBytes> {
    let memory = |e| Error::io("allocate memory for a part of", path, e);
    let len = usize::try_from(part.place.len)
        .map_err(|_| memory(std::io::ErrorKind::OutOfMemory.into()))?;
    let mut bytes = HugeBytes::zeroed(len).map_err(memory)?;
    let buffer = bytes.as_mut_slice().get_mut(..len).unwrap_or_default();
    read_exact_at(file, buffer, part.place.offset).map_err(|e| Error::io("read", path, e))?;
    let computed = checksum(part.place.offset, buffer);
    if computed != part.crc {
        return Err(bad_checksum(
            path,
            part.place.offset,
            name,
            part.crc,
            computed,
        ));
    }
    Ok(bytes)
}

/// The part of a dictionary that will lie at `offset` of the file.
pub(super) fn dictionary_part(dictionary: &Dictionary, offset: u64) -> Vec<u8> {
    let mut stored = Vec::new();
    dictionary.encode(&mut stored);
    // At most 2^16 strings of 15 bytes.
    let mut part = (stored.len() as u32).to_le_bytes().to_vec();
    part.append(&mut stored);
    let crc = checksum(offset, &part);
    part.extend_from_slice(&crc.to_le_bytes());
    part
}

/// Reads the dictionary whose part begins at `offset`, and the length of the part.
pub(super) fn read_dictionary(
    file: &dyn File,
    path: &Path,
    offset: u64,
    end: u64,
) -> Result<(Dictionary, u64)> {
    let stored = read_stored_dictionary(file, path, offset, end)?;
    let shift = |m: Malformed| malformed(path, offset + 4, m);
    let dictionary = Dictionary::decode(&stored).map_err(shift)?;
    Ok((dictionary, AROUND + stored.len() as u64))
}

/// The same as it is stored, without the length and the checksum, which is compared.
pub(super) fn read_stored_dictionary(
    file: &dyn File,
    path: &Path,
    offset: u64,
    end: u64,
) -> Result<Vec<u8>> {
    let io = |e| Error::io("read", path, e);
    let corrupt = |expected: &str, found: String| Error::corrupt(path, offset, expected, found);
    let room = end.saturating_sub(offset);
    let mut length = [0; 4];
    if room >= AROUND {
        read_exact_at(file, &mut length, offset).map_err(io)?;
    }
    let len = u64::from(u32::from_le_bytes(length)) + AROUND;
    if len > room || len > MOST_DICTIONARY {
        let found = format!("one of {len} bytes, where there are {room}");
        return Err(corrupt("a dictionary", found));
    }
    let mut part = vec![0; len as usize];
    read_exact_at(file, &mut part, offset).map_err(io)?;
    let Some((covered, crc)) = part.split_last_chunk::<CRC>() else {
        return Err(corrupt("a dictionary", "the end".to_owned()));
    };
    let (stored, computed) = (u32::from_le_bytes(*crc), checksum(offset, covered));
    if stored != computed {
        return Err(bad_checksum(path, offset, "a dictionary", stored, computed));
    }
    Ok(covered.get(4..).unwrap_or_default().to_vec())
}
