//! What ends a command with exit status 2.

use crate::Error;
use std::fmt;
use std::io;

/// Why a command could not do its work.
#[derive(Debug)]
pub(super) enum Failure {
    /// The store says so.
    Store(Error),
    /// An input cannot be read.
    Input {
        /// The file as it was given, or `standard input`.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Standard output takes no more.
    Output(io::Error),
    /// The system refuses something that the program needs.
    System(&'static str, io::Error),
    /// What was found is bad, and was printed already.
    Found(String),
    /// The arguments do not fit together, or not what is there.
    Usage(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Store(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // In the words of the program rather than of the library.
            Failure::Store(Error::NoSuchStore { path }) => write!(
                f,
                "there is no store at {0}; check the path, or create one with `seen new {0} FILE`",
                path.display()
            ),
            Failure::Store(Error::Locked { path }) => write!(
                f,
                "{} is locked: another process is writing to it; `--wait 10s` waits for it, and `has`, `get` and `list` work meanwhile",
                path.display()
            ),
            Failure::Store(error) => error.fmt(f),
            Failure::Input { name, source } => {
                write!(f, "cannot read {name}: {source}; {}", input_remedy(source))
            }
            Failure::Output(source) => write!(
                f,
                "cannot write to standard output: {source}; {}",
                output_remedy(source)
            ),
            Failure::System(what, source) => {
                write!(
                    f,
                    "cannot {what}: {source}; try again with fewer processes running"
                )
            }
            Failure::Found(what) | Failure::Usage(what) => f.write_str(what),
        }
    }
}

fn input_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "check the file's permissions",
        io::ErrorKind::IsADirectory => {
            "give files, not a directory; the store comes first: `seen new STORE FILE`"
        }
        _ => "what was read before is done; make the file readable and run the command again",
    }
}

fn output_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there and run the command again"
        }
        _ => "give it another output and run the command again",
    }
}
