//! Claims, outcomes and what was forgotten are as they were reported after the process was
//! killed: what was settled cannot be claimed, what was not is not lost, what was forgotten
//! is not back; and what was on its way is wholly there or not at all.
//!
//! `SEENDB_TEST_LONG=1 cargo test --test a_kill_loses_no_bookkeeping -- --nocapture`
//! kills 4,000 writers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/books.rs"]
mod books;
#[path = "support/setting.rs"]
mod setting;
mod support;

use books::{AGE, Books, LANES, Operation, operation};
use seendb::{Canon, Claim, Env, Error, Lease, Seen, State};
use setting::{SETTINGS, Setting};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::workload::{How, LEASE};
use support::{Seeded, SetClock, assert_clean, at, child, long, place, small};

const STORES: u64 = 40;
/// Writers killed in one store, one after the other.
const LIVES: u64 = 5;

/// What a writer can be at when it is killed: the word with which it says so, the most
/// milliseconds that follow, and how many operations a lane does before it closes.
const MOMENTS: [(&str, u64, u64); 5] = [
    ("opening", 2, 50),
    ("opened", 40, 1 << 40),
    ("opened", 10, 300),
    ("compacting", 4, 300),
    ("closing", 1, 100),
];

fn open(path: &Path, setting: Setting, now: u64) -> Result<(Seen, Arc<SetClock>), Error> {
    let clock = Arc::new(SetClock::default());
    clock.set(now);
    let env = Env {
        clock: clock.clone(),
        ..Env::default()
    };
    let age = Duration::from_secs(AGE);
    let builder = setting.on(small(path)).canon(Canon::raw()).env(env);
    Ok((builder.expire_after(age).open()?, clock))
}

