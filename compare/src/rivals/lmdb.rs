//! LMDB: a copy-on-write B-tree in a memory map.
#![allow(
    unsafe_code,
    reason = "the crate's functions that open a map, whose file nobody else touches"
)]

use super::{Reader, Rival};
use anyhow::{Context, Result};
use heed::types::{Bytes, Unit};
use heed::{
    CommitOrAbort, CompactionOption, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithoutTls,
};
use std::path::{Path, PathBuf};

/// The most that the file may become. It is address space, and takes no memory.
const MAP: usize = 1 << 38;

struct Store {
    env: Env<WithoutTls>,
    urls: Database<'static, Bytes, Unit>,
    path: PathBuf,
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Rival>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(MAP);
    // SAFETY: without syncs, a power loss may damage the file, and then the run has ended.
    // The file is in a directory of this program's own.
    let env = unsafe {
        options.flags(EnvFlags::NO_SYNC | EnvFlags::NO_READ_AHEAD);
        options.open(path)?
    };
    let writes = env.write_txn()?;
    let made = env.create_databases_and_commit(writes, |databases, writes| {
        let urls = databases.create_database(writes, None)?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(urls))
    })?;
    let urls = made.commit().context("its table was not made")?;
    let path = path.to_path_buf();
    Ok(Box::new(Store { env, urls, path }))
}

impl Rival for Store {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        let mut writes = self.env.write_txn()?;
        for &url in batch {
            let known = self.urls.get_or_put(&mut writes, url, &());
            let known = known.with_context(|| {
                let most = self.env.max_key_size();
                format!("a URL of {} bytes; it takes {most} at most", url.len())
            })?;
            new.push(known.is_none());
        }
        Ok(writes.commit()?)
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.env.force_sync()?)
    }

    /// A copy without free pages takes the file's place; it is in use from the next opening.
    fn compact(&mut self) -> Result<bool> {
        let copy = self.path.join("copy.mdb");
        let file = self.env.copy_to_path(&copy, CompactionOption::Enabled)?;
        file.sync_all()?;
        std::fs::rename(&copy, self.path.join("data.mdb"))?;
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        let reads = self.env.read_txn()?;
        let urls = self.urls;
        Ok(Box::new(Asked { urls, reads }))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.env.force_sync()?;
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

struct Asked<'a> {
    urls: Database<'static, Bytes, Unit>,
    reads: RoTxn<'a, WithoutTls>,
}

impl Reader for Asked<'_> {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(self.urls.get(&self.reads, url)?.is_some())
    }
}
