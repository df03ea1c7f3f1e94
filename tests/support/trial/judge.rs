//! Whether a call may answer the error that it answers.

use super::plan::{EACCES, EMFILE, Hit};
use super::world::{STORE, World};
use crate::support::{EIO, ENOSPC};
use seendb::vfs::sim::OperationKind as Kind;
use seendb::{Error, Result, Writes};
use std::path::Path;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Open,
    Read,
    Write,
    Close,
}

impl World {
    /// The answer of a call before which so many operations had gone wrong; `None` for
    /// an error that it may give.
    pub fn judge<T>(&mut self, call: Call, before: usize, result: Result<T>) -> Option<T> {
        let (all, hits) = {
            let watch = self.watch.lock().unwrap();
            assert!(
                watch.retried.is_empty(),
                "synced again: {:?}",
                watch.retried
            );
            let hits = watch.hits.get(before..).unwrap_or_default().to_vec();
            (watch.hits.clone(), hits)
        };
        let refused = matches!(call, Call::Write | Call::Close);
        let ends = call == Call::Write && self.ends_writing(&hits);
        match result {
            Ok(answer) => {
                assert!(
                    !(refused && self.poison.is_some()),
                    "written after a failed sync"
                );
                assert!(
                    !ends,
                    "a failure that ends writing was passed over: {hits:?}"
                );
                Some(answer)
            }
            Err(Error::Poisoned { cause }) => {
                assert!(refused, "{call:?}: {cause}");
                let text = Error::Poisoned {
                    cause: cause.clone(),
                }
                .to_string();
                assert!(text.ends_with("close it and open it again"), "{text}");
                match &self.poison {
                    Some(first) => assert_eq!(&cause.to_string(), first, "the first cause"),
                    None => {
                        self.check_cause(&cause, if is_of_sync(&cause) { &all } else { &hits });
                        self.poison = Some(cause.to_string());
                    }
                }
                None
            }
            Err(error) => {
                assert!(
                    !(refused && self.poison.is_some()),
                    "not the first cause: {error}"
                );
                assert!(!ends, "a failure that must end writing: {error}");
                self.check_cause(&error, if is_of_sync(&error) { &all } else { &hits });
                None
            }
        }
    }

    /// Whether writing must end after such failures.
    fn ends_writing(&self, hits: &[Hit]) -> bool {
        let plan = self.plan.as_ref();
        let told = plan.is_some_and(|plan| !plan.is_invisible());
        let opened = plan.and_then(super::plan::Plan::code) != Some(EMFILE);
        let is_log = |hit: &Hit| {
            hit.operation
                .path
                .extension()
                .is_some_and(|end| end == "log")
        };
        let fails = |hit: &Hit| match hit.operation.kind {
            Kind::Rename => true,
            Kind::SyncDir => opened && hit.operation.path == Path::new(STORE),
            Kind::Sync => is_log(hit) && !hit.is_new,
            // A frame that could not be cut off.
            Kind::SetLen => {
                let written = |one: &Hit| {
                    one.operation.kind == Kind::Write && one.operation.path == hit.operation.path
                };
                self.settings.writes == Writes::Pwrite && is_log(hit) && hits.iter().any(written)
            }
            _ => false,
        };
        told && hits.iter().any(fails)
    }

    /// An error is the system's about one of these operations, and says what helps.
    fn check_cause(&self, error: &Error, hits: &[Hit]) {
        let plan = self.plan.as_ref().filter(|plan| !plan.is_invisible());
        let Some(code) = plan.and_then(|plan| plan.code()) else {
            panic!("an error where nothing, or nothing that may be told, went wrong: {error}");
        };
        let Error::Io {
            operation,
            path,
            source,
        } = error
        else {
            panic!("an error that is not the disk's: {error}; {hits:?}");
        };
        let found = source.raw_os_error();
        assert!(found == Some(code) || found == Some(EIO), "{error}");
        assert!(
            hits.iter().any(|hit| hit.is_named(operation, path)),
            "an error about something else: {error}; {hits:?}"
        );
        let text = error.to_string();
        let remedy = match found {
            Some(ENOSPC) => "make room",
            Some(EMFILE) => "limit",
            Some(EACCES) => "permissions",
            Some(EIO) => "system's log",
            _ => "",
        };
        assert!(
            text.contains(&*path.to_string_lossy()) && text.contains(operation),
            "{text}"
        );
        assert!(text.contains(remedy), "no remedy: {text}");
    }
}

/// All handles that have a file open are told of a sync that failed, at their next.
fn is_of_sync(error: &Error) -> bool {
    matches!(
        error,
        Error::Io {
            operation: "sync",
            ..
        }
    )
}
