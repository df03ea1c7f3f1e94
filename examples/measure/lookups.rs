//! How long it takes to look URLs up, at rest, with everything in memory.

use crate::corpus::Corpus;
use crate::goals::{Cell, Goal, Table};
use crate::{Outcome, Plan, median, progress, stores, time};
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

/// How calls follow each other.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Loop,
    Serialised,
    Batches,
    TwoThreads,
}

use Form::{Batches, Loop, Serialised, TwoThreads};

const FORMS: [Form; 4] = [Loop, Serialised, Batches, TwoThreads];

impl Form {
    /// The nanoseconds of a lookup. All URLs are there, or none, as `expected` says.
    fn time<A: Asked>(self, asked: &A, urls: &Corpus, expected: bool) -> Outcome<f64> {
        match self {
            Loop => in_a_loop(asked, urls, expected),
            Serialised => serialised(asked, urls, expected),
            Batches => in_batches(asked, urls, expected),
            TwoThreads => on_two_threads(asked, urls, expected),
        }
    }

    /// The nanoseconds of a lookup in a store.
    pub(crate) fn time_store(self, seen: &Seen, urls: &Corpus, expected: bool) -> Outcome<f64> {
        self.time(seen, urls, expected)
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

/// Who is asked: the set, and both stores.
const SET: usize = 0;
const COMPACTED: usize = 1;
const EIGHT: usize = 2;

/// The times of a round, by form, by whether URLs are there, and by who is asked.
type Round = [[[f64; 3]; 2]; FORMS.len()];

pub(crate) fn measure(
    plan: &Plan,
    compacted: &Path,
    eight: &Path,
    table: &mut Table,
) -> Outcome<()> {
    let compacted = stores::builder(compacted).open()?;
    let eight = stores::builder(eight).open()?;
    for (seen, runs) in [(&compacted, 1), (&eight, stores::RUNS as u64)] {
        let stats = seen.stats();
        assert_eq!((stats.runs, stats.memtable_entries), (runs, 0));
    }
    let mut rounds: Vec<Round> = Vec::new();
    for round in 0..=plan.rounds {
        progress(&format!("lookups, round {round}"));
        let mut times = Round::default();
        for (form, times) in FORMS.into_iter().zip(&mut times) {
            for (present, times) in [false, true].into_iter().zip(times) {
                let urls = if present { &plan.lookups } else { &plan.absent };
                times[SET] = form.time(&plan.set, urls, present)?;
                times[COMPACTED] = form.time(&compacted, urls, present)?;
                times[EIGHT] = form.time(&eight, urls, present)?;
            }
        }
        // The first round brings everything into memory.
        if round > 0 {
            rounds.push(times);
        }
    }
    for (name, form, present, goals) in [
        (
            "miss, single calls",
            Loop,
            false,
            [at_most(1.2), at_most(2.5)],
        ),
        (
            "hit, single calls",
            Loop,
            true,
            [at_most(2.7), at_most(4.2)],
        ),
        (
            "miss, each waits for the one before",
            Serialised,
            false,
            [at_most(0.8), Goal::None],
        ),
        (
            "hit, each waits for the one before",
            Serialised,
            true,
            [at_most(1.0), Goal::None],
        ),
        (
            "miss, `get_many` of 64, to the set's single calls",
            Batches,
            false,
            [at_most(0.6), Goal::None],
        ),
        (
            "hit, `get_many` of 64, to the set's single calls",
            Batches,
            true,
            [at_most(1.8), Goal::None],
        ),
    ] {
        // The set has no batches.
        let of_set = if matches!(form, Batches) { Loop } else { form };
        let of =
            |round: &Round, form: Form, who: usize| round[form as usize][usize::from(present)][who];
        let cell = |who: usize, goal| {
            let nanos = median(rounds.iter().map(|round| of(round, form, who)));
            let ratios = rounds.iter().map(|r| of(r, form, who) / of(r, of_set, SET));
            Cell::ratio(nanos, median(ratios), goal)
        };
        let set = median(rounds.iter().map(|round| of(round, of_set, SET)));
        let [one, many] = goals;
        table.times(name, set, cell(COMPACTED, one), Some(cell(EIGHT, many)));
    }
    for (name, present) in [
        ("miss, two threads, times the lookups of one", 0),
        ("hit, two threads, times the lookups of one", 1),
    ] {
        let times = |who: usize| {
            rounds
                .iter()
                .map(move |r| r[TwoThreads as usize][present][who])
        };
        let cell = |who: usize, goal| {
            let gains = rounds
                .iter()
                .map(|r| r[Loop as usize][present][who] / r[TwoThreads as usize][present][who]);
            Cell::ratio(median(times(who)), median(gains), goal)
        };
        let goal = Goal::AtLeast(1.8);
        let eight = Some(cell(EIGHT, Goal::None));
        table.times(name, median(times(SET)), cell(COMPACTED, goal), eight);
    }
    for seen in [compacted, eight] {
        let work = seen.stats().lookup;
        assert_eq!(
            work.runs_considered,
            work.key_range_skips + work.filter_skips + work.blocks_read
        );
        seen.close()?;
    }
    Ok(())
}

fn at_most(most: f64) -> Goal {
    Goal::AtMost(most)
}
