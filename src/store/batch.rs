//! Batches: several operations that are applied whole or not at all.

use super::Seen;
use super::claim::{Claim, Lease, check_worker, claim_of};
use super::decide::{Answer, Op, Settle};
use crate::canon::{Canon, ToKey};
use crate::error::{Error, Result};
use crate::header::StoreId;
use crate::memtable::entry_size;
use crate::options::Durability;
use crate::record::{State, cut_reason, whole_seconds};
use std::time::{Duration, SystemTime};

/// Operations to be applied together, with [`Seen::apply`](crate::Seen::apply).
///
/// ```
/// # use seendb::{Batch, Seen};
/// # let dir = tempfile::tempdir()?;
/// let seen = Seen::open(dir.path().join("crawl.seen"))?;
/// let mut batch = seen.batch();
/// batch.insert("https://example.com/a")?;
/// assert!(batch.insert("not a URL").is_err()); // this item only
/// batch.position(42);
/// let applied = seen.apply(batch)?;
/// assert_eq!(applied.new, [true]);
/// assert_eq!(seen.position(), Some(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A page and the links found on it, in one step:
///
/// ```
/// # use seendb::{Claim, Seen};
/// # use std::time::Duration;
/// # let dir = tempfile::tempdir()?;
/// # let seen = Seen::open(dir.path().join("crawl.seen"))?;
/// let claim = seen.claim("https://example.com/", "worker 1", Duration::from_secs(60))?;
/// if let Claim::Granted(lease) = claim {
///     // ... fetch it, and then:
///     let mut batch = seen.batch();
///     batch.fetched(&lease, 200, None);
///     for link in ["https://example.com/a", "https://example.com/b"] {
///         batch.insert(link)?;
///     }
///     let applied = seen.apply(batch)?;
///     assert_eq!(applied.new, [false, true, true]); // the page was known, its links not
/// }
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
    /// Items that are no inserts, by place.
    others: Vec<(usize, Op)>,
    /// The stores of the leases that it settles.
    stores: Vec<StoreId>,
    at: Option<SystemTime>,
    position: Option<u64>,
    durability: Option<Durability>,
}

/// What applying a batch did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Applied {
    /// For each item, in order: whether its URL had not been recorded before. Of a claim:
    /// whether it was granted. Of a URL to be forgotten: whether it was there.
    pub new: Vec<bool>,
    /// The answers to the claims among the items, in order.
    pub claims: Vec<Claim>,
}

impl Batch {
    /// What an item counts with towards [`batch_limit`](crate::Seen::batch_limit),
    /// in bytes, beside its key.
    pub const ITEM_OVERHEAD: usize = crate::memtable::OVERHEAD;

    /// What an item that is neither an insert nor to be forgotten counts with besides, at
    /// most.
    pub const RECORD_OVERHEAD: usize = u8::MAX as usize;

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

    fn other(&mut self, url: impl ToKey, op: Op) -> Result<()> {
        self.insert(url)?;
        self.others.push((self.ends.len() - 1, op));
        Ok(())
    }

    /// Claims a URL, as [`Seen::claim`](crate::Seen::claim) does. The answer is in
    /// [`Applied::claims`].
    ///
    /// # Errors
    ///
    /// As [`insert`](Batch::insert), and [`Error::InvalidOption`] for a worker's name or a
    /// lease that cannot be.
    pub fn claim(&mut self, url: impl ToKey, worker: &str, lease: Duration) -> Result<()> {
        let op = Op::Claim {
            worker: check_worker(worker)?,
            lease: super::claim::check_lease(lease)?,
        };
        self.other(url, op)
    }

    /// Records that a page was fetched, as [`Lease::fetched`] does. If the claim was lost,
    /// nothing of the batch is applied.
    pub fn fetched(&mut self, lease: &Lease, status: u16, content: impl Into<Option<[u8; 16]>>) {
        let content = content.into();
        self.settle(lease, Settle::Fetched { status, content });
    }

    /// Records that a page was not fetched, as [`Lease::failed`] does.
    pub fn failed(
        &mut self,
        lease: &Lease,
        reason: &str,
        retry_after: impl Into<Option<Duration>>,
    ) {
        let how = Settle::Failed {
            reason: cut_reason(reason).into(),
            retry_after: retry_after.into().map(whole_seconds),
        };
        self.settle(lease, how);
    }

    /// Gives a claim back, as [`Lease::release`] does.
    pub fn release(&mut self, lease: &Lease) {
        self.settle(lease, Settle::Release);
    }

