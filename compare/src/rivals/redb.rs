//! redb: a copy-on-write B-tree in one file, in Rust.

use super::{Reader, Rival, Settings};
use anyhow::Result;
use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

const URLS: TableDefinition<&[u8], ()> = TableDefinition::new("urls");

/// Batches after which a commit is durable. A commit that is not frees no page of an older
/// one that is, so that the file would grow and grow.
const DURABLE: u64 = 100;

struct Store {
    database: Database,
    batches: u64,
}

pub(super) fn open(path: &Path, settings: Settings) -> Result<Box<dyn Rival>> {
    let database = Database::builder()
        .set_cache_size(usize::try_from(settings.cache)?)
        .create(path.join("store.redb"))?;
    Ok(Box::new(Store {
        database,
        batches: 0,
    }))
}

impl Rival for Store {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        self.batches += 1;
        let mut writes = self.database.begin_write()?;
        if !self.batches.is_multiple_of(DURABLE) {
            writes.set_durability(Durability::None)?;
        }
        let mut urls = writes.open_table(URLS)?;
        for &url in batch {
            new.push(urls.insert(url, ())?.is_none());
        }
        drop(urls);
        Ok(writes.commit()?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.database.begin_write()?.commit()?)
    }

    fn compact(&mut self) -> Result<bool> {
        while self.database.compact()? {}
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        let reads = self.database.begin_read()?;
        Ok(Box::new(Asked(reads.open_table(URLS)?)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.database.close()?)
    }
}

struct Asked(ReadOnlyTable<&'static [u8], ()>);

impl Reader for Asked {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(ReadableTable::get(&self.0, url)?.is_some())
    }
}
