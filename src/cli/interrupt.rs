//! Ctrl-C and the request to terminate, as messages in a channel.

use super::failure::Failure;
use super::note::note;
use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::thread;

/// A signal that asks the program to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Signal(i32);

impl Signal {
    /// The exit status by which shells know the signal: 130 or 143.
    pub(super) fn status(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(u8::MAX)
    }
}

/// Catches the signals from now on. The first is delivered; the second ends the
/// process at once, and `at_once` says what that leaves.
pub(super) fn watch(at_once: &'static str) -> Result<Receiver<Signal>, Failure> {
    let failed = |e| Failure::System("watch for signals", e);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let (sender, receiver) = bounded(1);
    thread::Builder::new()
        .name("seen-signals".to_owned())
        .spawn(move || {
            let mut caught = signals.forever();
            if let Some(first) = caught.next() {
                // The receiver is gone only when the command has ended anyway.
                let _ = sender.send(Signal(first));
            }
            if let Some(second) = caught.next() {
                note(at_once);
                std::process::exit(i32::from(Signal(second).status()));
            }
        })
        .map_err(failed)?;
    Ok(receiver)
}

/// For commands that a signal may simply kill.
pub(super) fn none() -> Receiver<Signal> {
    crossbeam_channel::never()
}
