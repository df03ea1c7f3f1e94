//! One phase: lookups in a store that was just opened.

use super::super::failure::Failure;
use super::super::lines::Ready;
use super::super::progress::Progress;
use super::disk;
use super::ended::{Ended, Stop};
use super::outcome::{Cold, Phase};
use super::questions::Questions;
use crate::{LookupStats, Seen, Stats};
use hdrhistogram::Histogram;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// So many lookups between two looks at whether to stop.
const STRIDE: usize = 1_024;
/// The longest time that a histogram tells from others, in ns: a minute.
const LONGEST: u64 = 60_000_000_000;

/// Opens the store, asks, and closes it.
pub(super) fn run(
    path: &Path,
    questions: &Questions,
    hit_ratio: f64,
    how: &How<'_>,
) -> Result<(Phase, Stats), Ended> {
    let evicted = how.cold.then(|| disk::evict(path));
    let before = disk::bytes_read();
    let store = Seen::open_read_only(path)?;
    let opened = disk::bytes_read();
    let base = store.stats();
    let start = Instant::now();
    let latency = ask(&store, questions, how)?;
    let seconds = start.elapsed().as_secs_f64();
    let after = disk::bytes_read();
    let stats = store.stats();
    store.close()?;
    let read = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
    let counters = stats.lookup.since(&base.lookup);
    check(&counters, questions)?;
    let cold = evicted.map(|evicted| match (evicted, read(before, opened)) {
        (Err(error), _) => Cold::Refused(error.to_string()),
        (Ok(()), None) => Cold::Unknown,
        // Opening reads every filter and index: from the disk, if their pages are gone.
        (Ok(()), Some(bytes))
            if bytes >= (stats.memory.filters + stats.memory.indexes) / 2 && bytes > 0 =>
        {
            Cold::Evicted
        }
        (Ok(()), Some(_)) => Cold::Stayed,
    });
    let phase = Phase {
        hit_ratio,
        counters,
        disk_bytes_read: read(opened, after),
        seconds,
        latency,
        cold,
    };
    Ok((phase, stats))
}

/// How lookups are run.
pub(super) struct How<'a> {
    pub(super) threads: usize,
    pub(super) cold: bool,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
    /// For the progress line.
    pub(super) name: &'a str,
}

/// All questions, split among threads by their places. Times in ns.
fn ask(store: &Seen, questions: &Questions, how: &How<'_>) -> Result<Histogram<u64>, Ended> {
    let done = AtomicU64::new(0);
    let part = questions.len().div_ceil(how.threads.max(1));
    let mut latency = histogram()?;
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..how.threads)
            .map(|thread| {
                let from = thread.saturating_mul(part);
                let to = from.saturating_add(part).min(questions.len());
                let done = &done;
                thread::Builder::new()
                    .name("seen-bench".to_owned())
                    .spawn_scoped(scope, move || {
                        ask_part(store, questions, from, to, done, how)
                    })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|_| {
                    Err(Failure::Found("a thread of the lookups panicked".to_owned()).into())
                }),
                Err(e) => Err(Failure::System("start a thread", e).into()),
            })
            .collect()
    });
    for result in results {
        latency
            .add(result?)
            .map_err(|e| Failure::Found(format!("cannot add times up: {e}")))?;
    }
    Ok(latency)
}

fn ask_part(
    store: &Seen,
    questions: &Questions,
    from: usize,
    to: usize,
    done: &AtomicU64,
    how: &How<'_>,
) -> Result<Histogram<u64>, Ended> {
    let mut latency = histogram()?;
    for (place, (key, present)) in questions.range(from, to).enumerate() {
        if place.is_multiple_of(STRIDE) {
            how.stop.check()?;
            let done = done.fetch_add(STRIDE as u64, Relaxed);
            how.progress
                .part("looking up in", how.name, done, questions.len() as u64);
        }
        let start = Instant::now();
        let found = store.contains(Ready(key))?;
        latency.saturating_record(nanoseconds(start.elapsed()));
        if found != present {
            return Err(wrong(key, found).into());
        }
    }
    Ok(latency)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn histogram() -> Result<Histogram<u64>, Failure> {
    Histogram::new_with_bounds(1, LONGEST, 3)
        .map_err(|e| Failure::Found(format!("cannot make a histogram: {e}")))
}

fn wrong(key: &[u8], found: bool) -> Failure {
    let (says, list) = match found {
        true => ("has", "is not"),
        false => ("has not", "is"),
    };
    Failure::Found(format!(
        "a wrong answer: the store says that it {says} {}, which {list} among its URLs. If another program writes to it meanwhile, that is why: ask it when none does. Otherwise `seen verify` tells whether it is damaged, and if not, this is a bug to report",
        key.escape_ascii()
    ))
}

/// What the store counted must be what was asked.
fn check(counters: &LookupStats, questions: &Questions) -> Result<(), Failure> {
    let asked = (questions.len() as u64, questions.hits());
    if (counters.lookups, counters.hits) == asked {
        return Ok(());
    }
    Err(Failure::Found(format!(
        "the store counted {} lookups and {} hits where there were {} and {}: a bug to report",
        counters.lookups, counters.hits, asked.0, asked.1
    )))
}
