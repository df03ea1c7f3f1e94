//! What `new` asks and tells: the store, or, in a dry run, the store and the
//! run's own memory.

use super::batches::BATCH_BYTES;
use super::failure::Failure;
use super::lines::Ready;
use super::writer::{Options, Waiting};
use crate::{Canon, Error, Seen};
use std::collections::HashSet;
use std::path::Path;

/// Where lines are remembered.
pub(super) enum Target {
    Store(Seen),
    Dry {
        /// Absent if there is none: then everything is new.
        store: Option<Seen>,
        canon: Canon,
        /// Keys that this run printed.
        printed: HashSet<Box<[u8]>>,
    },
}

impl Target {
    pub(super) fn writer(
        path: &Path,
        options: &Options,
        waiting: &Waiting,
    ) -> Result<Target, Failure> {
        let store = waiting.open(|| options.builder(path))?;
        Ok(Target::Store(store))
    }

    /// Opens the store read-only, and creates nothing if there is none.
    pub(super) fn dry(path: &Path, options: &Options) -> Result<Target, Failure> {
        let store = match options.builder(path).open_read_only() {
            Ok(store) => Some(store),
            Err(Error::NoSuchStore { .. }) => None,
            Err(e) => return Err(e.into()),
        };
        Ok(Target::Dry {
            canon: store
                .as_ref()
                .map_or_else(|| options.canon(), |store| store.canon().clone()),
            store,
            printed: HashSet::new(),
        })
    }

    pub(super) fn store(&self) -> Option<&Seen> {
        match self {
            Target::Store(store) => Some(store),
            Target::Dry { store, .. } => store.as_ref(),
        }
    }

    pub(super) fn canon(&self) -> &Canon {
        match self {
            Target::Store(store) => store.canon(),
            Target::Dry { canon, .. } => canon,
        }
    }

    /// The most that the keys of a batch may take, `ITEM_OVERHEAD` bytes added for each.
    pub(super) fn batch_bytes(&self) -> usize {
        self.store()
            .map_or(BATCH_BYTES, |store| store.batch_limit().min(BATCH_BYTES))
    }

    /// Tells the new keys by their places. A key twice among them is new at its first place.
    pub(super) fn which_are_new(&self, keys: &[Ready<'_>]) -> Result<Vec<bool>, Failure> {
        let known = match self.store() {
            Some(store) => store.get_many(keys)?,
            None => vec![None; keys.len()],
        };
        let mut batch = HashSet::with_capacity(keys.len());
        Ok(keys
            .iter()
            .zip(known)
            .map(|(key, known)| known.is_none() && !self.printed(key) && batch.insert(key.0))
            .collect())
    }

    fn printed(&self, key: &Ready<'_>) -> bool {
        match self {
            Target::Store(_) => false,
            Target::Dry { printed, .. } => printed.contains(key.0),
        }
    }

    /// Remembers keys whose lines were printed.
    pub(super) fn remember(&mut self, keys: &[Ready<'_>]) -> Result<(), Failure> {
        match self {
            _ if keys.is_empty() => {}
            Target::Store(store) => {
                store.insert_many(keys)?;
            }
            Target::Dry { printed, .. } => {
                printed.extend(keys.iter().map(|key| Box::from(key.0)));
            }
        }
        Ok(())
    }

    /// Syncs and closes.
    pub(super) fn close(self) -> Result<(), Failure> {
        match self {
            Target::Store(store) => store.close()?,
            Target::Dry { store, .. } => {
                if let Some(store) = store {
                    store.close()?;
                }
            }
        }
        Ok(())
    }
}
