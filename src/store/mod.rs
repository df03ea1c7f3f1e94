//! The handle on a store.

mod batch;
mod builder;
mod checks;
mod claim;
mod commit;
mod core;
mod decide;
mod driver;
mod expire;
mod flush;
mod forget;
mod gauges;
mod handle;
mod insert;
mod lookup;
mod merging;
mod open;
mod place;
mod plan;
mod query;
mod reader;
mod recover;
mod repair;
mod replay;
mod runs;
mod scan;
mod syncer;
mod transaction;
mod unnamed;
mod verify;
mod view;
mod watch;

pub use self::core::{Cut, Recovery};
pub use batch::{Applied, Batch};
pub use builder::Builder;
pub use claim::{Claim, Lease};
pub use gauges::{FilterStats, MemoryStats, RunStats, StateStats, Stats};
pub use query::Query;
pub use repair::{Lost, RepairReport};
pub use scan::Scan;
pub use verify::{Progress, VerifyReport};

use self::core::{Core, Mode};
use self::handle::Handle;
use crate::canon::{Canon, Key, ToKey};
use crate::error::{Error, Result};
use crate::record::{Record, seconds_of};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// A handle on a store: a durable, exact set of URLs.
///
/// Cheap to clone, and safe to share between threads: every method takes `&self`.
/// The store is closed when the last clone is dropped, or by
/// [`close`](Seen::close), which can say what went wrong.
///
/// Errors are never answers. A method that returns an error has said neither that
/// a URL is new nor that it was seen.
#[derive(Debug, Clone)]
pub struct Seen {
    handle: Arc<Handle>,
}

impl Seen {
    fn new(handle: Handle) -> Seen {
        Seen {
            handle: Arc::new(handle),
        }
    }

