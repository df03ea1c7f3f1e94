//! Progress on a terminal, and nothing elsewhere.

use super::note::note;
use super::units::{bytes, count};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, stderr, stdout};
use std::time::Duration;

const TICK: Duration = Duration::from_millis(200);

/// One line on standard error that changes in place.
#[derive(Debug)]
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    /// A line for work that prints lines. It is shown if standard error is a
    /// terminal and standard output is not: both would write over each other.
    pub(super) fn beside_output(quiet: bool) -> Progress {
        Progress::new(quiet || stdout().is_terminal())
    }

    /// A line for work that prints nothing until it is done.
    pub(super) fn alone(quiet: bool) -> Progress {
        Progress::new(quiet)
    }

    /// No line, only messages.
    pub(super) fn none() -> Progress {
        Progress(None)
    }

    fn new(hidden: bool) -> Progress {
        if hidden || !stderr().is_terminal() {
            return Progress(None);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Progress(Some(bar))
    }

    /// Lines read so far, and how many of them were new.
    pub(super) fn lines(&self, lines: u64, new: u64) {
        if let Some(bar) = &self.0 {
            let seconds = bar.elapsed().as_secs_f64().max(0.001);
            let rate = (lines as f64 / seconds) as u64;
            bar.set_message(format!(
                "{} lines, {} new, {} lines/s",
                count(lines),
                count(new),
                count(rate)
            ));
        }
    }

    /// Bytes so far of a total, and what was done to them.
    pub(super) fn bytes(&self, done: u64, total: u64, what: &str) {
        if let Some(bar) = &self.0 {
            let percent = (done as f64 * 100.0 / (total as f64).max(1.0)).min(100.0);
            bar.set_message(format!(
                "{} of {} {what}, {percent:.0} %",
                bytes(done),
                bytes(total)
            ));
        }
    }

    /// How far one of several parts of the work is.
    pub(super) fn part(&self, what: &str, of: &str, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            let percent = (done as f64 * 100.0 / (total as f64).max(1.0)).min(100.0);
            bar.set_message(format!("{what} {of}, {percent:.0} %"));
        }
    }

    /// What is being done, when there is no count.
    pub(super) fn doing(&self, what: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(what.to_owned());
        }
    }

    /// A message that stays, above the line.
    pub(super) fn note(&self, message: impl Display) {
        match &self.0 {
            Some(bar) => bar.suspend(|| note(&message)),
            None => note(message),
        }
    }

    /// Removes the line.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
