//! Options, then open.

use super::{Progress, RepairReport, Seen, VerifyReport, open, place, repair, verify};
use crate::canon::Canon;
use crate::codec::Codec;
use crate::env::Env;
use crate::error::Result;
use crate::filter::FilterKind;
use crate::options::{Driver, Durability, ExpiryOption, Options, Reads, Writes};
use crate::record::{StateKind, whole_seconds};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a store, given before it is opened.
///
/// ```
/// # use seendb::{Canon, Durability, Seen};
/// # use std::time::Duration;
/// # let dir = tempfile::tempdir()?;
/// let seen = Seen::builder(dir.path().join("crawl.seen"))
///     .canon(Canon::raw())
///     .durability(Durability::Interval(Duration::from_millis(200)))
///     .create()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    path: PathBuf,
    options: Options,
}

impl Builder {
    pub(super) fn new(path: &Path) -> Builder {
        Builder {
            path: path.to_path_buf(),
            options: Options::default(),
        }
    }

    /// The canonicalization policy: which spellings are one URL. Fixed at
    /// creation, where the default is [`Canon::standard`]; for an existing store
    /// leave it out, or give the store's own.
    pub fn canon(mut self, canon: Canon) -> Builder {
        self.options.canon = Some(canon);
        self
    }

    /// Whether entries carry the time first seen. Fixed at creation, where the
    /// default is true; for an existing store leave it out, or give the store's.
    pub fn stamps(mut self, stamps: bool) -> Builder {
        self.options.stamps = Some(stamps);
        self
    }

