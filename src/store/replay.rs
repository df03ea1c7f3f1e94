//! Reads a log into a memtable: once at recovery, again and again in a reader.

use crate::error::{Error, Result};
use crate::log::{LogReader, Operation, Tail};
use crate::manifest::{LogRef, Manifest};
use crate::memtable::{Appender, Memtable, entry_size};
use crate::record::{Head, plain};
use crate::vfs::Vfs;
use std::path::Path;
use std::sync::Arc;

/// The least memory for a log's memtable.
const LEAST: usize = 1 << 20;

/// A log and the memtable of what was read from it so far.
#[derive(Debug)]
pub(super) struct Replayed {
    reader: LogReader,
    table: Table,
    position: Option<u64>,
    /// Why the log could not be synced.
    unsynced: Option<Error>,
}

/// A memtable that is replaced by a larger one when it is full. Memory that is
/// not touched costs nothing.
#[derive(Debug)]
pub(super) struct Table {
    appender: Appender,
    /// Entries taken so far.
    entries: u64,
    seed: u64,
    stamps: bool,
}

impl Replayed {
    /// Opens the log that the manifest names; nothing is read yet.
    pub(super) fn open(
        vfs: &dyn Vfs,
        dir: &Path,
        manifest: &Manifest,
        log: &LogRef,
    ) -> Result<Replayed> {
        let path = dir.join(crate::log::file_name(log.number));
        let reader = LogReader::open(vfs, &path, manifest.store, log.number)?;
        if reader.first_sequence() != log.first_sequence {
            return Err(Error::corrupt(
                &path,
                48,
                format!(
                    "a log from frame {} on, as the manifest says",
                    log.first_sequence
                ),
                format!("one from frame {} on", reader.first_sequence()),
            ));
        }
        let length = usize::try_from(reader.file_len()?).unwrap_or(usize::MAX);
        let memory = length.saturating_mul(4).clamp(LEAST, 1 << 30);
        Ok(Replayed {
            table: Table {
                appender: new_appender(memory, &path)?,
                entries: 0,
                seed: manifest.seed,
                stamps: manifest.stamps,
            },
            reader,
            position: None,
            unsynced: None,
        })
    }

    /// Reads what follows in the log; nothing is shown before
    /// [`publish`](Replayed::publish).
    pub(super) fn read(&mut self, recorded: Option<u64>, thorough: bool) -> Result<Tail> {
        let Replayed {
            reader,
            table,
            position,
            ..
        } = self;
        let path = reader.path().to_path_buf();
        reader.read(recorded, thorough, &mut |operation| match operation {
            Operation::Insert { key, seconds } => table.insert(key, seconds, &path),
            Operation::Put { key, record } => table.put(key, record, &path),
            Operation::Position(at) => {
                *position = Some(at);
                Ok(())
            }
        })
    }

    /// Shows what was read to those who hold the memtable.
    pub(super) fn publish(&self) {
        self.table.publish();
    }

    /// Makes what was read durable, where the log's writer tells nobody of an entry
    /// before it is: so a reader must not either. A sync that failed is not tried again,
    /// as the next may say that all is well.
    pub(super) fn sync_if_immediate(&mut self) -> Result<()> {
        if !self.reader.is_immediate() {
            return Ok(());
        }
        if self.unsynced.is_none() {
            let synced = self.reader.file().sync();
            self.unsynced = synced
                .err()
                .map(|e| Error::io("sync", self.reader.path(), e));
        }
        self.unsynced.clone().map_or(Ok(()), Err)
    }

    pub(super) fn reader(&self) -> &LogReader {
        &self.reader
    }

    /// The memtable; another one after a [`read`](Replayed::read) that outgrew it.
    pub(super) fn memtable(&self) -> &Arc<Memtable> {
        self.table.appender.memtable()
    }

    /// Entries read so far.
    pub(super) fn entries(&self) -> u64 {
        self.table.entries
    }

    /// The last position in the log.
    pub(super) fn position(&self) -> Option<u64> {
        self.position
    }
}

impl Table {
    /// An empty one, of the least size, for the entries of the log at `path`.
    pub(super) fn new(path: &Path, seed: u64, stamps: bool) -> Result<Table> {
        Ok(Table {
            appender: new_appender(LEAST, path)?,
            entries: 0,
            seed,
            stamps,
        })
    }

    /// Shows what was inserted.
    pub(super) fn publish(&self) -> Arc<Memtable> {
        let memtable = self.appender.memtable();
        memtable.publish(self.appender.mark());
        memtable.clone()
    }

    pub(super) fn insert(&mut self, key: &[u8], seconds: Option<u64>, path: &Path) -> Result<()> {
        match seconds {
            Some(seconds) => self.put(key, &plain(seconds), path),
            None => self.put(key, &[], path),
        }
    }

    /// Takes an entry, whose record's bytes were checked.
    pub(super) fn put(&mut self, key: &[u8], record: &[u8], path: &Path) -> Result<()> {
        if !self
            .appender
            .has_room(1, entry_size(key.len()) + record.len())
        {
            self.grow(path)?;
        }
        let hash = crate::filter::hash(self.seed, key);
        // What a flush would not keep is not shown before it either.
        let head = Head::of(record);
        let bare;
        let record = if self.stamps || head.kind().is_none() {
            record
        } else {
            bare = head.bare();
            bare.as_ref().map_or(&[][..], |head| head)
        };
        self.entries += 1;
        self.appender.put(hash, key, record);
        Ok(())
    }

    fn grow(&mut self, path: &Path) -> Result<()> {
        let memory = self.appender.memtable().memory().saturating_mul(2);
        let mut larger = new_appender(memory, path)?;
        for entry in self.appender.iter() {
            let hash = crate::filter::hash(self.seed, entry.key);
            larger.put(hash, entry.key, entry.record);
        }
        self.appender = larger;
        Ok(())
    }
}

fn new_appender(memory: usize, path: &Path) -> Result<Appender> {
    Memtable::new(memory)
        .map(|(_, appender)| appender)
        .map_err(|e| Error::io("get memory for the entries of", path, e))
}
