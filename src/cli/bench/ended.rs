//! What ends a benchmark before it is done.

use super::super::failure::Failure;
use super::super::interrupt::Signal;
use crate::Error;
use crossbeam_channel::Receiver;
use std::sync::OnceLock;

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Ended {
    Failure(Failure),
    Signal(Signal),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Ended::Failure(failure)
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Failure(error.into())
    }
}

/// Whether the program was asked to stop; every thread may look.
#[derive(Debug)]
pub(super) struct Stop {
    signals: Receiver<Signal>,
    caught: OnceLock<Signal>,
}

impl Stop {
    pub(super) fn new(signals: Receiver<Signal>) -> Stop {
        Stop {
            signals,
            caught: OnceLock::new(),
        }
    }

    /// An error once a signal has come, for ever after.
    pub(super) fn check(&self) -> Result<(), Ended> {
        if let Ok(signal) = self.signals.try_recv() {
            // Only one is ever delivered.
            let _ = self.caught.set(signal);
        }
        match self.caught.get() {
            Some(signal) => Err(Ended::Signal(*signal)),
            None => Ok(()),
        }
    }

    /// For who waits for signals and lines at once.
    pub(super) fn signals(&self) -> Receiver<Signal> {
        self.signals.clone()
    }
}
