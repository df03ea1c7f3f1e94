//! Lookups of URLs that are there and of near misses that are not, in a store
//! after `compact()` and in one of 8 runs: single calls, and batches.
#![allow(missing_docs, reason = "criterion's macros make undocumented items")]

#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../tests/support/urls.rs"]
mod urls;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seendb::{Canon, Seen};
use std::hint::black_box;

const COUNT: u64 = 400_000;
const RUNS: u64 = 8;
const BATCH: usize = 64;

/// A store of [`COUNT`] URLs in [`RUNS`] runs.
fn store(dir: &std::path::Path) -> seendb::Result<Seen> {
    let seen = Seen::builder(dir).canon(Canon::raw()).create()?;
    for run in 0..RUNS {
        seen.extend((run * COUNT / RUNS..(run + 1) * COUNT / RUNS).map(|i| urls::url(1, i)))?;
        seen.flush()?;
    }
    Ok(seen)
}

fn bench(c: &mut Criterion, name: &str, seen: &Seen) {
    let mut order: Vec<u64> = (0..COUNT).collect();
    urls::Dice(2).shuffle(&mut order);
    let hits: Vec<String> = order.iter().map(|&i| urls::url(1, i)).collect();
    let misses: Vec<String> = order.iter().map(|&i| urls::near_miss(1, i)).collect();
    let mut group = c.benchmark_group(name);
    for (kind, urls, expected) in [("hit", &hits, true), ("miss", &misses, false)] {
        group.throughput(Throughput::Elements(1));
        let mut next = urls.iter().cycle();
        group.bench_function(kind, |b| {
            b.iter(|| {
                let answer = next.next().map(|url| seen.contains(black_box(url)));
                assert!(matches!(answer, Some(Ok(answer)) if answer == expected));
            });
        });
        group.throughput(Throughput::Elements(BATCH as u64));
        let mut next = urls.chunks_exact(BATCH).cycle();
        group.bench_function(format!("{kind}, get_many of {BATCH}"), |b| {
            b.iter(|| {
                let answers = next.next().map(|batch| seen.get_many(black_box(batch)));
                assert!(matches!(answers, Some(Ok(answers))
                    if answers.iter().all(|answer| answer.is_some() == expected)));
            });
        });
    }
    group.finish();
}

fn lookups(c: &mut Criterion) {
    let run = |c: &mut Criterion| -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let seen = store(&dir.path().join("store"))?;
        bench(c, "8 runs", &seen);
        seen.compact()?;
        bench(c, "after compact", &seen);
        Ok(seen.close()?)
    };
    if let Err(error) = run(c) {
        eprintln!("the bench failed: {error}");
        std::process::exit(1);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .without_plots()
        .sample_size(20)
        .measurement_time(std::time::Duration::from_secs(3));
    targets = lookups
}
criterion_main!(benches);