    /// Opens the store at `path` for writing, and creates it if nothing is there.
    ///
    /// # Errors
    ///
    /// See [`Builder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Seen> {
        Seen::builder(path).open()
    }

    /// Opens an existing store for reading only. Any number of readers, in any
    /// process, work beside the one writer. What they answer includes everything
    /// acknowledged before they opened or last called [`refresh`](Seen::refresh).
    ///
    /// # Errors
    ///
    /// See [`Builder::open_read_only`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Seen> {
        Seen::builder(path).open_read_only()
    }

    /// Makes a new store at `into` of all that is intact of the damaged one at `from`,
    /// which is only read. Short for [`Builder::repair_into`], which says more.
    ///
    /// ```
    /// # use seendb::Seen;
    /// # use std::ops::ControlFlow;
    /// # let dir = tempfile::tempdir()?;
    /// # let (from, into) = (dir.path().join("crawl.seen"), dir.path().join("repaired.seen"));
    /// # Seen::open(&from)?.insert("https://example.com/")?;
    /// # std::fs::write(from.join("MANIFEST"), "what a disk made of it")?;
    /// let report = Seen::repair(&from, &into, &mut |done| {
    ///     println!("{} of {} bytes", done.bytes, done.total);
    ///     ControlFlow::Continue(()) // Break ends it, and removes what was made
    /// })?;
    /// for lost in &report.lost {
    ///     println!("lost: {lost}"); // file, bytes, between which keys, and why
    /// }
    /// assert!(Seen::open(&into)?.contains("https://example.com/")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Builder::repair_into`].
    pub fn repair(
        from: impl AsRef<Path>,
        into: impl AsRef<Path>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RepairReport> {
        Seen::builder(from).repair_into(into, progress)
    }

    /// Options for opening the store at `path`.
    pub fn builder(path: impl AsRef<Path>) -> Builder {
        Builder::new(path.as_ref())
    }

    /// Records a URL. True if it is not recorded, or was forgotten or has expired: for exactly
    /// one caller, however many ask at once. When this returns, the answer survives the process
    /// being killed.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`](Error::InvalidUrl) if it can be no key;
    /// [`Io`](Error::Io) if the log cannot be written, and then nothing was
    /// recorded; [`Poisoned`](Error::Poisoned) after a failure that left the log in
    /// an unknown state; [`Corrupt`](Error::Corrupt) if the place where it would be
    /// is damaged.
    pub fn insert(&self, url: impl ToKey) -> Result<bool> {
        self.core().insert(&url)
    }

    /// What is known of a URL; `None` if it was never recorded.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`](Error::InvalidUrl), [`Corrupt`](Error::Corrupt),
    /// [`Io`](Error::Io).
    pub fn get(&self, url: impl ToKey) -> Result<Option<Record>> {
        self.core().get(&url)
    }

    /// Whether a URL was recorded.
    ///
    /// # Errors
    ///
    /// As [`get`](Seen::get).
    pub fn contains(&self, url: impl ToKey) -> Result<bool> {
        self.core().contains(&url)
    }

    /// Records many URLs as one atomic batch: after a crash all are there or none.
    /// For each, in order, whether it is new; a URL that occurs twice is new once. One
    /// invalid URL rejects them all: a [`batch`](Seen::batch) tells item by item.
    ///
    /// # Errors
    ///
    /// As [`insert`](Seen::insert), with the index of an invalid URL; then nothing
    /// was recorded. [`BatchTooLarge`](Error::BatchTooLarge) above
    /// [`batch_limit`](Seen::batch_limit).
    pub fn insert_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<bool>> {
        self.core().insert_many(urls)
    }

    /// What is known of each of many URLs, in order. Faster than one
    /// [`get`](Seen::get) after the other, as memory accesses overlap.
    ///
    /// # Errors
    ///
    /// As [`get`](Seen::get), with the index of an invalid URL.
    pub fn get_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<Option<Record>>> {
        self.core().get_many(urls)
    }

    /// Records any number of URLs in batches, each of which is atomic. How many
    /// were new.
    ///
    /// # Errors
    ///
    /// As [`insert_many`](Seen::insert_many); the batches before stay recorded.
    pub fn extend<I>(&self, urls: I) -> Result<u64>
    where
        I: IntoIterator,
        I::Item: ToKey,
    {
        self.core().extend(urls)
    }

    /// An empty batch that canonicalizes each URL as it is added.
    #[must_use]
    pub fn batch(&self) -> Batch {
        Batch::with_canon(self.core().canon.clone())
    }

    /// Applies a batch, whole or not at all.
    ///
    /// # Errors
    ///
    /// As [`insert_many`](Seen::insert_many), and
    /// [`StalePosition`](Error::StalePosition); [`LeaseLost`](Error::LeaseLost) if it
    /// settles a claim that is not in force.
    pub fn apply(&self, batch: Batch) -> Result<Applied> {
        self.core().apply(self, &batch)
    }

    /// The largest batch in bytes, where a URL counts with the length of its key and
    /// [`Batch::ITEM_OVERHEAD`], and at most [`Batch::RECORD_OVERHEAD`] more if it is claimed,
    /// settled or put: a quarter of [`memory`](Builder::memory), at most 16 MiB.
    #[must_use]
    pub fn batch_limit(&self) -> usize {
        self.core().options.batch_limit()
    }

    /// Canonicalizes a URL once, for several calls.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`](Error::InvalidUrl).
    pub fn key(&self, url: impl AsRef<[u8]>) -> Result<Key> {
        let url = url.as_ref();
        url.to_key(&self.core().canon)
            .map(Key::new)
            .map_err(Error::invalid)
    }

    /// The keys that begin with `prefix`, in order, with their records. The prefix
    /// is compared with keys, that is, with canonical URLs.
    ///
    /// # Errors
    ///
    /// [`Corrupt`](Error::Corrupt) and [`Io`](Error::Io); each item can be one too.
    pub fn scan(&self, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        self.core().query(&Query::new().prefix(prefix))
    }

    /// The keys that `query` asks for, in order, with their records.
    ///
    /// # Errors
    ///
    /// As [`scan`](Seen::scan); [`StampsOff`](Error::StampsOff) for a query by time in a
    /// store without times.
    pub fn query(&self, query: &Query) -> Result<Scan> {
        self.core().query(query)
    }

    /// The keys that [`claim`](Seen::claim) would grant at `now`, in order, with their
    /// records: a crawler needs no list of its own of what is still to be fetched. It reads
    /// all keys, in bounded memory, and gives them as of when it began.
    ///
    /// What has [expired](Builder::expire_after) is among them until a merge has removed it:
    /// then the store knows it no more, and it is new when it is found again. Who is to come
    /// back to a page although nothing may link to it puts it to [`State::Seen`](crate::State)
    /// instead.
    ///
    /// ```
    /// # use seendb::{Claim, Seen};
    /// # use std::time::{Duration, SystemTime};
    /// # let dir = tempfile::tempdir()?;
    /// # let seen = Seen::open(dir.path().join("crawl.seen"))?;
    /// seen.insert("https://example.com/")?;
    /// for entry in seen.due(SystemTime::now())? {
    ///     let (key, _) = entry?;
    ///     if let Claim::Granted(lease) = seen.claim(&key, "me", Duration::from_secs(60))? {
    ///         lease.fetched(200, None)?;
    ///     }
    /// }
    /// assert_eq!(seen.due(SystemTime::now())?.count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`scan`](Seen::scan); [`StampsOff`](Error::StampsOff) in a store without times.
    pub fn due(&self, now: SystemTime) -> Result<Scan> {
        self.core().due(seconds_of(now))
    }

    /// The number of URLs recorded. One that [expired](Builder::expire_after) counts until
    /// a merge has removed it.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.core().view.load().len()
    }

    /// Whether no URL is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes everything recorded so far survive a power loss.
    ///
    /// # Errors
    ///
    /// [`Poisoned`](Error::Poisoned) if the system could not: then what was
    /// recorded since the last sync may or may not survive one.
    pub fn sync(&self) -> Result<()> {
        self.core().sync_all()
    }

    /// Writes all memtables to segments.
    ///
    /// # Errors
    ///
    /// [`Io`](Error::Io): everything stays in its log, and is flushed later.
    pub fn flush(&self) -> Result<()> {
        self.core().flush_all()
    }

    /// Writes all memtables to segments, and merges all runs into one.
    ///
    /// # Errors
    ///
    /// As [`flush`](Seen::flush); the runs stay as they are.
    pub fn compact(&self) -> Result<()> {
        let core = self.core();
        core.flush_all()?;
        core.merge_all(core.writer()?)
    }

    /// Brings a read-only handle up to date: its answers include everything that
    /// was acknowledged before this call began. A writing handle always is.
    ///
    /// # Errors
    ///
    /// [`Corrupt`](Error::Corrupt), [`Io`](Error::Io); the handle stays as it was.
    pub fn refresh(&self) -> Result<()> {
        self.core().refresh(false).map(drop)
    }

    /// Does one bounded step of background work: a sync, a flush, a piece of a
    /// merge. False if there was none to do. For stores opened with
    /// [`Driver::Manual`](crate::Driver::Manual).
    ///
    /// # Errors
    ///
    /// Those of the step.
    pub fn step(&self) -> Result<bool> {
        self.core().step()
    }

    /// Counters and sizes.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core().stats()
    }

    /// Reads every file of the store and checks every checksum, the order of keys
    /// and that filters know their keys; see [`verify`](crate::verify).
    ///
    /// # Errors
    ///
    /// Only if the manifest or the directory cannot be read; other damage is in the
    /// report.
    pub fn verify(&self, progress: &mut dyn FnMut(&Progress)) -> Result<VerifyReport> {
        let core = self.core();
        verify::verify(&core.options.env.vfs, &core.dir, progress)
    }

    /// The store's canonicalization policy.
    #[must_use]
    pub fn canon(&self) -> &Canon {
        &self.core().canon
    }

    /// The store's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.core().dir
    }

    /// What opening read from logs.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.core().recovery
    }

    /// The position of the last batch applied that had one.
    #[must_use]
    pub fn position(&self) -> Option<u64> {
        match &self.core().mode {
            Mode::Write(writer) => writer.syncer.positions().applied,
            Mode::Read(reader) => Core::reader_position(reader),
        }
    }

    /// The position that survives a power loss: a consumer may forget what it
    /// consumed up to here. For a read-only handle, the position in segments.
    #[must_use]
    pub fn durable_position(&self) -> Option<u64> {
        match &self.core().mode {
            Mode::Write(writer) => writer.syncer.positions().durable,
            Mode::Read(reader) => Core::reader_durable_position(reader),
        }
    }

    /// Flushes and closes the store, whatever other clones exist: their writes
    /// answer [`Closed`](Error::Closed) from now on.
    ///
    /// # Errors
    ///
    /// Why the flush failed. What was recorded is in the log then, and is found at
    /// the next opening.
    pub fn close(self) -> Result<()> {
        self.handle.close()
    }

    fn core(&self) -> &Core {
        &self.handle.core
    }
}

/// Checks the store at `path`, also one that is too damaged to be opened: every
/// checksum, the order of keys, that each key is in its filter, counts, and content
/// hashes. `progress` is called every few blocks.
///
/// # Errors
///
/// [`NoSuchStore`](Error::NoSuchStore), [`NotAStore`](Error::NotAStore), or the
/// damage of the manifest; other damage is in the report.
pub fn verify(path: impl AsRef<Path>, progress: &mut dyn FnMut(&Progress)) -> Result<VerifyReport> {
    Seen::builder(path).verify(progress)
}
