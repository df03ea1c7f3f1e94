//! The wish to stop: a signal's, or that of a part that failed or had enough.

use crate::Outcome;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long something that waits may take to notice.
pub(crate) const STEP: Duration = Duration::from_millis(50);

pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ctrl-C lets requests in flight end, and closes the store; the second one ends the
    /// process, which loses nothing either.
    pub(crate) fn on_signals() -> Outcome<Stop> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&wanted))?;
            flag::register(signal, Arc::clone(&wanted))?;
        }
        Ok(Stop(wanted))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn want(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// If a part failed, the others are to stop.
    pub(crate) fn on_error<T>(&self, result: Outcome<T>) -> Outcome<T> {
        if result.is_err() {
            self.want();
        }
        result
    }

    /// Sleeps, but no longer than it is not to stop.
    pub(crate) fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_wanted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(STEP));
        }
    }
}