/// A writer: opens, works with all lanes, merges everything, closes; some minutes later,
/// again.
#[test]
fn child_keeps_books_until_it_is_killed() {
    let Some(argument) = child::argument() else {
        return;
    };
    let (path, numbers) = argument.split_once(' ').unwrap();
    let numbers: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
    let [seed, setting, start, length, ends @ ..] = numbers.as_slice() else {
        panic!("{argument}");
    };
    let mut ends: [u64; LANES] = ends.try_into().unwrap();
    let mut now = *start;
    loop {
        child::report(&format!("now {now}"));
        child::report("opening");
        let (seen, _) = open(Path::new(path), Setting(*setting), now).unwrap();
        child::report("opened");
        std::thread::scope(|scope| {
            for (lane, end) in ends.iter_mut().enumerate() {
                let seen = &seen;
                scope.spawn(move || {
                    let mut leases = BTreeMap::new();
                    for i in *end..*end + *length {
                        let operation = operation(*seed, lane, i);
                        let answers = perform(seen, &operation, now, &mut leases);
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
        now += 300;
    }
}

/// What was answered, for each key. Of leases that were granted in this life, those that
/// are not the last of their key are tried, and must be lost.
fn perform(
    seen: &Seen,
    operation: &Operation,
    now: u64,
    leases: &mut BTreeMap<String, Lease>,
) -> String {
    let digit = |yes| if yes { "1" } else { "0" }.to_string();
    let mut answers: Vec<String> = Vec::new();
    match operation {
        Operation::Insert(keys) => {
            answers.extend(seen.insert_many(keys).unwrap().into_iter().map(digit));
        }
        Operation::Claim(keys) => {
            let lease = Duration::from_secs(LEASE);
            for (key, claim) in keys.iter().zip(seen.claim_many(keys, "me", lease).unwrap()) {
                let Claim::Granted(lease) = claim else {
                    answers.push("-".into());
                    continue;
                };
                answers.push(format!("g{}", lease.token()));
                if let Some(late) = leases.insert(key.clone(), lease) {
                    let settled = late.fetched(500, None);
                    assert!(matches!(settled, Err(Error::LeaseLost { .. })), "{late:?}");
                }
            }
        }
        Operation::Settle(settled, inserted) => {
            let mut batch = seen.batch();
            for (key, how) in settled {
                let Some(lease) = claimed(seen, key) else {
                    continue;
                };
                match how {
                    How::Fetched(status) => batch.fetched(&lease, *status, None),
                    How::Failed(after) => {
                        batch.failed(&lease, "so", after.map(Duration::from_secs));
                    }
                    _ => batch.release(&lease),
                }
            }
            inserted.iter().for_each(|key| batch.insert(key).unwrap());
            let new = seen.apply(batch).unwrap().new;
            let new = new.into_iter().rev().take(inserted.len());
            answers.extend(new.map(digit));
            answers.reverse();
        }
        Operation::Extend(key, by) => {
            if let Some(mut lease) = claimed(seen, key) {
                lease.extend(Duration::from_secs(*by)).unwrap();
            }
        }
        Operation::Forget(keys) => {
            answers.extend(seen.forget_many(keys).unwrap().into_iter().map(digit));
        }
        Operation::Put(key, status) => {
            let state = State::Fetched {
                at: at(now),
                status: *status,
                content: None,
            };
            answers.push(digit(seen.put(key, state).unwrap()));
        }
        Operation::Flush => seen.flush().unwrap(),
    }
    answers.join(" ")
}

/// The lease of a key, if it is claimed.
fn claimed(seen: &Seen, key: &str) -> Option<Lease> {
    match seen.get(key).unwrap()?.state {
        State::Claimed { token, .. } => Some(seen.lease(key, token).unwrap()),
        _ => None,
    }
}

#[test]
fn at_any_moment_with_every_setting() {
    let start = Instant::now();
    let random = Seeded::new(std::process::id().into());
    let (mut kills, mut operations, mut unreported) = (0, 0, 0);
    for store in 0..STORES * long() {
        let (_dir, path) = place();
        let books = Mutex::new(Books::new(random.next() >> 1));
        let mut exists = false;
        for life in 1..=LIVES {
            // All settings in turn, each after every other.
            let setting = Setting((store + life * (1 + store / SETTINGS)) % SETTINGS);
            let moment = MOMENTS[random.below(MOMENTS.len() as u64) as usize];
            exists |= live(&path, setting, moment, &books, &random) != "opening";
            kills += 1;
            match seendb::verify(&path, &mut |_| {}) {
                Err(Error::NoSuchStore { .. }) if !exists => continue,
                report => assert!(report.unwrap().damage.is_empty()),
            }
            let mut books = books.lock().unwrap();
            unreported += look_after_a_kill(&path, life, &mut books, &random);
            // Some leases run out before the next, and some of what is known expires.
            books.now += random.below(900);
        }
        operations += books.lock().unwrap().ends.iter().sum::<u64>();
    }
    support::tell(&format!(
        "{kills} kills in {:.0?}: {operations} operations, {unreported} of them there and not \
         reported",
        start.elapsed(),
    ));
    assert_eq!(kills, STORES * LIVES * long());
    assert!(operations > 20 * kills);
}

/// Starts a writer and kills it; what it had said last of what it was at.
fn live(
    path: &Path,
    setting: Setting,
    (word, most, length): (&str, u64, u64),
    books: &Mutex<Books>,
    random: &Seeded,
) -> String {
    let argument = {
        let Books {
            seed, now, ends, ..
        } = &*books.lock().unwrap();
        let [a, b, c] = ends;
        let path = path.display();
        format!("{path} {seed} {} {now} {length} {a} {b} {c}", setting.0)
    };
    let name = "child_keeps_books_until_it_is_killed";
    let (mut process, mut lines) = child::start(name, &argument);
    let (say, said) = channel();
    std::thread::scope(|scope| {
        let listening = scope.spawn(move || {
            let mut last = String::new();
            while let Some(line) = child::next_line(&mut lines) {
                let mut words = line.splitn(3, ' ');
                let mut word = || words.next().unwrap_or_default();
                match (word(), word().parse()) {
                    ("now", Ok(now)) => books.lock().unwrap().now = now,
                    (lane, Ok(i)) => {
                        let lane = lane.parse().unwrap();
                        books.lock().unwrap().answered(lane, i, word());
                    }
                    _ => {
                        last.clone_from(&line);
                        let _ = say.send(line);
                    }
                }
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

/// Checks what a kill left: as a reader, or as a writer, which merges everything.
fn look_after_a_kill(path: &Path, life: u64, books: &mut Books, random: &Seeded) -> u64 {
    let age = Duration::from_secs(AGE);
    if life.is_multiple_of(2) {
        let clock = Arc::new(SetClock::default());
        clock.set(books.now);
        let env = Env {
            clock,
            ..Env::default()
        };
        let reader = small(path).expire_after(age).env(env);
        return books.check(&reader.open_read_only().unwrap());
    }
    let (seen, _) = open(path, Setting(random.below(SETTINGS)), books.now).unwrap();
    let unreported = books.check(&seen);
    if random.below(2) == 0 {
        books.check_merged(&seen);
        assert_eq!(books.check(&seen), 0);
    }
    seen.close().unwrap();
    assert_clean(path);
    unreported
}
