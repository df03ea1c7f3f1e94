//! seendb, with its options as they are by default, but for what a bare set of keys does
//! not need: URLs are taken as they are, no times are kept, and it syncs when asked to.

use super::{Reader, Rival};
use anyhow::Result;
use seendb::{Canon, Durability, Seen};
use std::path::Path;

struct Store(Seen);

pub(super) fn open(path: &Path) -> Result<Box<dyn Rival>> {
    let builder = Seen::builder(path.join("store"))
        .canon(Canon::raw())
        .stamps(false)
        .durability(Durability::Manual);
    Ok(Box::new(Store(builder.open()?)))
}

impl Rival for Store {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        new.append(&mut self.0.insert_many(batch)?);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(self.0.sync()?)
    }

    fn rest(&mut self) -> Result<()> {
        Ok(self.0.flush()?)
    }

    fn compact(&mut self) -> Result<bool> {
        self.0.compact()?;
        Ok(true)
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Asked(self.0.clone())))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.0.close()?)
    }
}

struct Asked(Seen);

impl Reader for Asked {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(self.0.contains(url)?)
    }

    fn has_many(&mut self, urls: &[&[u8]], found: &mut Vec<bool>) -> Result<()> {
        found.extend(self.0.get_many(urls)?.iter().map(Option::is_some));
        Ok(())
    }

    fn takes_many(&self) -> bool {
        true
    }
}
