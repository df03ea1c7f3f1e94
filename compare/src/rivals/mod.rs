//! The stores that are compared, behind one trait.

mod fjall;
mod fst;
mod lmdb;
mod redb;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod seendb;
mod set;
mod sqlite;

use crate::corpus::Packed;
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

pub(crate) use set::Set;

/// What a store is opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// Bytes of the cache of those that have one of their own.
    pub(crate) cache: u64,
    /// Whether the store is compacted after it was filled, if it can be.
    pub(crate) compact: bool,
}

/// A store that takes URLs, open for writing.
pub(crate) trait Rival {
    /// Records a batch of URLs. Says of each, at the end of `new`, whether it was new: the
    /// second of two equal ones is not. When it returns, the batch is recorded as a whole.
    fn insert(&mut self, batch: &[&[u8]], new: &mut Vec<bool>) -> Result<()>;

    /// Makes all that was recorded survive a power loss.
    fn sync(&mut self) -> Result<()>;

    /// Writes what waits in memory to where lookups find it at rest, and waits for the
    /// background work that the store tells of.
    fn rest(&mut self) -> Result<()> {
        Ok(())
    }

    /// Compacts the store; false if it has no such thing.
    fn compact(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// What asks it, from one thread.
    fn reader(&self) -> Result<Box<dyn Reader + '_>>;

    /// Closes the store, so that nothing is left to do at the next opening.
    fn close(self: Box<Self>) -> Result<()>;
}

/// Asks a store, from one thread at a time.
pub(crate) trait Reader: Send {
    fn has(&mut self, url: &[u8]) -> Result<bool>;

    /// Says of each URL, at the end of `found`, whether it is there.
    fn has_many(&mut self, urls: &[&[u8]], found: &mut Vec<bool>) -> Result<()> {
        for url in urls {
            found.push(self.has(url)?);
        }
        Ok(())
    }

    /// Whether `has_many` is more than single calls.
    fn takes_many(&self) -> bool {
        false
    }
}

/// A store's name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Name {
    Set,
    Seendb,
    Rocksdb,
    Fjall,
    Redb,
    Lmdb,
    Sqlite,
    Fst,
}

impl Name {
    /// All that this build has.
    pub(crate) fn all() -> impl Iterator<Item = Name> {
        let all = Name::value_variants().iter().copied();
        all.filter(|name| *name != Name::Rocksdb || cfg!(feature = "rocksdb"))
    }

    /// In words, for tables.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Name::Set => "hash set",
            Name::Seendb => "seendb",
            Name::Rocksdb => "RocksDB",
            Name::Fjall => "fjall",
            Name::Redb => "redb",
            Name::Lmdb => "LMDB",
            Name::Sqlite => "SQLite",
            Name::Fst => "fst",
        }
    }

    /// The crate that it comes from.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Name::Set => "hashbrown",
            Name::Seendb => "seendb",
            Name::Rocksdb => "rust-librocksdb-sys",
            Name::Fjall => "fjall",
            Name::Redb => "redb",
            Name::Lmdb => "heed",
            Name::Sqlite => "rusqlite",
            Name::Fst => "fst",
        }
    }

    /// Whether it keeps anything on disk.
    pub(crate) fn is_stored(self) -> bool {
        self != Name::Set
    }

    /// Whether it is built of all URLs at once, and takes none later.
    pub(crate) fn is_bulk(self) -> bool {
        self == Name::Fst
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// Opens a store at a path that is its own, or makes one if there is none.
pub(crate) fn open(name: Name, path: &Path, settings: Settings) -> Result<Box<dyn Rival>> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    let opened: Result<Box<dyn Rival>> = match name {
        Name::Set => Ok(Box::new(Set::default())),
        Name::Seendb => seendb::open(path),
        #[cfg(feature = "rocksdb")]
        Name::Rocksdb => rocksdb::open(path, settings),
        #[cfg(not(feature = "rocksdb"))]
        Name::Rocksdb => Err(anyhow::anyhow!(
            "this program was built without it; build it with --features rocksdb"
        )),
        Name::Fjall => fjall::open(path, settings),
        Name::Redb => redb::open(path, settings),
        Name::Lmdb => lmdb::open(path),
        Name::Sqlite => sqlite::open(path, settings),
        Name::Fst => fst::open(path),
    };
    opened.with_context(|| format!("cannot open {} at {}", name.title(), path.display()))
}

/// Builds a store that takes all URLs at once. Gives how many different ones there were.
pub(crate) fn build(path: &Path, urls: &Packed) -> Result<usize> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    fst::build(path, urls)
}
