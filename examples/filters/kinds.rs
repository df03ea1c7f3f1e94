//! Each kind of filter by itself: bits, rates, times and memory.

use crate::{Outcome, Plan};
use seendb::fuzz::{Probed, hash};
use std::hint::black_box;
use std::time::Instant;

/// Rounds, of which the fastest counts: what else the machine does only adds.
const ROUNDS: usize = 5;
/// Probes that are under way at the same time in a batch.
const BATCH: usize = 32;
/// Absent keys to measure the rate with; those of a round are fewer.
const ABSENT: usize = 20_000_000;
const PROBES: usize = 2_000_000;

pub(crate) fn measure(plan: &Plan) -> Outcome<()> {
    let keys = hashes(0, plan.keys);
    println!(
        "{} keys. Rates in %, bits and bytes a key, times in ns; theory: the bits of a classic filter.",
        plan.keys
    );
    println!(
        "| filter  | asked  | measured | of asked | computed | bits  | theory | single | waiting | batch | build | memory |"
    );
    println!(
        "|---------|-------:|---------:|---------:|---------:|------:|-------:|-------:|--------:|------:|------:|-------:|"
    );
    for &rate in &plan.rates {
        for &kind in &plan.kinds {
            let before = settle()?;
            let start = Instant::now();
            let filter = Probed::build(kind, rate, &keys)?;
            let build = start.elapsed().as_nanos() as f64 / keys.len() as f64;
            let memory = peak()?.saturating_sub(before) as f64 / keys.len() as f64;
            if let Some(lost) = keys.iter().find(|&&key| !filter.may_contain(key)) {
                return Err(format!("{kind}: {lost:x} was added, and is not found").into());
            }
            let measured = measured(&filter);
            let absent = hashes(1 << 41, PROBES);
            let [single, waiting, batch] = times(&filter, &absent);
            println!(
                "| {:<7} | {:>6} | {:>8.4} | {:>8.3} | {:>8.4} | {:>5.2} | {:>6.2} | {single:>6.0} | {waiting:>7.0} | {batch:>5.0} | {build:>5.0} | {memory:>6.1} |",
                kind,
                rate * 100.0,
                measured * 100.0,
                measured / rate,
                filter.rate() * 100.0,
                filter.size() as f64 * 8.0 / keys.len() as f64,
                -rate.ln() / std::f64::consts::LN_2.powi(2),
            );
        }
    }
    Ok(())
}

fn hashes(from: u64, count: usize) -> Vec<u64> {
    let keys = from..from + count as u64;
    keys.map(|key| hash(7, &key.to_le_bytes())).collect()
}

fn measured(filter: &Probed) -> f64 {
    let mut maybe = 0;
    for from in (0..ABSENT).step_by(PROBES) {
        let absent = hashes((1 << 40) + from as u64, PROBES);
        maybe += absent
            .iter()
            .filter(|&&key| filter.may_contain(key))
            .count();
    }
    maybe as f64 / ABSENT as f64
}

/// Nanoseconds a probe of absent keys: one after the other, as the processor overlaps them;
/// each waiting for the answer before; and in batches.
fn times(filter: &Probed, absent: &[u64]) -> [f64; 3] {
    let mut best = [f64::INFINITY; 3];
    let mut note = |place: usize, work: &mut dyn FnMut() -> u64| {
        let start = Instant::now();
        black_box(work());
        let nanos = start.elapsed().as_nanos() as f64 / absent.len() as f64;
        best[place] = best[place].min(nanos);
    };
    for _ in 0..ROUNDS {
        note(0, &mut || {
            absent
                .iter()
                .map(|&key| u64::from(filter.may_contain(key)))
                .sum()
        });
        note(1, &mut || {
            let mut last = 0;
            for &key in absent {
                // Which key is next depends on the answer, as far as the processor knows.
                last = u64::from(filter.may_contain(key ^ (black_box(last) >> 1)));
            }
            last
        });
        note(2, &mut || {
            let mut maybe = 0;
            for batch in absent.chunks(BATCH) {
                batch.iter().for_each(|&key| filter.prefetch(key));
                let found = batch.iter().filter(|&&key| filter.may_contain(key));
                maybe += found.count() as u64;
            }
            maybe
        });
    }
    best
}

/// Bytes of memory now; the peak is counted from here on.
fn settle() -> Outcome<u64> {
    // As Documentation/filesystems/proc.rst of Linux says: 5 resets the peak.
    std::fs::write("/proc/self/clear_refs", "5")?;
    status("VmRSS:")
}

/// The most bytes of memory since [`settle`].
fn peak() -> Outcome<u64> {
    status("VmHWM:")
}

fn status(field: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kib
        .ok_or("no such line in /proc/self/status")?
        .parse::<u64>()?
        * 1024)
}