    fn settle(&mut self, lease: &Lease, how: Settle) {
        self.bytes.extend_from_slice(lease.key().as_bytes());
        self.ends.push(self.bytes.len());
        let token = lease.token();
        if self.stores.last() != Some(&lease.store()) {
            self.stores.push(lease.store());
        }
        self.others
            .push((self.ends.len() - 1, Op::Settle { token, how }));
    }

    /// Sets a URL's state, as [`Seen::put`](crate::Seen::put) does.
    ///
    /// # Errors
    ///
    /// As [`insert`](Batch::insert), and [`Error::InvalidOption`] for
    /// [`State::Claimed`].
    pub fn put(&mut self, url: impl ToKey, state: State) -> Result<()> {
        let op = super::claim::put_op(state)?;
        self.other(url, op)
    }

    /// Forgets a URL, as [`Seen::forget`](crate::Seen::forget) does.
    ///
    /// # Errors
    ///
    /// As [`insert`](Batch::insert).
    pub fn forget(&mut self, url: impl ToKey) -> Result<()> {
        self.other(url, Op::Forget)
    }

    /// Sets the time of the batch, which its entries carry and by which claims run out and
    /// records expire; without it, the time of applying. Kept to the second; times before
    /// 1970 count as 1970.
    ///
    /// Merges remove what has expired by the clock, whatever time batches have. So replicas
    /// that apply the same batches decide the same as long as these are not behind the
    /// clock by as much as the age at which records expire.
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

    /// Whether it settles a lease of another store.
    pub(super) fn has_lease_of_another(&self, store: StoreId) -> bool {
        self.stores.iter().any(|of| *of != store)
    }

    /// The operations, one for each item; `None` if all are inserts.
    pub(super) fn ops(&self) -> Option<Vec<Op>> {
        if self.others.is_empty() {
            return None;
        }
        let mut ops = vec![Op::Insert; self.len()];
        for (place, op) in &self.others {
            if let Some(slot) = ops.get_mut(*place) {
                *slot = op.clone();
            }
        }
        Some(ops)
    }

    /// The items as keys under `canon`.
    pub(super) fn keys(&self, canon: &Canon) -> Result<Keys> {
        // Items that went through this very policy are keys already.
        let done = self.canon.as_ref() == Some(canon);
        let raw = Canon::raw();
        let canon = if done { &raw } else { canon };
        let mut keys = Keys::default();
        let mut start = 0;
        let mut others = self.others.iter().peekable();
        for (place, &end) in self.ends.iter().enumerate() {
            let item = self.bytes.get(start..end).unwrap_or_default();
            match others.next_if(|(at, _)| *at == place) {
                // The key of a claim is one already.
                Some((_, op @ Op::Settle { .. })) => keys.push_key(item, op.extra()),
                Some((_, op)) => {
                    keys.push(item, canon).map_err(|e| e.at(place))?;
                    keys.size += op.extra();
                }
                None => keys.push(item, canon).map_err(|e| e.at(place))?,
            }
            start = end;
        }
        Ok(keys)
    }
}

impl Applied {
    pub(super) fn from_answers(seen: &Seen, keys: &Keys, answers: Vec<Answer>) -> Applied {
        let mut applied = Applied::default();
        for (place, answer) in answers.into_iter().enumerate() {
            applied.new.push(match &answer {
                Answer::Inserted(yes) | Answer::Forgotten(yes) => *yes,
                Answer::Granted(_) => true,
                _ => false,
            });
            applied
                .claims
                .extend(claim_of(seen, keys.get(place), answer));
        }
        applied
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

/// Bytes of a URL's key, as long as none was seen.
const USUAL_KEY: usize = 80;

impl Keys {
    /// With room for so many of usual length.
    pub(super) fn with_capacity(keys: usize) -> Keys {
        Keys {
            bytes: Vec::with_capacity(keys.saturating_mul(USUAL_KEY)),
            ends: Vec::with_capacity(keys),
            size: 0,
        }
    }

    pub(super) fn push<U: ToKey + ?Sized>(&mut self, url: &U, canon: &Canon) -> Result<()> {
        let key = url.to_key(canon).map_err(Error::invalid)?;
        self.bytes.extend_from_slice(&key);
        self.ends.push(self.bytes.len());
        self.size += entry_size(key.len());
        Ok(())
    }

    /// Adds a key whose record takes `extra` bytes more than that of an insert.
    pub(super) fn push_key(&mut self, key: &[u8], extra: usize) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.size += entry_size(key.len()) + extra;
    }

    /// Counts bytes of records beside those of inserts.
    pub(super) fn add_size(&mut self, extra: usize) {
        self.size += extra;
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
