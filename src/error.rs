//! What can go wrong, as one type.
//!
//! Every error names what it is about (path, offset, what was expected and what
//! was found) and what a person can do about it. An error is never an answer:
//! it means neither "new" nor "not seen".

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that a call on a store can answer instead of a result.
///
/// The enum is non-exhaustive: match what you handle, and print the rest. The
/// printed form names the remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL cannot be a key under the store's policy. Nothing was stored.
    #[error("invalid URL{}: {reason}", at_index(*.index))]
    InvalidUrl {
        /// Why the policy rejects it.
        reason: InvalidUrl,
        /// Its place in the batch that was given, counted from 0.
        index: Option<usize>,
    },

    /// Another handle, in this process or another, has the store open for writing.
    #[error(
        "the store {} is locked: another process or handle is writing to it; wait for it to close, or open read-only",
        .path.display()
    )]
    Locked {
        /// The store's directory.
        path: PathBuf,
    },

    /// The path holds something that is not a store. Nothing was created or changed.
    #[error(
        "{} is not a store: {found}; give the path of a store, or a path where nothing exists yet",
        .path.display()
    )]
    NotAStore {
        /// The path that was given.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },

    /// There is nothing at the path, and the call does not create a store.
    #[error("there is no store at {}; check the path, or create one by opening it for writing", .path.display())]
    NoSuchStore {
        /// The path that was given.
        path: PathBuf,
    },

    /// [`create`](crate::Builder::create) was asked for a path where a store exists.
    #[error("a store exists already at {}; open it instead of creating it", .path.display())]
    AlreadyExists {
        /// The store's directory.
        path: PathBuf,
    },

    /// A file needs a format version, or a feature, that this build does not know.
    #[error(
        "{}: unsupported {what}: found {found}, this build knows {supported}; use a newer release of seendb",
        .path.display()
    )]
    UnsupportedFormat {
        /// The file.
        path: PathBuf,
        /// What is unknown: a version, a field, a kind of operation or record.
        what: &'static str,
        /// What the file says.
        found: String,
        /// What this build can read.
        supported: String,
    },

    /// The store was created with another canonicalization policy.
    #[error(
        "the store {} has the policy `{store}`, not `{asked}`; leave the policy out to use the store's own",
        .path.display()
    )]
    PolicyMismatch {
        /// The store's directory.
        path: PathBuf,
        /// The store's policy.
        store: String,
        /// The policy that was asked for.
        asked: String,
    },

    /// An option that is fixed at creation was given another value.
    #[error("the store {} was created with {option} = {store}, not {asked}; leave the option out", .path.display())]
    OptionMismatch {
        /// The store's directory.
        path: PathBuf,
        /// The option's name.
        option: &'static str,
        /// The store's value.
        store: String,
        /// The value that was asked for.
        asked: String,
    },

    /// An option has a value that cannot work.
    #[error("the option {option} cannot be {found}: {expected}")]
    InvalidOption {
        /// The option's name.
        option: &'static str,
        /// What it may be.
        expected: String,
        /// What was given.
        found: String,
    },

    /// A file of the store is damaged. The store never takes damage for absence.
    #[error("{0}")]
    Corrupt(Box<Corrupt>),

    /// The operating system refused an operation on a file.
    #[error("cannot {operation} {}: {source}{}", .path.display(), io_remedy(source))]
    Io {
        /// What was being done, in words that follow "cannot".
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: Arc<io::Error>,
    },

    /// An earlier failure left the log in an unknown state, so this handle
    /// writes no more. Reads go on.
    #[error(
        "the store takes no more writes since an earlier failure: {cause}; close it and open it again"
    )]
    Poisoned {
        /// The first failure.
        cause: Arc<Error>,
    },

    /// The batch is larger than a batch may be. Nothing was stored.
    #[error(
        "the batch takes {bytes} bytes, and at most {limit} are allowed; split it (the limit is a quarter of the store's memory, at most 16 MiB)"
    )]
    BatchTooLarge {
        /// The batch's size in bytes, as far as it was counted.
        bytes: u64,
        /// The largest size.
        limit: u64,
    },

    /// The batch's position is not above the last one applied. Nothing was stored.
    #[error(
        "the position {given} is not above the last applied, {last}; skip what was applied already"
    )]
    StalePosition {
        /// The batch's position.
        given: u64,
        /// The store's position.
        last: u64,
    },

    /// The claim is not in force under this token: it ran out and another was granted, or
    /// it was settled, or the URL forgotten. Nothing was changed.
    #[error(
        "the claim {token} on {url} is lost: {found}; claim the URL again if it is still wanted"
    )]
    LeaseLost {
        /// The URL's key.
        url: String,
        /// The claim's token.
        token: String,
        /// What is known of the URL instead.
        found: String,
    },

    /// The store keeps no times, and so nothing that rests on them.
    #[error(
        "the store {} was created without stamps, which {what} need; make another store with stamps for them",
        .path.display()
    )]
    StampsOff {
        /// The store's directory.
        path: PathBuf,
        /// What was asked for.
        what: &'static str,
    },

    /// The handle was opened read-only.
    #[error("the store {} is open read-only; open it for writing", .path.display())]
    ReadOnly {
        /// The store's directory.
        path: PathBuf,
    },

    /// Long work was ended by its caller before it was done.
    #[error(
        "the repair was interrupted, and what it had made at {} was removed; the damaged store is as it was: repair again",
        .path.display()
    )]
    Interrupted {
        /// Where the new store was being made.
        path: PathBuf,
    },

    /// The handle was closed.
    #[error("the store {} was closed", .path.display())]
    Closed {
        /// The store's directory.
        path: PathBuf,
    },
}

