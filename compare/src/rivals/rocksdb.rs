//! RocksDB: log-structured, the one that large crawlers use.

use super::{Reader, Rival, Settings};
use anyhow::Result;
use hashbrown::HashSet;
use rust_rocksdb::{
    BlockBasedOptions, Cache, CompactOptions, DB, DBCompressionType, DataBlockIndexType, Options,
    WaitForCompactOptions, WriteBatch,
};
use std::path::Path;

struct Store(DB);

pub(super) fn open(path: &Path, settings: Settings) -> Result<Box<dyn Rival>> {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_size(4 << 10);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    table.set_data_block_hash_ratio(0.75);
    // 0: the entries' size is not guessed, and the table grows as it has to.
    let cache = Cache::new_hyper_clock_cache(usize::try_from(settings.cache)?, 0);
    table.set_block_cache(&cache);

    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::Lz4);
    options.set_bottommost_compression_type(DBCompressionType::Zstd);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_max_background_jobs(6);
    options.set_bytes_per_sync(1 << 20);
    Ok(Box::new(Store(DB::open(&options, path.join("store"))?)))
}

impl Rival for Store {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        let mut writes = WriteBatch::default();
        // A batch's own URLs are not in the store yet.
        let mut fresh: HashSet<&[u8]> = HashSet::with_capacity(batch.len());
        let known = self.0.batched_multi_get_pinned(batch.iter(), false);
        for (&url, known) in batch.iter().zip(known) {
            let is_new = known?.is_none() && fresh.insert(url);
            if is_new {
                writes.put(url, []);
            }
            new.push(is_new);
        }
        Ok(self.0.write(&writes)?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.0.flush_wal(true)?)
    }

    fn rest(&mut self) -> Result<()> {
        self.0.flush()?;
        Ok(self.0.wait_for_compact(&WaitForCompactOptions::default())?)
    }

    fn compact(&mut self) -> Result<bool> {
        self.0
            .compact_range_opt(None::<&[u8]>, None::<&[u8]>, &CompactOptions::default());
        self.rest()?;
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Asked(&self.0)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.0.cancel_all_background_work(true);
        Ok(())
    }
}

struct Asked<'a>(&'a DB);

impl Reader for Asked<'_> {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(self.0.get_pinned(url)?.is_some())
    }

    fn has_many(&mut self, urls: &[&[u8]], found: &mut Vec<bool>) -> Result<()> {
        for answer in self.0.batched_multi_get_pinned(urls.iter(), false) {
            found.push(answer?.is_some());
        }
        Ok(())
    }

    fn takes_many(&self) -> bool {
        true
    }
}
