//! How long it takes to look URLs up, at rest, with everything in memory.

use crate::corpus::Corpus;
use crate::table::{self, Row};
use crate::{Outcome, Plan, open, time};
use seendb::Seen;
use std::hint::black_box;
use std::path::Path;

/// URLs in a batch of lookups.
const GROUP: usize = 64;

/// Something that answers whether it has a URL.
trait Asked: Sync {
    fn has(&self, url: &[u8]) -> Outcome<bool>;
    /// How many of the URLs it has.
    fn has_many(&self, urls: &[&[u8]]) -> Outcome<usize>;
}

impl Asked for crate::Set {
    fn has(&self, url: &[u8]) -> Outcome<bool> {
        Ok(self.contains(url))
    }

    fn has_many(&self, urls: &[&[u8]]) -> Outcome<usize> {
        Ok(urls.iter().filter(|&&url| self.contains(url)).count())
    }
}

impl Asked for Seen {
    fn has(&self, url: &[u8]) -> Outcome<bool> {
        Ok(self.contains(url)?)
    }

    fn has_many(&self, urls: &[&[u8]]) -> Outcome<usize> {
        let found = self.get_many(urls)?;
        Ok(found.iter().filter(|record| record.is_some()).count())
    }
}

/// One call after the other. The processor overlaps them as far as it can.
fn in_a_loop(asked: &dyn Asked, urls: &Corpus, expected: bool) -> Outcome<f64> {
    time(urls.len(), || {
        let mut count = 0;
        for url in urls.iter() {
            count += usize::from(black_box(asked.has(url)?));
        }
        assert_eq!(count, if expected { urls.len() } else { 0 });
        Ok(())
    })
}

/// Each call can begin only when the answer of the one before is known: which URL
/// it is about depends on it, as far as the processor can tell.
fn serialised(asked: &dyn Asked, urls: &Corpus, expected: bool) -> Outcome<f64> {
    let nothing = black_box(0);
    time(urls.len(), || {
        let mut count = 0;
        let mut answer = 0;
        for place in 0..urls.len() {
            answer = usize::from(asked.has(urls.get(place + (answer & nothing)))?);
            count += answer;
        }
        assert_eq!(count, if expected { urls.len() } else { 0 });
        Ok(())
    })
}

fn in_batches(asked: &dyn Asked, urls: &Corpus, expected: bool) -> Outcome<f64> {
    let all: Vec<&[u8]> = urls.iter().collect();
    time(urls.len(), || {
        let mut count = 0;
        for group in all.chunks(GROUP) {
            count += black_box(asked.has_many(group)?);
        }
        assert_eq!(count, if expected { urls.len() } else { 0 });
        Ok(())
    })
}

/// Two threads, each with half of the URLs: the time that passes.
fn on_two_threads(asked: &dyn Asked, urls: &Corpus, expected: bool) -> Outcome<f64> {
    let half = |first: usize| -> bool {
        (first..urls.len())
            .step_by(2)
            .all(|place| matches!(asked.has(urls.get(place)), Ok(answer) if answer == expected))
    };
    time(urls.len(), || {
        let right = std::thread::scope(|scope| {
            let other = scope.spawn(|| half(1));
            half(0) && matches!(other.join(), Ok(true))
        });
        assert!(right);
        Ok(())
    })
}

type Measure = fn(&dyn Asked, &Corpus, bool) -> Outcome<f64>;

pub(crate) fn measure(plan: &Plan, compacted: &Path, eight: &Path) -> Outcome<()> {
    let compacted = open(compacted, true)?;
    let eight = open(eight, true)?;
    for (seen, runs) in [(&compacted, 1), (&eight, 8)] {
        let stats = seen.stats();
        assert_eq!((stats.runs, stats.memtable_entries), (runs, 0));
    }
    let kinds: [(&'static str, Measure, bool, Option<f64>); 8] = [
        ("miss, single calls", in_a_loop, false, Some(3.0)),
        ("hit, single calls", in_a_loop, true, Some(7.0)),
        (
            "miss, each waits for the one before",
            serialised,
            false,
            None,
        ),
        ("hit, each waits for the one before", serialised, true, None),
        ("miss, get_many of 64", in_batches, false, None),
        ("hit, get_many of 64", in_batches, true, None),
        (
            "miss, two threads, time that passes",
            on_two_threads,
            false,
            None,
        ),
        (
            "hit, two threads, time that passes",
            on_two_threads,
            true,
            None,
        ),
    ];
    let mut rows: Vec<Row> = kinds
        .iter()
        .map(|&(name, _, _, goal)| Row::new(name, goal))
        .collect();
    for round in 0..=plan.rounds {
        for (row, &(_, run, present, _)) in rows.iter_mut().zip(&kinds) {
            let urls = if present { &plan.lookups } else { &plan.absent };
            let mut warm = Row::new("", None);
            // The first round brings everything into memory.
            let row = if round == 0 { &mut warm } else { row };
            row.round(&mut [
                &mut || run(&plan.set, urls, present),
                &mut || run(&compacted, urls, present),
                &mut || run(&eight, urls, present),
            ])?;
        }
    }
    table::print("Lookups at rest", &["compact", " 8 runs"], &rows);
    for (name, seen) in [("after compact()", &compacted), ("8 runs", &eight)] {
        let work = seen.stats().lookup;
        println!(
            "{name}: {} lookups, {} hits, {} filter skips, {} key range skips, {} blocks read, \
             {} false positives ({:.2} % of misses)",
            work.lookups,
            work.hits,
            work.filter_skips,
            work.key_range_skips,
            work.blocks_read,
            work.false_positives,
            100.0 * work.false_positives as f64 / (work.lookups - work.hits).max(1) as f64
        );
        assert_eq!(
            work.runs_considered,
            work.key_range_skips + work.filter_skips + work.blocks_read
        );
    }
    compacted.close()?;
    Ok(eight.close()?)
}
