//! Inserts, one at a time and in batches, into a store that grows and is flushed
//! in the background; with the log's frames stored to a map, and with a write each.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../tests/support/urls.rs"]
mod urls;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seendb::{Canon, Result, Seen, Writes};
use std::time::{Duration, Instant};

const BATCH: usize = 1_000;

/// The time that `work` takes for `count` URLs that no round before had, in a
/// store of its own.
fn timed(
    count: u64,
    writes: Writes,
    work: impl FnOnce(&Seen, &[String]) -> Result<()>,
) -> Duration {
    let urls: Vec<String> = (0..count).map(|index| urls::url(1, index)).collect();
    let run = || -> std::result::Result<Duration, Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let seen = Seen::builder(dir.path().join("store"))
            .canon(Canon::raw())
            .writes(writes)
            .create()?;
        let start = Instant::now();
        work(&seen, &urls)?;
        let elapsed = start.elapsed();
        assert_eq!(seen.len(), count);
        Ok(elapsed)
    };
    match run() {
        Ok(elapsed) => elapsed,
        Err(error) => {
            eprintln!("the bench failed: {error}");
            std::process::exit(1)
        }
    }
}

fn inserts(c: &mut Criterion) {
    let mut group = c.benchmark_group("insert");
    group.sample_size(10);
    for (how, writes) in [("mapped", Writes::Map), ("written", Writes::Pwrite)] {
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("single, log {how}"), |b| {
            b.iter_custom(|count| {
                timed(count, writes, |seen, urls| {
                    urls.iter().try_for_each(|url| seen.insert(url).map(drop))
                })
            });
        });
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function(format!("batch of 1,000, log {how}"), |b| {
            b.iter_custom(|batches| {
                timed(batches * BATCH as u64, writes, |seen, urls| {
                    urls.chunks(BATCH)
                        .try_for_each(|batch| seen.insert_many(batch).map(drop))
                })
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = inserts
}
criterion_main!(benches);
