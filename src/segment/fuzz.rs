//! Blocks for the fuzzers.

use super::block;
use crate::record::Record;
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
    pub fn parse(bytes: &'a [u8], stamps: bool) -> Result<Block<'a>> {
        told(block::Block::parse(bytes, stamps)).map(Block)
    }

    /// The bytes of a block at the beginning of a file.
    pub fn build(entries: &[(Vec<u8>, Option<u64>)], stamps: bool) -> Vec<u8> {
        let mut builder = block::Builder::new(stamps);
        for (key, millis) in entries {
            builder.push(key, *millis);
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

    /// The record of a key.
    pub fn find(&self, key: &[u8]) -> Result<Option<Record>> {
        told(self.0.find(key))
    }

    /// Where to begin to step to the first key that is not below `key`.
    pub fn scan_from(&self, key: &[u8]) -> Result<usize> {
        told(self.0.scan_from(key))
    }

    /// The entry at `at`: its record and the place of the next.
    pub fn step(&self, at: usize, key: &mut Vec<u8>) -> Result<Option<(Record, usize)>> {
        told(self.0.step(at, key))
    }
}
