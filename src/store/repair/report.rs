//! What a repair found, and what it did not.

use crate::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// What a repair took from a damaged store, and every part that it could not take.
///
/// Where a part is lost, an older one may have an older state of the same key, as it was
/// before it was changed or forgotten: then the new store has that. It can be no other key
/// than one that may be [`lost`](RepairReport::lost), or one in a segment that is
/// [`undated`](RepairReport::undated).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// Entries in the new store.
    pub entries: u64,
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Every part of the old store whose entries are lost, or may be.
    pub lost: Vec<Lost>,
    /// Damaged parts that cost no entry: a filter, an index, a header, the manifest.
    pub damage: Vec<Error>,
    /// Segments of which nothing tells how old they are, as the manifest and their footers
    /// are lost. All in them is taken for older than what other files have.
    pub undated: Vec<PathBuf>,
    /// Logs and segments that were not taken: no part of the store, going by its
    /// manifest; without one, another store's, going by their headers, or what a later
    /// one was made of, going by footers.
    pub ignored: Vec<String>,
    /// The new store's position: the last one before which nothing is missing. A
    /// consumer that resumes there applies again what was lost. `None`, from the
    /// beginning, if something is missing that may be of any time.
    pub position: Option<u64>,
    /// The last position that was found, whatever is missing before it.
    pub last_position: Option<u64>,
}

/// A part of a damaged store whose entries are lost, or may be.
///
/// What it says of a key may also have been that it was forgotten, or a later state than
/// another part has.
///
/// It prints as one line: where, which keys or batches, and what is wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Lost {
    /// The file.
    pub path: PathBuf,
    /// The bytes of the file that could not be used; all it should have if it is gone.
    pub bytes: Range<u64>,
    /// What is wrong with them.
    pub damage: Error,
    /// Keys that are lost lie above this one, the last intact one before them in their
    /// run. `None`: any key may be.
    pub after: Option<Vec<u8>>,
    /// Keys that are lost lie below this one, the first intact one behind them.
    pub before: Option<Vec<u8>>,
    /// Of a log: the number of the first batch that is lost, if that is known.
    pub first_batch: Option<u64>,
    /// Of a log: the number of the last batch that is lost, if that is known. At the end
    /// of the last log it is not, and the first may be a write that was never finished.
    pub last_batch: Option<u64>,
}

impl Lost {
    pub(super) fn new(path: PathBuf, bytes: Range<u64>, damage: Error) -> Lost {
        Lost {
            path,
            bytes,
            damage,
            after: None,
            before: None,
            first_batch: None,
            last_batch: None,
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, bytes {} to {}: ",
            self.path.display(),
            self.bytes.start,
            self.bytes.end
        )?;
        match (self.first_batch, self.last_batch) {
            (Some(first), Some(last)) => write!(f, "batches {first} to {last}")?,
            (Some(first), None) => write!(
                f,
                "batch {first} and those behind it, or a write that was never finished"
            )?,
            (None, Some(last)) => write!(f, "batches up to {last}")?,
            (None, None) => {
                let key = |key: &[u8]| key.escape_ascii().to_string();
                match (&self.after, &self.before) {
                    (None, None) => f.write_str("any key")?,
                    (Some(after), None) => write!(f, "keys above \"{}\"", key(after))?,
                    (None, Some(before)) => write!(f, "keys below \"{}\"", key(before))?,
                    (Some(after), Some(before)) => {
                        let (after, before) = (key(after), key(before));
                        write!(f, "keys between \"{after}\" and \"{before}\"")?;
                    }
                }
            }
        }
        match &self.damage {
            // The remedy is what is being done.
            Error::Corrupt(corrupt) => write!(
                f,
                " (at byte {}: expected {}, found {})",
                corrupt.offset, corrupt.expected, corrupt.found
            ),
            other => write!(f, " ({other})"),
        }
    }
}
