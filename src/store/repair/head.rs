//! The first entries of a new store: they wait until a dictionary was made from their keys.

use crate::compact::{RunWriter, coder_for};
use crate::error::Result;
use crate::record::Stored;

/// Bytes of keys that wait.
const ENOUGH: usize = 1 << 20;

/// Entries on their way to a run.
#[derive(Debug, Default)]
pub(super) struct Head {
    waiting: Vec<(Vec<u8>, Stored)>,
    bytes: usize,
    ended: bool,
}

impl Head {
    /// Adds an entry; keys ascend.
    pub(super) fn add(
        &mut self,
        key: &[u8],
        record: Stored,
        writer: &mut RunWriter,
        number: &mut dyn FnMut() -> u64,
    ) -> Result<()> {
        if self.ended {
            return writer.add(key, record, number);
        }
        self.bytes += key.len();
        self.waiting.push((key.to_vec(), record));
        if self.bytes < ENOUGH {
            return Ok(());
        }
        self.end(writer, number)
    }

    /// There are no more entries, or enough.
    pub(super) fn end(
        &mut self,
        writer: &mut RunWriter,
        number: &mut dyn FnMut() -> u64,
    ) -> Result<()> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        writer.code_with(coder_for(writer, waiting.len() as u64, |from| {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let entries = waiting.get(from..).unwrap_or_default();
            entries.iter().map(|(key, _)| key.as_slice())
        }));
        for (key, record) in waiting {
            writer.add(&key, record, number)?;
        }
        Ok(())
    }
}
