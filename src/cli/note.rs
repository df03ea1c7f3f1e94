//! Messages on standard error.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Writes `seen: message` to standard error. If that is closed, nobody listens,
/// and the command goes on.
pub(super) fn note(message: impl Display) {
    // One write, so that messages of several processes do not mix within a line.
    let line = format!("seen: {message}\n");
    let _ = stderr().write_all(line.as_bytes());
}

/// Tells what opening the store for writing cut off its logs, if anything. Readers
/// do not tell: what is unfinished may be what a running writer is just writing.
pub(super) fn note_recovery(store: &crate::Seen) {
    for cut in &store.recovery().cuts {
        note(format_args!(
            "note: {} ended in an unfinished write at byte {} ({}); everything before it is there",
            cut.path.display(),
            cut.offset,
            cut.reason
        ));
    }
}
