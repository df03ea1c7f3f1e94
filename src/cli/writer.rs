//! Opening a store to write to it.

use super::failure::Failure;
use super::units::{parse_canon, parse_durability, parse_duration, parse_rate, parse_size};
use crate::{Builder, Canon, Durability, Error, Seen};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How often a locked store is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// Waiting for another writer.
#[derive(Debug, clap::Args)]
pub(super) struct Waiting {
    /// Wait this long for another writer to finish, such as 10s [default: fail at once]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wait: Option<Duration>,
}

/// Options of a store.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// How URLs become keys: standard (WHATWG) or raw. Fixed when the store is created
    /// [default: standard, or the store's own]
    #[arg(long, value_name = "POLICY", value_parser = parse_canon)]
    canon: Option<Canon>,
    /// Share of lookups of new URLs that may cost a needless read, such as 1%, for
    /// what is written from now on [default: 1%]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// When to make new entries safe from power loss: immediate, manual (at the end), or an
    /// interval [default: 1s]. A killed process loses nothing at any setting
    #[arg(long, value_name = "WHEN", value_parser = parse_durability)]
    durability: Option<Durability>,
    /// Keep no times: saves about three bytes a URL. Fixed when the store is created
    #[arg(long)]
    no_stamps: bool,
    /// Memory for the newest entries [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
}

impl Options {
    pub(super) fn builder(&self, path: &Path) -> Builder {
        let mut builder = Seen::builder(path);
        if let Some(canon) = &self.canon {
            builder = builder.canon(canon.clone());
        }
        if let Some(rate) = self.fpr {
            builder = builder.false_positive_rate(rate);
        }
        if let Some(durability) = self.durability {
            builder = builder.durability(durability);
        }
        if self.no_stamps {
            builder = builder.stamps(false);
        }
        if let Some(memory) = self.memory {
            builder = builder.memory(memory);
        }
        builder
    }

    /// The policy of a store that would be created with these options.
    pub(super) fn canon(&self) -> Canon {
        self.canon.clone().unwrap_or_default()
    }
}

impl Waiting {
    /// Opens the store for writing, waiting for another writer if that was asked.
    pub(super) fn open(&self, builder: impl Fn() -> Builder) -> Result<Seen, Failure> {
        let until = self.wait.and_then(|wait| Instant::now().checked_add(wait));
        loop {
            match builder().open() {
                Err(Error::Locked { path }) => {
                    let left = match (self.wait, until) {
                        (None, _) => Duration::ZERO,
                        // Longer than the clock can tell: for ever.
                        (Some(_), None) => RETRY,
                        (Some(_), Some(until)) => until.saturating_duration_since(Instant::now()),
                    };
                    if left.is_zero() {
                        return Err(Error::Locked { path }.into());
                    }
                    thread::sleep(left.min(RETRY));
                }
                other => return Ok(other?),
            }
        }
    }
}
