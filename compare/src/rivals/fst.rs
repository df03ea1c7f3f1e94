//! fst: a sorted set in a minimal automaton. It is built once, and takes no URL later.
#![allow(
    unsafe_code,
    reason = "a memory map of a file that nobody else touches"
)]

use super::{Reader, Rival};
use crate::corpus::Packed;
use anyhow::{Context, Result, bail};
use fst::{Set, SetBuilder};
use memmap2::Mmap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const FILE: &str = "store.fst";

struct Store(Set<Mmap>);

/// Sorts the URLs, leaves out repeats, and writes the set. It is durable then.
pub(super) fn build(path: &Path, urls: &Packed) -> Result<usize> {
    let path = path.join(FILE);
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut sorted: Vec<&[u8]> = urls.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut builder = SetBuilder::new(BufWriter::with_capacity(1 << 20, file))?;
    for url in &sorted {
        builder.insert(url)?;
    }
    builder.into_inner()?.into_inner()?.sync_all()?;
    Ok(sorted.len())
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Rival>> {
    let file = File::open(path.join(FILE))?;
    // SAFETY: the file is in a directory of this program's own, which writes it no more.
    let map = unsafe { Mmap::map(&file)? };
    Ok(Box::new(Store(Set::new(map)?)))
}

impl Rival for Store {
    fn insert(&mut self, _: &[&[u8]], _: &mut Vec<bool>) -> Result<()> {
        bail!("it takes no URL after it was built")
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

struct Asked<'a>(&'a Set<Mmap>);

impl Reader for Asked<'_> {
    fn has(&mut self, url: &[u8]) -> Result<bool> {
        Ok(self.0.contains(url))
    }
}
