//! What was reported as recorded is there after the process was killed: whole, never
//! new again, with its time and position, and with nothing that was never inserted.
//!
//! `SEENDB_TEST_LONG=1 cargo test --test a_kill_loses_nothing_that_was_reported -- --nocapture`
//! kills 2,400 writers, 200 with each combination of settings.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/model.rs"]
mod model;
#[path = "support/script.rs"]
mod script;
#[path = "support/setting.rs"]
mod setting;
mod support;

use model::{Found, Model};
use script::{Ends, Operation, Script};
use seendb::{Canon, Env, Error, Reads, Seen};
use setting::{SETTINGS, Setting};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use support::{Done, Seeded, SetClock, assert_clean, at, child, long, place, small};

/// Stores whose writers are killed: all settings in each life, and twice.
const STORES: u64 = 2 * SETTINGS;
/// Writers killed in one store, one after the other.
const LIVES: u64 = 5;

/// What a writer can be at when it is killed: the word with which it says so, the most
/// seconds that follow, and how many operations it does before it closes.
const MOMENTS: [(&str, u64, u64); 5] = [
    ("opening", 2, 30),
    ("opened", 40, 1 << 40),
    ("opened", 10, 1 << 40),
    ("compacting", 3, 150),
    ("closing", 1, 60),
];

fn open(path: &Path, setting: Setting, clock: &Arc<SetClock>) -> Result<Seen, Error> {
    let env = Env {
        clock: clock.clone(),
        ..Env::default()
    };
    setting.on(small(path)).canon(Canon::raw()).env(env).open()
}

/// A writer: opens, writes with all lanes, merges everything, closes, again and again.
#[test]
fn child_writes_until_it_is_killed() {
    let Some(argument) = child::argument() else {
        return;
    };
    let (path, numbers) = argument.split_once(' ').unwrap();
    let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
    let [seed, setting, life, length, ends @ ..] = numbers.as_slice() else {
        panic!("{argument}");
    };
    let script = Script { seed: *seed };
    let clock = Arc::new(SetClock::default());
    clock.set(*life);
    let mut ends = Ends::try_from(ends).unwrap();
    loop {
        child::report("opening");
        let seen = open(Path::new(path), Setting(*setting), &clock).unwrap();
        child::report("opened");
        std::thread::scope(|scope| {
            for (lane, end) in ends.iter_mut().enumerate() {
                let seen = &seen;
                scope.spawn(move || {
                    for i in *end..*end + *length {
                        let answers = perform(seen, &script.operation(lane, i));
                        child::report(&format!("{lane} {i} {answers}"));
                    }
                    *end += *length;
                    // The other lanes go on meanwhile, for a while.
                    if lane == 0 {
                        child::report("compacting");
                        seen.compact().unwrap();
                        child::report("compacted");
                    }
                });
            }
        });
        child::report("closing");
        seen.close().unwrap();
        child::report("closed");
    }
}

/// What was answered: 1 for each URL that was new, 0 for each other.
fn perform(seen: &Seen, operation: &Operation) -> String {
    let mut answers = Vec::new();
    if let Some(again) = &operation.again {
        answers.push(seen.insert(again).unwrap());
    }
    let shared = operation.shared.as_ref();
    if let Some(seconds) = operation.at {
        let mut batch = seen.batch();
        for url in &operation.own {
            batch.insert(url).unwrap();
        }
        batch.at(at(seconds));
        if let Some(position) = operation.position {
            batch.position(position);
        }
        answers.extend(seen.apply(batch).unwrap().new);
    } else if let ([only], None) = (operation.own.as_slice(), shared) {
        answers.push(seen.insert(only).unwrap());
    } else {
        let urls: Vec<&String> = operation.own.iter().chain(shared).collect();
        answers.extend(seen.insert_many(&urls).unwrap());
    }
    let digit = |new| if new { '1' } else { '0' };
    answers.into_iter().map(digit).collect()
}

/// What all kills came to.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    /// Kills of writers with each setting, and those of them after which an
    /// unfinished frame was cut off, and files of an unfinished flush or merge were left.
    settings: BTreeMap<Setting, [u64; 3]>,
    /// What writers had said last.
    moments: BTreeMap<String, u64>,
    operations: u64,
    unreported: u64,
    checked: u64,
    refreshes: u64,
}

#[test]
fn at_any_moment_with_every_setting() {
    let start = Instant::now();
    let random = Seeded::new(std::process::id().into());
    let mut tally = Tally::default();
    for store in 0..STORES * long() {
        kill_writers_of_one_store(store, &random, &mut tally);
    }
    println!("{:>9} {:>9} {:>9}  settings", "kills", "cut", "leftovers");
    for (setting, [kills, cuts, leftovers]) in &tally.settings {
        println!("{kills:>9} {cuts:>9} {leftovers:>9}  {setting}");
    }
    println!("said last: {:?}", tally.moments);
    support::tell(&format!(
        "{} kills in {:.0?}: {} operations, {} of them there and not reported; {} entries \
         checked, {} refreshes of readers beside",
        tally.kills,
        start.elapsed(),
        tally.operations,
        tally.unreported,
        tally.checked,
        tally.refreshes
    ));
    assert_eq!(tally.kills, STORES * LIVES * long());
    assert!(tally.operations > 20 * tally.kills && tally.refreshes > tally.kills);
}

