//! Batches: several inserts that are applied whole or not at all.

use crate::canon::{Canon, ToKey};
use crate::error::{Error, Result};
use crate::memtable::entry_size;
use crate::options::Durability;
use std::time::SystemTime;

/// Inserts to be applied together, with [`Seen::apply`](crate::Seen::apply).
///
/// ```
/// # use seendb::{Batch, Seen};
/// # let dir = tempfile::tempdir()?;
/// let seen = Seen::open(dir.path().join("crawl.seen"))?;
/// let mut batch = seen.batch();
/// batch.insert("https://example.com/a")?;
/// assert!(batch.insert("not a URL").is_err()); // this item only
/// batch.position(42);
/// let outcome = seen.apply(batch)?;
/// assert_eq!(outcome.new, [true]);
/// assert_eq!(seen.position(), Some(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The policy that items went through; `None`: they still have to.
    canon: Option<Canon>,
    /// The items' bytes, one after the other.
    bytes: Vec<u8>,
    /// Where each item ends.
    ends: Vec<usize>,
    at: Option<SystemTime>,
    position: Option<u64>,
    durability: Option<Durability>,
}

/// What applying a batch did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// For each item, in order: whether its URL had not been recorded before.
    pub new: Vec<bool>,
}

impl Batch {
    /// What an item counts with towards [`batch_limit`](crate::Seen::batch_limit),
    /// in bytes, beside its key.
    pub const ITEM_OVERHEAD: usize = crate::memtable::OVERHEAD;

    /// An empty batch for any store. URLs are canonicalized when it is applied;
    /// [`Seen::batch`](crate::Seen::batch) does so at each insert instead.
    #[must_use]
    pub fn new() -> Batch {
        Batch::default()
    }

    pub(super) fn with_canon(canon: Canon) -> Batch {
        Batch {
            canon: Some(canon),
            ..Batch::default()
        }
    }

    /// Adds a URL.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidUrl`] about this item; the batch is as before. A batch that
    /// was made with [`Batch::new`] notices only URLs that no policy takes.
    pub fn insert(&mut self, url: impl ToKey) -> Result<()> {
        let raw = Canon::raw();
        let canon = self.canon.as_ref().unwrap_or(&raw);
        let key = url.to_key(canon).map_err(Error::invalid)?;
        self.bytes.extend_from_slice(&key);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Sets the time that the batch's new entries carry; without it, the time of
    /// applying. Kept to the millisecond; times before 1970 count as 1970.
    pub fn at(&mut self, time: SystemTime) -> &mut Batch {
        self.at = Some(time);
        self
    }

    /// Sets a number that is stored atomically with the batch: where a consumer
    /// of an outside log stands. It must be above the position of every batch
    /// applied before.
    pub fn position(&mut self, position: u64) -> &mut Batch {
        self.position = Some(position);
        self
    }

    /// Raises the durability of this batch above that of the store. Only
    /// [`Durability::Immediate`] makes a difference.
    pub fn durability(&mut self, durability: Durability) -> &mut Batch {
        self.durability = Some(durability);
        self
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn time(&self) -> Option<SystemTime> {
        self.at
    }

    pub(super) fn wanted_position(&self) -> Option<u64> {
        self.position
    }

    pub(super) fn is_immediate(&self) -> bool {
        self.durability == Some(Durability::Immediate)
    }

    /// The items as keys under `canon`.
    pub(super) fn keys(&self, canon: &Canon) -> Result<Keys> {
        // Items that went through this very policy are keys already.
        let done = self.canon.as_ref() == Some(canon);
        let raw = Canon::raw();
        let canon = if done { &raw } else { canon };
        let mut keys = Keys::default();
        let mut start = 0;
        for (place, &end) in self.ends.iter().enumerate() {
            let item = self.bytes.get(start..end).unwrap_or_default();
            keys.push(item, canon).map_err(|e| e.at(place))?;
            start = end;
        }
        Ok(keys)
    }
}

/// Keys, packed.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// What they can take in a memtable.
    size: usize,
}

impl Keys {
    pub(super) fn push<U: ToKey + ?Sized>(&mut self, url: &U, canon: &Canon) -> Result<()> {
        let key = url.to_key(canon).map_err(Error::invalid)?;
        self.bytes.extend_from_slice(&key);
        self.ends.push(self.bytes.len());
        self.size += entry_size(key.len());
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    #[inline]
    pub(super) fn get(&self, place: usize) -> &[u8] {
        let start = match place {
            0 => 0,
            _ => self.ends.get(place - 1).copied().unwrap_or(0),
        };
        let end = self.ends.get(place).copied().unwrap_or(start);
        self.bytes.get(start..end).unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.size = 0;
    }
}
