//! What was reported as recorded is there after the process was killed, whole, in
//! order, and with nothing that was never inserted.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Canon, Durability, Seen};
use std::time::Duration;
use support::{Seeded, assert_clean, child, long, place, small};

const BATCH: u64 = 7;

fn durability(which: u64) -> Durability {
    match which % 3 {
        0 => Durability::Manual,
        1 => Durability::Interval(Duration::from_millis(3)),
        _ => Durability::Immediate,
    }
}

/// The URLs of operation `i`: one, or a batch of seven. Long ones, so that
/// memtables are flushed while the child lives.
fn urls(i: u64) -> Vec<String> {
    let url = |j: u64| format!("{i}/{j}/{:0300}", i * 31 + j);
    if i.is_multiple_of(3) {
        (0..BATCH).map(url).collect()
    } else {
        vec![url(0)]
    }
}

fn open(path: &str, which: u64) -> Seen {
    small(path.as_ref())
        .canon(Canon::raw())
        .durability(durability(which))
        .open()
        .unwrap()
}

#[test]
fn child_inserts_until_it_is_killed() {
    let Some(argument) = child::argument() else {
        return;
    };
    let mut words = argument.split(' ');
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    let (from, which) = (number(), number());
    let path = words.next().unwrap();
    let seen = open(path, which);
    child::report("open");
    for i in from.. {
        let urls = urls(i);
        if let [only] = urls.as_slice() {
            assert!(seen.insert(only).unwrap());
        } else {
            let mut batch = seen.batch();
            for url in &urls {
                batch.insert(url).unwrap();
            }
            batch.position(i + 1);
            assert!(seen.apply(batch).unwrap().new.iter().all(|&new| new));
        }
        child::report(&i.to_string());
    }
}

#[test]
fn at_any_moment_and_every_durability() {
    let (_dir, path) = place();
    let text = path.to_str().unwrap();
    let random = Seeded::new(std::process::id().into());
    let rounds = 24 * long();
    // The first operation that is not in the store.
    let mut next = 0;
    let (mut cuts, mut lost_after_report) = (0, 0);
    for round in 0..rounds {
        let argument = format!("{next} {round} {text}");
        let (mut process, mut lines) = child::start("child_inserts_until_it_is_killed", &argument);
        assert_eq!(child::next_line(&mut lines).as_deref(), Some("open"));
        let reported = std::thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let mut last = None;
                while let Some(line) = child::next_line(&mut lines) {
                    last = Some(line.parse::<u64>().unwrap());
                }
                last
            });
            std::thread::sleep(Duration::from_micros(random.below(120_000)));
            process.kill().unwrap();
            reading.join().unwrap()
        });
        process.wait().unwrap();

        assert_clean(&path);
        // Every other round begins with what a kill left, not with a clean close.
        let seen = if round % 2 == 0 {
            open(text, 0)
        } else {
            Seen::open_read_only(&path).unwrap()
        };
        cuts += seen.recovery().cuts.len();
        let mut expected = 0;
        let mut position = None;
        let mut end = 0;
        loop {
            let urls = urls(end);
            let found = seen.get_many(&urls).unwrap();
            let count = found.iter().flatten().count();
            assert!(
                count == 0 || count == urls.len(),
                "{count} of operation {end}"
            );
            if count == 0 {
                break;
            }
            expected += count as u64;
            if urls.len() > 1 {
                position = Some(end + 1);
            }
            end += 1;
        }
        // All that was reported, at most one more, and nothing else: a hole would
        // end the count early, and anything behind it be too many.
        let least = reported.map_or(next, |last| last + 1);
        assert!(
            end >= least,
            "{end} operations of {least} reported, round {round}"
        );
        assert!(end <= least + 1, "{end} operations, {least} reported");
        assert_eq!(seen.len(), expected);
        assert_eq!(seen.position(), position);
        lost_after_report += end - least;
        next = end;
        seen.close().unwrap();
    }
    println!(
        "{rounds} kills, {next} operations, {cuts} cuts, {lost_after_report} there and not reported"
    );
    assert!(next > rounds);
}
