//! Hours of use with writers that are killed, checked all the time.
//!
//! ```text
//! cargo run --release --example soak
//!
//! --minutes N    how long, 60 by default
//! --entries N    URLs in a store before the next one is begun, 3000000 by default
//! --memory N     memory for a memtable in MiB, 2 by default
//! --dir DIR      where stores are made; the directory for temporary files
//! --seed N       for URLs, settings and moments; the time by default
//! ```
//!
//! A writer in a process of its own inserts URLs with two threads; readers work beside
//! it; it is killed after a moment, or told to close; what it had reported is checked,
//! and another one begins, with other settings. Which URLs are in the store follows from
//! two numbers, so that no list of them is needed. When a store is large enough it is
//! merged, checked as a whole, and removed, and another one begun.
//!
//! All the time, open files, memory and room on disk must stay within bounds; see
//! `bounds.rs`. A line is printed every ten seconds, and a summary at the end. The exit
//! status is 1 if anything was not as it must be; then the store is kept.
#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

mod bounds;
mod life;
mod reader;
mod sequence;
#[allow(unreachable_pub, dead_code, reason = "shared with tests")]
#[path = "../../tests/support/setting.rs"]
mod setting;
mod trial;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../../tests/support/urls.rs"]
mod urls;
mod writer;

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What to do.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) until: Instant,
    /// Batches in a store for each lane.
    pub(crate) batches: u64,
    pub(crate) memory: usize,
    pub(crate) seed: u64,
}

/// Fails with a message if something is not as it must be.
macro_rules! must {
    ($condition:expr, $($message:tt)*) => {
        if $condition {
        } else {
            return Err(format!($($message)*).into());
        }
    };
}
pub(crate) use must;

fn main() -> Outcome<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "--child") {
        return writer::run(args.get(1..).unwrap_or_default());
    }
    let mut option = |name: &str| -> Outcome<Option<u64>> {
        let Some(at) = args.iter().position(|arg| arg == name) else {
            return Ok(None);
        };
        must!(at + 1 < args.len(), "{name} needs a value");
        args.remove(at);
        Ok(Some(args.remove(at).parse()?))
    };
    let minutes = option("--minutes")?.unwrap_or(60);
    let entries = option("--entries")?.unwrap_or(3_000_000);
    let memory = option("--memory")?.unwrap_or(2) as usize;
    let now = SystemTime::UNIX_EPOCH.elapsed()?.as_secs();
    let seed = option("--seed")?.unwrap_or(now);
    let dir = match args.as_slice() {
        [] => std::env::temp_dir(),
        [name, dir] if name == "--dir" => PathBuf::from(dir),
        _ => return Err("the options are --minutes --entries --memory --dir --seed".into()),
    };
    let plan = Plan {
        until: Instant::now() + Duration::from_secs(60 * minutes),
        batches: entries.div_ceil(sequence::LANES as u64 * sequence::BATCH),
        memory: memory << 20,
        seed,
    };
    let dir = tempfile::Builder::new().prefix("soak").tempdir_in(dir)?;
    println!("{minutes} minutes, {entries} entries a store, {memory} MiB, seed {seed}");
    if let Err(error) = trial::run(&plan, dir.path()) {
        println!("violation: {error}");
        println!("the store is kept in {}", dir.keep().display());
        std::process::exit(1);
    }
    println!("no violation");
    Ok(())
}
