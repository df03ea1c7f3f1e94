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
fn in_a_loop<A: Asked>(asked: &A, urls: &Corpus, expected: bool) -> Outcome<f64> {
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
fn serialised<A: Asked>(asked: &A, urls: &Corpus, expected: bool) -> Outcome<f64> {
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

fn in_batches<A: Asked>(asked: &A, urls: &Corpus, expected: bool) -> Outcome<f64> {
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
fn on_two_threads<A: Asked>(asked: &A, urls: &Corpus, expected: bool) -> Outcome<f64> {
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

/// A row of the table.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    form: Form,
    /// Whether the URLs are there.
    present: bool,
    goal: Option<f64>,
}

#[derive(Clone, Copy)]
enum Form {
    Loop,
    Serialised,
    Batches,
    TwoThreads,
}

impl Kind {
    fn run<A: Asked>(self, asked: &A, plan: &Plan) -> Outcome<f64> {
        let urls = if self.present {
            &plan.lookups
        } else {
            &plan.absent
        };
        match self.form {
            Form::Loop => in_a_loop(asked, urls, self.present),
            Form::Serialised => serialised(asked, urls, self.present),
            Form::Batches => in_batches(asked, urls, self.present),
            Form::TwoThreads => on_two_threads(asked, urls, self.present),
        }
    }
}

pub(crate) fn measure(plan: &Plan, compacted: &Path, eight: &Path) -> Outcome<()> {
    let compacted = open(compacted, true)?;
    let eight = open(eight, true)?;
    for (seen, runs) in [(&compacted, 1), (&eight, 8)] {
        let stats = seen.stats();
        assert_eq!((stats.runs, stats.memtable_entries), (runs, 0));
    }
    let forms = [
        ("miss, single calls", "hit, single calls", Form::Loop),
        (
            "miss, each waits for the one before",
            "hit, each waits for the one before",
            Form::Serialised,
        ),
        ("miss, get_many of 64", "hit, get_many of 64", Form::Batches),
        (
            "miss, two threads, time that passes",
            "hit, two threads, time that passes",
            Form::TwoThreads,
        ),
    ];
    let mut rows = Vec::new();
    for (miss, hit, form) in forms {
        let is_loop = matches!(form, Form::Loop);
        for (name, present, most) in [(miss, false, 3.0), (hit, true, 7.0)] {
            let goal = is_loop.then_some(most);
            let kind = Kind {
                name,
                form,
                present,
                goal,
            };
            rows.push((kind, Row::new(kind.name, kind.goal)));
        }
    }
    for round in 0..=plan.rounds {
        for (kind, row) in &mut rows {
            let mut warm = Row::new("", None);
            // The first round brings everything into memory.
            let row = if round == 0 { &mut warm } else { row };
            row.note(0, kind.run(&plan.set, plan)?);
            row.note(1, kind.run(&compacted, plan)?);
            row.note(2, kind.run(&eight, plan)?);
        }
    }
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    table::print("Lookups at rest", &["compact", " 8 runs"], &rows);
    for (name, seen) in [("after compact()", &compacted), ("8 runs", &eight)] {
        let work = seen.stats().lookup;
        println!(
            "{name}: {} lookups, {} hits, {} filter skips, {} key range skips, {} blocks read, \
             {} false positives",
            work.lookups,
            work.hits,
            work.filter_skips,
            work.key_range_skips,
            work.blocks_read,
            work.false_positives
        );
        assert_eq!(
            work.runs_considered,
            work.key_range_skips + work.filter_skips + work.blocks_read
        );
    }
    compacted.close()?;
    Ok(eight.close()?)
}
