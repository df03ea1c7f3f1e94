//! SQLite: the library that people know, with a table whose key is the URL.

use super::{Reader, Rival, Settings};
use anyhow::Result;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::path::{Path, PathBuf};

/// Pages of 4 KiB in the write-ahead log at which a commit copies them to the table.
const CHECKPOINT: u32 = 50_000;
/// The most of the file that is read through a memory map, in bytes.
const MAP: u64 = 1 << 38;

struct Store {
    connection: Connection,
    path: PathBuf,
    settings: Settings,
}

pub(super) fn open(path: &Path, settings: Settings) -> Result<Box<dyn Rival>> {
    let path = path.join("store.sqlite");
    let connection = Connection::open(&path)?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = NORMAL;
         PRAGMA wal_autocheckpoint = {CHECKPOINT};
         {}
         CREATE TABLE IF NOT EXISTS urls (url BLOB PRIMARY KEY) WITHOUT ROWID;",
        memory(settings)
    ))?;
    Ok(Box::new(Store {
        connection,
        path,
        settings,
    }))
}

/// What each connection is told of its memory.
fn memory(settings: Settings) -> String {
    format!(
        "PRAGMA cache_size = -{};
         PRAGMA mmap_size = {MAP};",
        settings.cache / 1024
    )
}

impl Rival for Store {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        let writes = self.connection.transaction()?;
        let mut insert = writes.prepare_cached("INSERT OR IGNORE INTO urls VALUES (?1)")?;
        for url in batch {
            new.push(insert.execute([url])? == 1);
        }
        drop(insert);
        Ok(writes.commit()?)
    }

    fn sync(&mut self) -> Result<()> {
        // In this mode, a checkpoint is what syncs.
        let all = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self.connection.query_row(all, [], |row| row.get(0))?;
        anyhow::ensure!(busy == 0, "the checkpoint was blocked");
        Ok(())
    }

    fn compact(&mut self) -> Result<bool> {
        self.connection.execute_batch("VACUUM")?;
        self.sync()?;
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        let connection = Connection::open_with_flags(
            &self.path,
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        connection.execute_batch(&memory(self.settings))?;
        // One for all lookups: else each takes locks, and gives them back.
        connection.execute_batch("BEGIN")?;
        Ok(Box::new(Asked(connection)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.connection.close().map_err(|(_, e)| e)?;
        Ok(())
    }
}

struct Asked(Connection);

impl Reader for Asked {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        let mut ask = self.0.prepare_cached("SELECT 1 FROM urls WHERE url = ?1")?;
        let found = ask.query_row([url], |_| Ok(())).optional()?;
        Ok(found.is_some())
    }
}