/// Why a policy rejects a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// The URL, or its canonical form, has no bytes.
    #[error("it is empty")]
    Empty,
    /// The URL, or its canonical form, has more than 65,535 bytes.
    #[error("it has {length} bytes, and at most 65,535 are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The policy could not parse it as an absolute URL.
    #[error("{0}")]
    Unparsable(String),
}

/// Where a file is damaged, and how that shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is damaged at byte {offset}: expected {expected}, found {found}; {remedy}",
    .path.display()
)]
#[non_exhaustive]
pub struct Corrupt {
    /// The file.
    pub path: PathBuf,
    /// The byte offset in the file at which the damage shows.
    pub offset: u64,
    /// What the format says should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Error {
    /// Damage in a file of the store.
    pub(crate) fn corrupt(
        path: &Path,
        offset: u64,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        Error::Corrupt(Box::new(Corrupt {
            path: path.to_path_buf(),
            offset,
            expected: expected.into(),
            found: found.into(),
            remedy: remedy(path),
        }))
    }

    /// A failed operation on a file.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Error {
        Error::Io {
            operation,
            path: path.to_path_buf(),
            source: Arc::new(source),
        }
    }

    /// A URL that no policy takes, without a place in a batch.
    pub(crate) fn invalid(reason: InvalidUrl) -> Error {
        Error::InvalidUrl {
            reason,
            index: None,
        }
    }

    /// The same error with the URL's place in its batch, if it is about a URL.
    pub(crate) fn at(self, place: usize) -> Error {
        match self {
            Error::InvalidUrl { reason, .. } => Error::InvalidUrl {
                reason,
                index: Some(place),
            },
            other => other,
        }
    }

    /// Whether the operating system said that the file is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn at_index(index: Option<usize>) -> String {
    index.map_or_else(String::new, |i| format!(" at index {i} of the batch"))
}

/// Whether a file could not be opened for want of descriptors: nothing was done to it.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    let code = Errno::from_io_error(error);
    [Some(Errno::MFILE), Some(Errno::NFILE)].contains(&code)
}

fn io_remedy(source: &io::Error) -> &'static str {
    if is_out_of_descriptors(source) {
        return "; raise the limit of open files (`ulimit -n`), or close some";
    }
    if Errno::from_io_error(source) == Some(Errno::IO) {
        return "; the disk, or the way to it, fails: the system's log says more";
    }
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room on that disk, and try again: nothing that was recorded is lost"
        }
        io::ErrorKind::IsADirectory => {
            "; a file of the store should be there: restore the whole directory from a copy"
        }
        io::ErrorKind::PermissionDenied => "; check the owner and the permissions of that path",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; the file system is mounted read-only: open the store read-only, or remount"
        }
        _ => "",
    }
}

/// What helps depends on which file is damaged.
fn remedy(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()) {
        Some("log") => {
            "the entries behind this point were reported as recorded, so they are not dropped silently: restore the store from a copy, or make a new one of all that is intact with `seen repair`"
        }
        Some("seg") => {
            "restore the store from a copy, or make a new one of all that is intact with `seen repair`; `seen verify` lists every damaged part of it"
        }
        _ => {
            "restore the whole directory from a copy that was made while no writer had it open (an older manifest alone does not know what was recorded since), or make a new store of all that is intact with `seen repair`"
        }
    }
}
