//! However many threads insert a URL, exactly one is told that it is new.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Canon, Durability, Seen};
use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::{Seeded, assert_clean, long, place, small};

fn url(i: u64) -> String {
    // Long enough to fill memtables.
    format!("https://host{}.example/{i:0150}", i % 50)
}

/// Threads insert the same `count` URLs, each in an order of its own.
fn stress(durability: Durability, threads: u64, count: u64) {
    let (_dir, path) = place();
    let open = || {
        small(&path)
            .canon(Canon::raw())
            .durability(durability)
            .open()
            .unwrap()
    };
    let seen = open();
    let times_new: Vec<AtomicU64> = (0..count).map(|_| AtomicU64::new(0)).collect();
    let start = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (seen, times_new, start) = (&seen, &times_new, &start);
            scope.spawn(move || {
                let random = Seeded::new(thread);
                let mut order: Vec<u64> = (0..count).collect();
                // Neighbours stay near, so that threads meet at the same URLs.
                for i in 0..order.len() {
                    let j = (i + random.below(64) as usize).min(order.len() - 1);
                    order.swap(i, j);
                }
                start.wait();
                let mut at = 0;
                while at < order.len() {
                    let size = if random.below(2) == 0 {
                        1
                    } else {
                        random.below(300) as usize + 1
                    };
                    let some = &order[at..(at + size).min(order.len())];
                    at += some.len();
                    let urls: Vec<String> = some.iter().map(|&i| url(i)).collect();
                    let new = if let [only] = urls.as_slice() {
                        vec![seen.insert(only).unwrap()]
                    } else {
                        seen.insert_many(&urls).unwrap()
                    };
                    for (&i, new) in some.iter().zip(new) {
                        if new {
                            times_new[i as usize].fetch_add(1, Ordering::SeqCst);
                        }
                    }
                    // What was acknowledged is seen at once, by any thread.
                    assert!(seen.contains(url(some[0])).unwrap());
                    assert!(seen.get_many(&urls).unwrap().iter().all(Option::is_some));
                }
            });
        }
    });
    for (i, times) in times_new.iter().enumerate() {
        assert_eq!(times.load(Ordering::SeqCst), 1, "URL {i}");
    }
    let stats = seen.stats();
    println!(
        "{threads} threads, {count} URLs, {durability:?}: {} flushes, {} merges",
        stats.flushes, stats.merges
    );
    assert!(stats.flushes > 3);
    assert_eq!(seen.len(), count);
    seen.close().unwrap();
    assert_clean(&path);
    let seen = open();
    assert_eq!(seen.len(), count);
    let all: Vec<String> = (0..count).map(url).collect();
    assert!(seen.get_many(&all).unwrap().iter().all(Option::is_some));
    assert_eq!(support::keys(&seen).len() as u64, count);
}

#[test]
fn with_rotations_flushes_and_merges_behind() {
    stress(
        Durability::Interval(Duration::from_millis(20)),
        4,
        100_000 * long(),
    );
    stress(Durability::Manual, 8, 40_000 * long());
}

#[test]
fn under_immediate_durability() {
    stress(Durability::Immediate, 4, 30_000 * long());
}

/// Each URL is inserted by all threads at the same moment.
#[test]
fn in_a_race_for_the_same_url() {
    let (_dir, path) = place();
    let seen = Seen::open(&path).unwrap();
    let rounds = 3000 * long();
    let barrier = Barrier::new(4);
    let wins: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut wins = 0;
                    for round in 0..rounds {
                        barrier.wait();
                        wins +=
                            u64::from(seen.insert(format!("https://a.example/{round}")).unwrap());
                    }
                    wins
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(wins.iter().sum::<u64>(), rounds, "{wins:?}");
}

/// Flushes, merges and `compact` by other threads change no answer.
#[test]
fn while_others_flush_and_compact() {
    let (_dir, path) = place();
    let seen = small(&path).canon(Canon::raw()).open().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let count = 20_000 * long();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    seen.flush().unwrap();
                    seen.compact().unwrap();
                }
            });
        }
        let _done = support::Done(&done);
        let mut model: HashMap<u64, bool> = HashMap::new();
        let random = Seeded::new(5);
        for _ in 0..count {
            let i = random.below(count);
            let expected = model.insert(i, true).is_none();
            assert_eq!(seen.insert(url(i)).unwrap(), expected);
            let j = random.below(count);
            assert_eq!(seen.contains(url(j)).unwrap(), model.contains_key(&j));
        }
        assert_eq!(seen.len(), model.len() as u64);
    });
}
