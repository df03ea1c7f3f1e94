//! A store that grows by small memtables, so that merges happen all along: what its filters
//! let through, and what they take, at every flush.

use crate::{Corpus, Outcome, Plan, Set};
use seendb::fuzz::filter_size;
use seendb::{Canon, Driver, Durability, FilterKind, Seen};

const BATCH: usize = 1_000;

/// What was seen at the flushes so far.
#[derive(Default)]
struct Grown {
    flushes: u64,
    most_runs: u64,
    /// The highest rates.
    expected: f64,
    measured: f64,
    /// Bits a key; and those of equal bits in every run, for the same expected rate at the
    /// same moment. Sums over the flushes.
    bits: f64,
    equal: f64,
    /// Keys at each flush, to be asked for once the most runs are known.
    keys: Vec<u64>,
}

pub(crate) fn measure(plan: &Plan, urls: Corpus) -> Outcome<()> {
    let urls = urls.shuffled(1);
    let set: Set = urls.iter().map(Box::from).collect();
    let absent = urls.shuffled(3).first(plan.absent).near_misses(&set);
    drop(set);
    println!(
        "{} URLs in random order; after every flush {} absent ones are looked up. Rates in %, bits a key on\n\
         average over the flushes; equal: the bits of a filter of the same kind if all runs had equal bits,\n\
         for the same rate at the same moment, and so that the rate asked for holds at every moment.",
        urls.len(),
        absent.len()
    );
    println!(
        "| filter  | asked | flushes | most runs | highest expected | highest measured | of asked | bits  | equal, same rate | equal, same bound | at the end |"
    );
    println!(
        "|---------|------:|--------:|----------:|-----------------:|-----------------:|---------:|------:|-----------------:|------------------:|-----------:|"
    );
    for &rate in &plan.rates {
        for &kind in &plan.kinds {
            grow(plan, kind, rate, &urls, &absent)?;
        }
    }
    Ok(())
}

fn grow(plan: &Plan, kind: FilterKind, asked: f64, urls: &Corpus, absent: &Corpus) -> Outcome<()> {
    let dir = tempfile::tempdir_in(&plan.dir)?;
    let seen = Seen::builder(dir.path().join("store"))
        .canon(Canon::raw())
        .filter(kind)
        .false_positive_rate(asked)
        .memtable_size(plan.memtable)
        .durability(Durability::Manual)
        .driver(Driver::Manual)
        .open()?;
    let absent: Vec<&[u8]> = absent.iter().collect();
    let all: Vec<&[u8]> = urls.iter().collect();
    let mut grown = Grown::default();
    for batch in all.chunks(BATCH) {
        seen.insert_many(batch)?;
        loop {
            let before = seen.stats().flushes;
            let worked = seen.step()?;
            if seen.stats().flushes > before {
                grown.look(&seen, kind, &absent)?;
            }
            if !worked {
                break;
            }
        }
    }
    let flushes = grown.flushes as f64;
    let bound = asked / grown.most_runs as f64;
    let bound: f64 = grown.keys.iter().map(|&keys| bits(kind, bound, keys)).sum();
    println!(
        "| {kind:<7} | {:>5} | {:>7} | {:>9} | {:>16.4} | {:>16.4} | {:>8.3} | {:>5.2} | {:>8.2} ({:+.1} %) | {:>9.2} ({:+.1} %) | {:>10.2} |",
        asked * 100.0,
        grown.flushes,
        grown.most_runs,
        grown.expected * 100.0,
        grown.measured * 100.0,
        grown.measured / asked,
        grown.bits / flushes,
        grown.equal / flushes,
        (grown.bits / grown.equal - 1.0) * 100.0,
        bound / flushes,
        (grown.bits / bound - 1.0) * 100.0,
        seen.stats().filter.bits_per_key
    );
    seen.close()?;
    Ok(())
}

impl Grown {
    fn look(&mut self, seen: &Seen, kind: FilterKind, absent: &[&[u8]]) -> Outcome<()> {
        let before = seen.stats();
        for batch in absent.chunks(BATCH) {
            if seen.get_many(batch)?.iter().any(Option::is_some) {
                return Err("an absent URL was found".into());
            }
        }
        let work = seen.stats().lookup.since(&before.lookup);
        let measured = work.blocks_read as f64 / absent.len() as f64;
        let keys: u64 = before.by_run.iter().map(|run| run.entries).sum();
        let equal = before.filter.expected / before.runs as f64;
        self.flushes += 1;
        self.most_runs = self.most_runs.max(before.runs);
        self.expected = self.expected.max(before.filter.expected);
        self.measured = self.measured.max(measured);
        self.bits += before.filter.bits_per_key;
        self.equal += bits(kind, equal, keys);
        self.keys.push(keys);
        Ok(())
    }
}

/// The bits a key of a filter.
fn bits(kind: FilterKind, rate: f64, keys: u64) -> f64 {
    filter_size(kind, rate, keys) as f64 * 8.0 / keys as f64
}
