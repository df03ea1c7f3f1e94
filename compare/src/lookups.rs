//! Looks URLs up that are in memory, in a store and in a set by turns.

use crate::corpus::Packed;
use crate::figure::{Figure, Figures, Value, alone, beside};
use crate::job::Job;
use crate::load;
use crate::process;
use crate::rivals::{self, Reader, Rival, Set};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::time::Instant;

/// URLs in a batch.
const GROUP: usize = 64;

/// A way to ask for URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One call after the other. The processor overlaps them as far as it can.
    Single,
    /// Each call can begin only when the answer of the one before is known.
    Waiting,
    Many,
    TwoThreads,
}

const ROWS: [(Form, bool, Figure); 8] = [
    (Form::Single, false, Figure::Miss),
    (Form::Single, true, Figure::Hit),
    (Form::Waiting, false, Figure::MissWaiting),
    (Form::Waiting, true, Figure::HitWaiting),
    (Form::Many, false, Figure::MissMany),
    (Form::Many, true, Figure::HitMany),
    (Form::TwoThreads, false, Figure::MissTwoThreads),
    (Form::TwoThreads, true, Figure::HitTwoThreads),
];

/// Asks the job's store in all forms.
pub(crate) fn measure(job: &Job) -> Result<Figures> {
    let hits = job.corpus.hits(job.lookups)?;
    let misses = job.corpus.misses(job.lookups)?;
    let before = process::anonymous()?;
    let rival: Box<dyn Rival> = if job.name.is_stored() {
        rivals::open(job.name, &job.store, job.settings)?
    } else {
        Box::new(load::set_of(job)?)
    };
    let mut figures = Figures::new();
    // This brings everything into memory.
    for (urls, present) in [(&misses, false), (&hits, true)] {
        Form::Single.time(&*rival, urls, present)?;
    }
    let memory = process::anonymous()?.saturating_sub(before);
    let each = memory as f64 / job.corpus.count() as f64;
    figures.insert(Figure::MemoryRest, alone(each));

    let set: Option<Set> = job.with_set.then(|| load::set_of(job)).transpose()?;
    let takes_many = rival.reader()?.takes_many();
    for (form, present, figure) in ROWS {
        let urls = if present { &hits } else { &misses };
        let ask_set = || -> Result<Option<f64>> {
            let time = set.as_ref().map(|set| form.time(set, urls, present));
            time.transpose().context("the set")
        };
        let first = ask_set()?;
        let time = form.time(&*rival, urls, present)?;
        let second = ask_set()?;
        // One before and one after, as the machine may become faster or slower meanwhile.
        let beside_it = first
            .zip(second)
            .map(|(first, second)| (first + second) / 2.0);
        let value = Value {
            otherwise: form == Form::Many && !takes_many && job.name.is_stored(),
            ..beside(time, beside_it)
        };
        figures.insert(figure, value);
    }
    rival.close().context("cannot close it")?;
    Ok(figures)
}

impl Form {
    /// The nanoseconds for each URL. An error if an answer is wrong.
    fn time(self, rival: &dyn Rival, urls: &Packed, present: bool) -> Result<f64> {
        let mut reader = rival.reader()?;
        let reader = &mut *reader;
        // Only where it is needed: what is measured after the first lookups is memory.
        let list: Vec<&[u8]> = match self {
            Form::Many => urls.iter().collect(),
            _ => Vec::new(),
        };
        let mut second = (self == Form::TwoThreads)
            .then(|| rival.reader())
            .transpose()?;
        let start = Instant::now();
        let found = match (self, &mut second) {
            (Form::Waiting, _) => waiting(reader, urls)?,
            (Form::Many, _) => many(reader, &list)?,
            (Form::TwoThreads, Some(second)) => two_threads(reader, &mut **second, urls)?,
            _ => single(reader, urls, 0, 1)?,
        };
        let took = start.elapsed();
        let truth = if present { urls.len() } else { 0 };
        ensure!(
            found == truth,
            "wrong answer: of {} URLs it has {truth}, and it said that it has {found}",
            urls.len()
        );
        Ok(took.as_nanos() as f64 / urls.len().max(1) as f64)
    }
}

/// Asks for each `step`-th URL from the `first` on. Gives how many there are.
fn single(reader: &mut dyn Reader, urls: &Packed, first: usize, step: usize) -> Result<usize> {
    let mut count = 0;
    for place in (first..urls.len()).step_by(step) {
        count += usize::from(black_box(reader.has(urls.get(place))?));
    }
    Ok(count)
}

/// Which URL is next depends on the last answer, as far as the processor can tell.
fn waiting(reader: &mut dyn Reader, urls: &Packed) -> Result<usize> {
    let nothing = black_box(0);
    let mut count = 0;
    let mut answer = 0;
    for place in 0..urls.len() {
        answer = usize::from(reader.has(urls.get(place + (answer & nothing)))?);
        count += answer;
    }
    Ok(count)
}

fn many(reader: &mut dyn Reader, urls: &[&[u8]]) -> Result<usize> {
    let mut count = 0;
    let mut found = Vec::with_capacity(GROUP);
    for group in urls.chunks(GROUP) {
        found.clear();
        reader.has_many(group, &mut found)?;
        ensure!(found.len() == group.len(), "it did not answer for all URLs");
        count += black_box(&found).iter().filter(|&&found| found).count();
    }
    Ok(count)
}

/// Each thread has half of the URLs.
fn two_threads(one: &mut dyn Reader, other: &mut dyn Reader, urls: &Packed) -> Result<usize> {
    std::thread::scope(|scope| {
        let other = scope.spawn(move || single(other, urls, 1, 2));
        let here = single(one, urls, 0, 2)?;
        let there = other.join();
        Ok(here + there.map_err(|_| anyhow::anyhow!("a thread panicked"))??)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has everything that begins with an `h`, but answers wrong once in so many.
    struct Liar(usize);

    struct Asked {
        turn: usize,
        wrong: usize,
    }

    impl Rival for Liar {
        fn insert(&mut self, _: &[&[u8]], _: &mut Vec<bool>) -> Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> Result<()> {
            Ok(())
        }
        fn reader(&self) -> Result<Box<dyn Reader + '_>> {
            let wrong = self.0;
            Ok(Box::new(Asked { turn: 0, wrong }))
        }
        fn close(self: Box<Self>) -> Result<()> {
            Ok(())
        }
    }

    impl Reader for Asked {
        fn has(&mut self, url: &[u8]) -> Result<bool> {
            self.turn += 1;
            Ok((url.first() == Some(&b'h')) != (self.turn == self.wrong))
        }
    }

    #[test]
    fn a_wrong_answer_ends_it_in_every_form() {
        let mut urls = Packed::default();
        for number in 0..200 {
            urls.push(format!("https://example.com/{number}").as_bytes());
        }
        for (form, _, _) in ROWS {
            form.time(&Liar(0), &urls, true).unwrap();
            assert!(form.time(&Liar(0), &urls, false).is_err());
            let error = form.time(&Liar(100), &urls, true).unwrap_err().to_string();
            assert!(error.contains("wrong answer"), "{error}");
        }
    }
}
