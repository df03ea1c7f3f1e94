//! A load of so many URLs that they are never in memory all at once: URL number i is a
//! function of i. What it costs, what it stops, and what it leaves.

mod load;
mod probe;
mod report;
mod source;
mod watch;

use crate::corpus::Corpus;
use crate::lookups::Form;
use crate::questions::Questions;
use crate::{Outcome, kernel, median, memory, opening, progress, stores, urls};
use load::Load;
use probe::Probe;
use report::Report;
use seendb::Seen;
use source::Source;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use watch::Watch;

/// The seed of the URLs that are inserted, and of those that are asked for.
const SEED: u64 = 1;
const SEED_OF_QUESTIONS: u64 = 2;
/// Rounds of lookups, after one that brings everything into memory.
const ROUNDS: usize = 5;

/// What the threads of a load know of each other.
#[derive(Default)]
struct Shared {
    inserted: AtomicU64,
    ended: AtomicBool,
}

/// Ends the threads that look on, also when the load panics.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

pub(crate) fn measure(count: u64, asked: usize, dir: &Path) -> Outcome<()> {
    println!(
        "{count} generated URLs, one after the other; {}",
        kernel::surroundings()?
    );
    progress("loading");
    let path = dir.join("scale");
    let seen = stores::builder(&path).create()?;
    let shared = Shared::default();
    let probe = Probe::new(count);
    let source = Source::new(dir.join("urls"), count);
    let (load, beside, watch) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| probe.while_loading(&seen, &shared).map_err(told));
        let watch = scope.spawn(|| Watch::until_ended(&path, &shared).map_err(told));
        let end = End(&shared);
        let load = Load::run(&seen, source, count, &shared).map_err(told);
        drop(end);
        let died = |_| String::from("a thread ended with a panic");
        Ok::<_, String>((
            load?,
            beside.join().map_err(died)??,
            watch.join().map_err(died)??,
        ))
    })?;
    let mut report = Report::default();
    let live = kernel::allocated(&path)?;
    report.load(&load, &seen.stats(), beside.cpu + watch.cpu);
    report.watched(&watch, live as f64 / count as f64);

    progress("lookups at rest");
    let at_rest = probe.at_rest(&seen)?;
    report.probed(&beside, &at_rest);
    let [present, absent] = questions(count, asked);
    lookups(&seen, &present, &absent, &mut report)?;
    assert_eq!(seen.len(), count);
    seen.close()?;

    progress("opening");
    report.disk(kernel::allocated(&path)? as f64 / count as f64);
    let questions = Questions::write(&dir.join("questions"), &present, &absent)?;
    report.memory(&memory::of(&path, &questions)?, count);
    let entries = usize::try_from(count)?;
    report.opening(
        "files in the page cache",
        &opening::warm(&path, "write", entries)?,
    );
    report.opening("cold", &opening::cold(&path, entries)?);
    report.print();
    Ok(())
}

/// Errors that go from one thread to another.
fn told(error: Box<dyn std::error::Error>) -> String {
    error.to_string()
}

/// As many URLs that were inserted, and that were not, drawn at random.
fn questions(count: u64, asked: usize) -> [Corpus; 2] {
    let mut dice = urls::Dice(SEED_OF_QUESTIONS);
    let (mut present, mut absent) = (Corpus::default(), Corpus::default());
    for _ in 0..asked {
        present.push(urls::url(SEED, dice.below(count)).as_bytes());
        absent.push(urls::near_miss(SEED, dice.below(count)).as_bytes());
    }
    [present, absent]
}

fn lookups(seen: &Seen, present: &Corpus, absent: &Corpus, report: &mut Report) -> Outcome<()> {
    for (name, form) in [
        ("single calls", Form::Loop),
        ("each waits for the one before", Form::Serialised),
    ] {
        for (kind, urls, expected) in [("miss", absent, false), ("hit", present, true)] {
            form.time_store(seen, urls, expected)?;
            let rounds = (0..ROUNDS).map(|_| form.time_store(seen, urls, expected));
            let nanos = median(rounds.collect::<Outcome<Vec<_>>>()?);
            report.lookups(&format!("{kind}, {name}, ns"), nanos);
        }
    }
    Ok(())
}
