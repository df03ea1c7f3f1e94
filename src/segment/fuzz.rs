//! Blocks for the fuzzers.

use super::Form;
use super::block;
use crate::record::{Record, Stored};
use crate::wire::Malformed;

/// A block behind its checksum.
#[derive(Debug)]
pub struct Block<'a>(block::Block<'a>);

/// Why not, in words.
type Result<T> = std::result::Result<T, String>;

fn told<T>(result: std::result::Result<T, super::Fault>) -> Result<T> {
    result.map_err(|fault| match fault {
        super::Fault::Malformed(Malformed { at, expected }) => format!("at {at}: {expected}"),
        super::Fault::Unsupported { what, found, .. } => format!("{what} {found}"),
    })
}

impl<'a> Block<'a> {
    /// A block whose last four bytes are its checksum, which is not looked at.
    pub fn parse(bytes: &'a [u8], version: u32, records: bool) -> Result<Block<'a>> {
        told(block::Block::parse(bytes, Form::of(version, records))).map(Block)
    }

    /// The bytes of a block at the beginning of a file.
    /// Records are as logs have them; those that are none are plain.
    pub fn build(entries: &[(Vec<u8>, Vec<u8>)], records: bool) -> Vec<u8> {
        let mut builder = block::Builder::new(records);
        for (key, record) in entries {
            let plain = Stored::Seen(None);
            let record = crate::record::read(record).unwrap_or(plain.clone());
            builder.push(key, if records { record } else { plain });
        }
        let mut out = Vec::new();
        let fits = builder.finish(0, &mut out);
        debug_assert!(fits);
        out
    }

    /// Whether it is what searches rely on.
    pub fn check(&self) -> Result<()> {
        told(self.0.check())
    }

    /// The record of a key: `Some(None)` is a tombstone.
    pub fn find(&self, key: &[u8]) -> Result<Option<Option<Record>>> {
        Ok(told(self.0.find(key))?.map(Stored::record))
    }

    /// Where to begin to step to the first key that is not below `key`.
    pub fn scan_from(&self, key: &[u8]) -> Result<usize> {
        told(self.0.scan_from(key))
    }

    /// The entry at `at`: its record and the place of the next.
    pub fn step(&self, at: usize, key: &mut Vec<u8>) -> Result<Option<(Option<Record>, usize)>> {
        let step = told(self.0.step(at, key))?;
        Ok(step.map(|(stored, next)| (stored.record(), next)))
    }
}