    /// The age at which what is known of a URL no longer counts: it is then not seen, and
    /// new once, at the next insert or claim. `None` is never, the default. The age is
    /// counted in whole seconds, from when the state last changed. Claims do not expire:
    /// they run out.
    ///
    /// It is kept with the store, until it is opened for writing with another. What has
    /// expired goes from the disk, and from [`len`](Seen::len), when runs are merged.
    ///
    /// ```
    /// # use seendb::{Seen, StateKind};
    /// # use std::time::Duration;
    /// # let dir = tempfile::tempdir()?;
    /// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    /// let seen = Seen::builder(dir.path().join("crawl.seen"))
    ///     .expire_state_after(StateKind::Fetched, 30 * DAY)
    ///     .expire_state_after(StateKind::Failed, DAY)
    ///     .open()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire_after(mut self, age: impl Into<Option<Duration>>) -> Builder {
        let age = Some(age.into().map(whole_seconds));
        self.options.expiry = ExpiryOption {
            seen: age,
            fetched: age,
            failed: age,
            ..ExpiryOption::default()
        };
        self
    }

    /// As [`expire_after`](Builder::expire_after), for one state. Opening refuses an age for
    /// [`Claimed`](StateKind::Claimed).
    pub fn expire_state_after(
        mut self,
        state: StateKind,
        age: impl Into<Option<Duration>>,
    ) -> Builder {
        let age = Some(age.into().map(whole_seconds));
        let expiry = &mut self.options.expiry;
        match state {
            StateKind::Seen => expiry.seen = age,
            StateKind::Fetched => expiry.fetched = age,
            StateKind::Failed => expiry.failed = age,
            StateKind::Claimed => expiry.claimed = age != Some(None),
        }
        self
    }

    /// The needless reads that a lookup of an absent key may cost on average, over all runs
    /// together: 0.01, the default, is one read in a hundred such lookups. From 0.000001 to
    /// 0.5. It affects speed and memory, never answers. Each new filter takes the share that
    /// its size earns; those of segments that are there stay as they are until they are merged.
    ///
    /// It is kept with the store, until it is opened for writing with another.
    pub fn false_positive_rate(mut self, rate: f64) -> Builder {
        self.options.rate = Some(rate);
        self
    }

    /// When the store makes itself durable against a power loss; every second by
    /// default.
    pub fn durability(mut self, durability: Durability) -> Builder {
        self.options.durability = durability;
        self
    }

    /// How filters of new segments are built; [`FilterKind::Blocked`] by default. It is kept
    /// with the store, until it is opened for writing with another.
    pub fn filter(mut self, kind: FilterKind) -> Builder {
        self.options.filter = Some(kind);
        self
    }

    /// How the keys of new segments are coded; [`Codec::Standard`] by default. It is kept with
    /// the store until it is opened for writing with another, and applies to all after
    /// [`compact`](Seen::compact). What [`Codec::Dense`] makes counts as an index; with a
    /// [`memory`](Builder::memory) below 128 MiB it is as [`Codec::Standard`].
    ///
    /// ```
    /// # use seendb::{Codec, Seen};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("crawl.seen");
    /// let seen = Seen::builder(&path).codec(Codec::Dense).open()?;
    /// seen.insert("https://example.com/")?;
    /// seen.compact()?; // what flushes wrote is dense only once it is merged
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn codec(mut self, codec: Codec) -> Builder {
        self.options.codec = Some(codec);
        self
    }

    /// Bytes of memory for memtables, filters and indexes together, at least 8 MiB and four
    /// times what a memtable takes. By default they take as much as they need.
    ///
    /// It is held: where filters for the rate asked for do not fit, new ones are built for the
    /// lowest rate that does, and no write waits or fails for it.
    /// [`Stats::filter`](crate::Stats) tells the rate to be expected, the one that fits, and the
    /// memory that the one asked for needs. Opening leaves filters on disk that do not fit,
    /// those of the oldest runs first, and refuses a memory that is too little for memtables
    /// and indexes. A handle that only reads holds the filters of its runs to it.
    ///
    /// ```
    /// # use seendb::{FilterKind, Seen};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("crawl.seen");
    /// let seen = Seen::builder(&path).memory(256 << 20).filter(FilterKind::Fuse).open()?;
    /// let filter = seen.stats().filter;
    /// if filter.fits > Some(filter.asked) {
    ///     eprintln!("{} needs {} bytes", filter.asked, filter.needed);
    /// }
    /// # assert_eq!(filter.fits, Some(0.01));
    /// # seen.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory(mut self, bytes: u64) -> Builder {
        self.options.memory = Some(bytes);
        self
    }

    /// Bytes of memory for one memtable, 64 MiB by default, or an eighth of
    /// [`memory`](Builder::memory) if that is less; at least 1 MiB. At
    /// most three exist: one that takes entries, and two that wait to be flushed. Where keys
    /// change their state before they are flushed, it takes up to an eighth more.
    /// Memory that is not used is not taken.
    pub fn memtable_size(mut self, bytes: usize) -> Builder {
        self.options.memtable = Some(bytes);
        self
    }

    /// The size in bytes at which a run goes on in another segment, 128 MiB by
    /// default.
    pub fn segment_size(mut self, bytes: u64) -> Builder {
        self.options.segment_size = bytes;
        self
    }

    /// How blocks of segments are read; through a memory map by default.
    pub fn reads(mut self, reads: Reads) -> Builder {
        self.options.reads = reads;
        self
    }

    /// How frames are written to the log; through a memory map by default.
    pub fn writes(mut self, writes: Writes) -> Builder {
        self.options.writes = writes;
        self
    }

    /// Who does the background work; threads of the store by default.
    pub fn driver(mut self, driver: Driver) -> Builder {
        self.options.driver = driver;
        self
    }

    /// The file system, clock and randomness; the operating system's by default.
    pub fn env(mut self, env: Env) -> Builder {
        self.options.env = env;
        self
    }

    /// Entries that one piece of a merge takes: a few, so that much happens between the
    /// pieces of small merges.
    #[cfg(feature = "fuzz")]
    #[doc(hidden)]
    pub fn merge_piece(mut self, entries: usize) -> Builder {
        self.options.piece = entries.max(1);
        self
    }

    /// Creates a store where none exists.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](crate::Error::AlreadyExists) if there is one, and those of
    /// [`open`](Builder::open).
    pub fn create(self) -> Result<Seen> {
        open::open(&self.path, self.options, true).map(Seen::new)
    }

    /// Opens a store for writing; creates it if nothing exists at the path, or an
    /// empty directory.
    ///
    /// # Errors
    ///
    /// [`Locked`](crate::Error::Locked), [`NotAStore`](crate::Error::NotAStore),
    /// [`PolicyMismatch`](crate::Error::PolicyMismatch),
    /// [`OptionMismatch`](crate::Error::OptionMismatch),
    /// [`InvalidOption`](crate::Error::InvalidOption),
    /// [`UnsupportedFormat`](crate::Error::UnsupportedFormat),
    /// [`Corrupt`](crate::Error::Corrupt) and [`Io`](crate::Error::Io).
    pub fn open(self) -> Result<Seen> {
        open::open(&self.path, self.options, false).map(Seen::new)
    }

    /// Opens an existing store for reading only, beside a writer or not. Nothing
    /// on disk is changed.
    ///
    /// # Errors
    ///
    /// [`NoSuchStore`](crate::Error::NoSuchStore) if there is none, and those of
    /// [`open`](Builder::open) but `Locked`.
    pub fn open_read_only(self) -> Result<Seen> {
        open::open_read_only(&self.path, self.options).map(Seen::new)
    }

    /// Checks the store, also one that is too damaged to be opened; see
    /// [`verify`](crate::verify). Of the options, only the file system counts.
    ///
    /// # Errors
    ///
    /// As [`verify`](crate::verify).
    pub fn verify(self, progress: &mut dyn FnMut(&Progress)) -> Result<VerifyReport> {
        let vfs = &self.options.env.vfs;
        place::must_exist(&**vfs, &self.path)?;
        verify::verify(vfs, &self.path, progress)
    }

    /// Makes a new store at `into` of all that is intact of the damaged one at this path.
    ///
    /// The old store is only read: no file of it is changed, made or removed. `into` must
    /// not exist, or be an empty directory, and lie outside of any store; it becomes a
    /// store at the very end. The new store has the old one's policy and stamps, and all
    /// entries in one run. It can be used at once, beside the report of what is lost.
    ///
    /// What the manifest names is read, and nothing else; if it is damaged itself, every
    /// log and segment that says that it is the store's. An entry is taken if the checksum
    /// of its block or batch fits, also behind a damaged one. The new store's
    /// [`position`](Seen::position) is the last before which nothing is missing: see
    /// [`RepairReport::position`].
    ///
    /// Only if neither a manifest nor a segment tells them, [`canon`](Builder::canon) must
    /// say the policy, and [`stamps`](Builder::stamps) whether entries have times.
    /// [`filter`](Builder::filter), [`codec`](Builder::codec),
    /// [`false_positive_rate`](Builder::false_positive_rate),
    /// [`segment_size`](Builder::segment_size) and [`env`](Builder::env) are the new
    /// store's too.
    ///
    /// `progress` is called every few blocks. If it answers
    /// [`Break`](ControlFlow::Break), what was made is removed, but for an empty directory.
    /// What a killed repair leaves is no store, and is refused as one: remove it.
    ///
    /// ```
    /// # use seendb::{Canon, Seen};
    /// # use std::ops::ControlFlow;
    /// # let dir = tempfile::tempdir()?;
    /// # let (from, into) = (dir.path().join("crawl.seen"), dir.path().join("repaired.seen"));
    /// # Seen::builder(&from).canon(Canon::raw()).create()?.insert("chunk 1")?;
    /// let report = Seen::builder(&from)
    ///     .canon(Canon::raw()) // only if nothing else tells it
    ///     .segment_size(64 << 20)
    ///     .repair_into(&into, &mut |_| ControlFlow::Continue(()))?;
    /// assert_eq!((report.entries, report.lost.len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoSuchStore`](crate::Error::NoSuchStore) and [`NotAStore`](crate::Error::NotAStore);
    /// [`Locked`](crate::Error::Locked) if the old store is open for writing;
    /// [`AlreadyExists`](crate::Error::AlreadyExists) if there is a store at `into`;
    /// [`InvalidOption`](crate::Error::InvalidOption) if `into` lies within a store, or the
    /// policy is not known; [`UnsupportedFormat`](crate::Error::UnsupportedFormat) if
    /// something is intact but of a later release;
    /// [`Interrupted`](crate::Error::Interrupted); [`Corrupt`](crate::Error::Corrupt) if
    /// nothing tells which store it is; [`Io`](crate::Error::Io) if the new store cannot be
    /// written, or a file of the old one not be opened for want of permission. Other damage
    /// is in the report.
    pub fn repair_into(
        self,
        into: impl AsRef<Path>,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<RepairReport> {
        repair::repair(&self.path, into.as_ref(), &self.options, progress)
    }
}
