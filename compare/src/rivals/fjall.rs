//! fjall: log-structured, in Rust.

use super::{Reader, Rival, Settings};
use anyhow::Result;
use fjall::config::PinningPolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use hashbrown::HashSet;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

struct Store {
    database: Database,
    urls: Keyspace,
}

pub(super) fn open(path: &Path, settings: Settings) -> Result<Box<dyn Rival>> {
    let database = Database::builder(path.join("store"))
        .cache_size(settings.cache)
        .open()?;
    let urls = database.keyspace("urls", || {
        KeyspaceCreateOptions::default()
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .index_block_pinning_policy(PinningPolicy::all(true))
    })?;
    Ok(Box::new(Store { database, urls }))
}

impl Rival for Store {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        let mut writes = self.database.batch();
        // A batch's own URLs are not in the store yet.
        let mut fresh: HashSet<&[u8]> = HashSet::with_capacity(batch.len());
        for &url in batch {
            let is_new = !self.urls.contains_key(url)? && fresh.insert(url);
            if is_new {
                writes.insert(&self.urls, url, &[][..]);
            }
            new.push(is_new);
        }
        Ok(writes.commit()?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn rest(&mut self) -> Result<()> {
        self.urls.rotate_memtable_and_wait()?;
        while self.database.outstanding_flushes() > 0 || self.database.active_compactions() > 0 {
            sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn compact(&mut self) -> Result<bool> {
        self.urls.major_compact()?;
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Asked(self.urls.clone())))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

struct Asked(Keyspace);

impl Reader for Asked {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(self.0.contains_key(url)?)
    }
}