fn kill_writers_of_one_store(store: u64, random: &Seeded, tally: &mut Tally) {
    let (_dir, path) = place();
    let script = Script {
        seed: random.next() >> 1,
    };
    let model = Model::new(script);
    let (exists, done) = (AtomicBool::new(false), AtomicBool::new(false));
    tally.refreshes += std::thread::scope(|scope| {
        let read = |reads, stays| {
            let (path, model, exists, done) = (&path, &model, &exists, &done);
            scope.spawn(move || read_beside(path, reads, stays, model, exists, done))
        };
        let readers = [read(Reads::Map, true), read(Reads::Pread, false)];
        let done = Done(&done);
        let mut ends = Ends::default();
        for life in 1..=LIVES {
            // All settings in turn, each after every other.
            let setting = Setting((store + life * (1 + store / SETTINGS)) % SETTINGS);
            model.begin(ends);
            let moment = MOMENTS[random.below(MOMENTS.len() as u64) as usize];
            let last_said = live(&path, script, setting, life, moment, &model, random);
            *tally.moments.entry(last_said.clone()).or_default() += 1;
            tally.kills += 1;
            let counts = tally.settings.entry(setting).or_default();
            counts[0] += 1;
            if last_said != "opening" {
                exists.store(true, Ordering::SeqCst);
            }
            if let Some(found) = look_after_a_kill(&path, life, &model, &exists, counts, random) {
                ends = found.ends;
                tally.unreported += found.unreported;
                tally.checked += found.entries;
            }
        }
        tally.operations += ends.iter().sum::<u64>();
        drop(done);
        readers
            .map(|reader| reader.join().unwrap())
            .iter()
            .sum::<u64>()
    });
}

/// Starts a writer and kills it; what it had said last of what it was at.
fn live(
    path: &Path,
    script: Script,
    setting: Setting,
    life: u64,
    (word, most, length): (&str, u64, u64),
    model: &Model,
    random: &Seeded,
) -> String {
    let [a, b, c] = model.reported();
    let argument = format!(
        "{} {} {} {life} {length} {a} {b} {c}",
        path.display(),
        script.seed,
        setting.0
    );
    let (mut process, mut lines) = child::start("child_writes_until_it_is_killed", &argument);
    let (say, said) = channel();
    std::thread::scope(|scope| {
        let listening = scope.spawn(move || {
            let mut last = String::new();
            while let Some(line) = child::next_line(&mut lines) {
                let mut words = line.split(' ');
                if let [Some(lane), Some(i), Some(answers)] =
                    [words.next(), words.next(), words.next()]
                {
                    model.answered(lane.parse().unwrap(), i.parse().unwrap(), answers);
                    continue;
                }
                last.clone_from(&line);
                let _ = say.send(line);
            }
            last
        });
        // The writer may go through it a few times before.
        for _ in 0..=random.below(3) {
            while said.recv().is_ok_and(|line| line != word) {}
            if word == "opened" {
                break;
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(most * 1000)));
        process.kill().unwrap();
        let last = listening.join().unwrap();
        process.wait().unwrap();
        last
    })
}

/// Checks what a kill left: as a reader first, or as a writer at once, or leaving the
/// recovery to the next writer, which may be killed on it.
fn look_after_a_kill(
    path: &Path,
    life: u64,
    model: &Model,
    exists: &AtomicBool,
    counts: &mut [u64; 3],
    random: &Seeded,
) -> Option<Found> {
    let report = match seendb::verify(path, &mut |_| {}) {
        Err(Error::NoSuchStore { .. }) if !exists.load(Ordering::SeqCst) => return None,
        report => report.unwrap(),
    };
    assert!(report.damage.is_empty(), "{:?}", report.damage);
    assert!(report.unknown_files.is_empty());
    counts[1] += u64::from(!report.cuts.is_empty());
    counts[2] += u64::from(!report.leftovers.is_empty());

    let read_only = || {
        let seen = Seen::open_read_only(path).unwrap();
        assert_eq!(seen.recovery().cuts, report.cuts);
        model.check(&seen)
    };
    if life.is_multiple_of(2) {
        return Some(read_only());
    }
    if random.below(2) == 0 {
        read_only();
    }
    let clock = Arc::new(SetClock::default());
    let seen = open(path, Setting(random.below(SETTINGS)), &clock).unwrap();
    assert_eq!(seen.recovery().cuts, report.cuts);
    let found = model.check(&seen);
    model.insert_again(&seen, random);
    assert_eq!(seen.len(), found.entries);
    seen.close().unwrap();
    assert_clean(path);
    Some(found)
}

/// A reader beside all writers of a store: what was reported before it refreshed is
/// there, and what was there stays. How often it looked.
fn read_beside(
    path: &Path,
    reads: Reads,
    stays: bool,
    model: &Model,
    exists: &AtomicBool,
    done: &AtomicBool,
) -> u64 {
    let random = Seeded::new(u64::from(stays));
    let mut reader: Option<Seen> = None;
    let (mut looks, mut len) = (0, 0);
    while !done.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(4));
        if !exists.load(Ordering::SeqCst) {
            continue;
        }
        let reported = model.reported();
        match &reader {
            Some(reader) if stays => reader.refresh().unwrap(),
            _ => reader = Some(Seen::builder(path).reads(reads).open_read_only().unwrap()),
        }
        let reader = reader.as_ref().unwrap();
        model.check_reader(reader, reported, &random);
        assert!(reader.len() >= len);
        len = reader.len();
        looks += 1;
    }
    looks
}
