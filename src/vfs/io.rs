//! Whole reads and writes: interruptions are tried again, short ones continued.

use super::File;
use std::io::{Error, ErrorKind, Result};

/// Fills `buf` from `offset`, or answers `UnexpectedEof` if the file ends before.
pub(crate) fn read_exact_at(file: &dyn File, mut buf: &mut [u8], mut offset: u64) -> Result<()> {
    while !buf.is_empty() {
        match file.read_at(buf, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                buf = buf.get_mut(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `buf` at `offset`.
pub(crate) fn write_all_at(file: &dyn File, mut buf: &[u8], mut offset: u64) -> Result<()> {
    while !buf.is_empty() {
        match file.write_at(buf, offset) {
            Ok(0) => {
                return Err(Error::new(
                    ErrorKind::WriteZero,
                    "the file system wrote none of the bytes",
                ));
            }
            Ok(count) => {
                buf = buf.get(count..).unwrap_or_default();
                offset += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
