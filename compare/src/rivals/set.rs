//! A set in memory: what all others are measured against.

use super::{Reader, Rival};
use anyhow::Result;
use hashbrown::HashSet;

/// URLs in boxed slices, with the default hasher.
#[derive(Default)]
pub(crate) struct Set(HashSet<Box<[u8]>>);

impl Rival for Set {
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        for url in batch {
            new.push(self.0.insert(Box::from(*url)));
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader + '_>> {
        Ok(Box::new(Asked(&self.0)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Asked<'a>(&'a HashSet<Box<[u8]>>);

impl Reader for Asked<'_> {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(self.0.contains(url))
    }
}
