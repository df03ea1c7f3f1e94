//! Opening a store to write to it.

use super::ages::Expiring;
use super::failure::Failure;
use super::note::note_recovery;
use super::units::{parse_canon, parse_durability, parse_duration, parse_rate, parse_size};
use crate::{Builder, Canon, Codec, Durability, Error, FilterKind, Seen};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Runs that a turn may leave.
const MOST_RUNS: u64 = 16;
/// How often is looked whether merges have caught up.
const CATCHING_UP: Duration = Duration::from_millis(5);
/// How often a locked store is tried again.
const RETRY: Duration = Duration::from_millis(20);

/// Waiting for another writer.
#[derive(Debug, clap::Args)]
pub(super) struct Waiting {
    /// Wait this long for another writer to finish, such as 10s [default: fail at once]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wait: Option<Duration>,
}

/// Taking turns with other writers, for commands that hold the store's lock for a batch at
/// a time.
#[derive(Debug, clap::Args)]
pub(super) struct Turns {
    /// Wait this long for another writer, at each batch
    #[arg(long, value_name = "DURATION", default_value = "1min", value_parser = parse_duration)]
    wait: Duration,
}

/// Options of a store.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// How URLs become keys: standard (WHATWG) or raw. Fixed when the store is created
    /// [default: standard, or the store's own]
    #[arg(long, value_name = "POLICY", value_parser = parse_canon)]
    canon: Option<Canon>,
    /// Share of lookups of new URLs that may cost a needless read, such as 1%, for
    /// what is written from now on [default: 1%, or the store's own]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    fpr: Option<f64>,
    /// When to make new entries safe from power loss: immediate, manual (at the end), or an
    /// interval [default: 1s]. A killed process loses nothing at any setting
    #[arg(long, value_name = "WHEN", value_parser = parse_durability)]
    durability: Option<Durability>,
    /// Keep no times: saves one to three bytes a URL. Fixed when the store is created
    #[arg(long)]
    no_stamps: bool,
    /// How filters are built, for what is written from now on: bloom, blocked, fuse or none
    /// [default: blocked, or the store's own]
    #[arg(long, value_name = "KIND")]
    filter: Option<FilterKind>,
    /// How keys are coded, for what is written from now on: plain, standard or dense
    /// [default: standard, or the store's own]
    #[arg(long, value_name = "CODEC")]
    codec: Option<Codec>,
    /// Memory for all together: the newest entries, filters and indexes [default: as needed]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<usize>,
    /// Memory for the newest entries, up to three times [default: 64MiB, or an eighth of --memory]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memtable: Option<usize>,
    #[command(flatten)]
    expiring: Expiring,
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
            builder = builder.memory(memory as u64);
        }
        if let Some(bytes) = self.memtable {
            builder = builder.memtable_size(bytes);
        }
        if let Some(kind) = self.filter {
            builder = builder.filter(kind);
        }
        if let Some(codec) = self.codec {
            builder = builder.codec(codec);
        }
        self.expiring.set(builder)
    }

    /// The policy of a store that would be created with these options.
    pub(super) fn canon(&self) -> Canon {
        self.canon.clone().unwrap_or_default()
    }
}

impl Waiting {
    /// Opens the store for writing, waiting for another writer if that was asked.
    pub(super) fn open(&self, builder: impl Fn() -> Builder) -> Result<Seen, Failure> {
        open_within(self.wait.unwrap_or_default(), builder)
    }
}

impl Turns {
    /// Opens the store for writing, does something, and closes the store: for another
    /// process to have its turn.
    pub(super) fn take<T>(
        &self,
        builder: impl Fn() -> Builder,
        work: impl FnOnce(&Seen) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let store = open_within(self.wait, builder)?;
        note_recovery(&store);
        let result = work(&store);
        catch_up(&store);
        // Closing syncs what was done, also before a failure, which is the news then.
        let closed = store.close();
        let value = result?;
        closed?;
        Ok(value)
    }
}

/// Waits for merges that are behind. Each turn adds a small run, and a merge of large ones is
/// given up when the store is closed: so nothing else would bound their number.
fn catch_up(store: &Seen) {
    loop {
        let stats = store.stats();
        if stats.runs <= MOST_RUNS || stats.last_error.is_some() {
            return;
        }
        thread::sleep(CATCHING_UP);
    }
}

fn open_within(wait: Duration, builder: impl Fn() -> Builder) -> Result<Seen, Failure> {
    // `None`: longer than the clock can tell, and so for ever.
    let until = Instant::now().checked_add(wait);
    loop {
        match builder().open() {
            Err(Error::Locked { path }) => {
                let left = until.map_or(RETRY, |until| {
                    until.saturating_duration_since(Instant::now())
                });
                if left.is_zero() {
                    return Err(Error::Locked { path }.into());
                }
                thread::sleep(left.min(RETRY));
            }
            other => return Ok(other?),
        }
    }
}
