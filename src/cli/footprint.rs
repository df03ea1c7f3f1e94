//! What a store takes for so many URLs, from bytes a URL that were measured.
//!
//! The figures are those of 3.1 million URLs from crawls and lists, 76.5 bytes each on
//! average; `docs/tuning.md` says which commands printed them.

use crate::codec::Codec;
use crate::compact::{MAX_RUNS, filter_bits};
use crate::filter::FilterKind;
use crate::options::{DEFAULT_MEMTABLE, reserved_for_memtables};
use crate::segment::dictionary_memory;

/// Bytes of a URL.
pub(super) const URL: f64 = 76.5;
/// Bytes on disk for a URL with the time when it was seen.
pub(super) const DISK: f64 = 18.4;
/// The same in a store that keeps no times.
const DISK_WITHOUT_STAMPS: f64 = 16.1;
/// Bytes of memory for a URL in the index of its segment, without the run's dictionary.
const INDEX: f64 = 0.05;
/// Bytes of memory for a URL in a memtable.
const MEMTABLE: f64 = 102.0;
/// Of a memtable's, beside the URL, less what slots take.
const RECORD: f64 = 12.75;
/// Bytes of memory for a URL of a segment that is being written, for its filter.
const HASH: f64 = 8.0;
/// Segments are no longer than this by default, in bytes.
const SEGMENT: f64 = (128 << 20) as f64;

/// URLs that fill a memtable of the default size.
const FLUSH: u64 = (DEFAULT_MEMTABLE as f64 / MEMTABLE) as u64;

/// Bytes of memory that a URL of so many bytes takes in a memtable: its record of [`RECORD`]
/// bytes beside it, and an eighth for slots.
pub(super) fn memtable(url: f64) -> f64 {
    (url + RECORD) / 7.0 * 8.0
}

/// Bytes in a log, of one in a batch of many.
pub(super) fn log(url: f64) -> f64 {
    url + 2.0
}

/// Bytes that a store takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footprint {
    /// On disk, with times.
    pub(super) disk: u64,
    /// On disk, without times.
    pub(super) disk_without_stamps: u64,
    /// On disk while everything is merged: old and new.
    pub(super) disk_merging: u64,
    /// The bits of filters for a URL, while it grows.
    pub(super) filter_bits: f64,
    /// In memory: filters.
    pub(super) filters: u64,
    /// In memory: indexes and dictionaries.
    pub(super) indexes: u64,
    /// In memory: memtables, at most.
    pub(super) memtables: u64,
    /// In memory: what a merge of everything adds, new filters and indexes beside the old.
    pub(super) merge: u64,
}

impl Footprint {
    /// Of a store of so many URLs, with filters of a kind and a rate.
    pub(super) fn new(urls: u64, kind: FilterKind, rate: f64) -> Footprint {
        let of = |each: f64| (urls as f64 * each).ceil() as u64;
        let filter_bits = filter_bits(kind, rate, urls, FLUSH);
        let filters = of(filter_bits / 8.0);
        // As large for a run of a flush as for any, and one for each run.
        let runs = urls.div_ceil(FLUSH).clamp(1, MAX_RUNS as u64 + 1);
        let indexes = of(INDEX) + runs * dictionary_memory(Codec::default(), urls.min(FLUSH));
        let hashes = of(HASH).min((SEGMENT / DISK * HASH) as u64);
        Footprint {
            disk: of(DISK),
            disk_without_stamps: of(DISK_WITHOUT_STAMPS),
            disk_merging: of(DISK * 2.0),
            filter_bits,
            filters,
            indexes,
            memtables: of(MEMTABLE).min(reserved_for_memtables(DEFAULT_MEMTABLE as u64)),
            merge: filters + indexes + hashes,
        }
    }

    /// Memory of a store that is only read.
    pub(super) fn reading(&self) -> u64 {
        self.filters + self.indexes
    }

    /// Memory of a store that is written to, at most.
    pub(super) fn writing(&self) -> u64 {
        self.reading() + self.memtables + self.merge
    }
}
