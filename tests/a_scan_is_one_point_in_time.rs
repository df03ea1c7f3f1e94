//! A scan has everything that was recorded before it began and nothing after,
//! under any writers, flushes and merges.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Canon, Seen};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::{Done, keys, long, manual, place, small};

/// One thread inserts numbers in order, singly and in batches; others scan.
#[test]
fn it_has_a_prefix_of_the_operations_and_whole_batches() {
    let (_dir, path) = place();
    let seen = small(&path).canon(Canon::raw()).open().unwrap();
    let done = AtomicBool::new(false);
    let begun = AtomicU64::new(0);
    let acknowledged = AtomicU64::new(0);
    let scans = AtomicU64::new(0);
    let reader = Seen::open_read_only(&path).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut next = 0u64;
            let _done = Done(&done);
            // Beside other work the scans may take their time.
            while next < 30_000 * long() || scans.load(Ordering::SeqCst) < 10 {
                // Keys that spread over the whole range, in batches of three.
                let key =
                    |n: u64| format!("{:016x}{n:0180}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let batch: Vec<String> = (next..next + 3).map(key).collect();
                begun.store(next + 3, Ordering::SeqCst);
                assert!(seen.insert_many(&batch).unwrap().iter().all(|&new| new));
                next += 3;
                acknowledged.store(next, Ordering::SeqCst);
                if next.is_multiple_of(3000) {
                    seen.flush().unwrap();
                }
            }
        });
        // A refresh and a scan of the same reader, at the same time.
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                reader.refresh().unwrap();
            }
        });
        let mut rounds = 0;
        let mut largest = 0;
        while !done.load(Ordering::SeqCst) {
            let round = rounds;
            rounds += 1;
            let least = acknowledged.load(Ordering::SeqCst);
            let handle = if round % 3 == 2 { &reader } else { &seen };
            let found = keys(handle);
            let most = begun.load(Ordering::SeqCst);
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]));
            let numbers: BTreeSet<u64> = found
                .iter()
                .map(|key| std::str::from_utf8(&key[16..]).unwrap().parse().unwrap())
                .collect();
            let count = numbers.len() as u64;
            assert_eq!(numbers.last().map_or(0, |last| last + 1), count, "a hole");
            assert_eq!(count % 3, 0, "half a batch");
            assert!(count <= most);
            if round % 3 != 2 {
                assert!(count >= least, "{count} of {least}");
            }
            largest = largest.max(count);
            scans.store(rounds, Ordering::SeqCst);
        }
        assert!(rounds >= 10 && largest > 1000);
        println!("{rounds} scans of up to {largest} entries");
    });
}

#[test]
fn prefixes_of_every_kind() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    let mut model = BTreeSet::new();
    for a in [0u8, 1, 0x61, 0xfe, 0xff] {
        for len in [1usize, 2, 8, 9, 300] {
            for b in [0u8, 0x7f, 0xff] {
                let mut key = vec![a; len];
                key.push(b);
                model.insert(key.clone());
                model.insert(vec![a; len]);
            }
        }
    }
    // In memory, in one run, in two.
    for stage in 0..3 {
        for (place, key) in model.iter().enumerate() {
            if place % 3 == stage {
                seen.insert(key).unwrap();
            }
        }
        let known: Vec<_> = model
            .iter()
            .enumerate()
            .filter(|(place, _)| place % 3 <= stage)
            .map(|(_, key)| key.clone())
            .collect();
        let mut prefixes: Vec<Vec<u8>> = vec![vec![], vec![0xff; 400], b"absent".to_vec()];
        for key in &model {
            prefixes.push(key.clone());
            prefixes.push(key[..key.len() / 2].to_vec());
            prefixes.push([key, &b"\0"[..]].concat());
            prefixes.push([key, &[0xff][..]].concat());
        }
        for prefix in prefixes {
            let found: Vec<_> = seen.scan(&prefix).unwrap().map(|e| e.unwrap().0).collect();
            let expected: Vec<_> = known
                .iter()
                .filter(|key| key.starts_with(&prefix))
                .cloned()
                .collect();
            assert_eq!(found, expected, "stage {stage}, {prefix:?}");
        }
        if stage < 2 {
            seen.flush().unwrap();
        }
    }
}

#[test]
fn it_outlives_the_handle() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    for i in 0..500 {
        seen.insert(format!("{i:04}")).unwrap();
        if i == 250 {
            seen.flush().unwrap();
        }
    }
    let mut scan = seen.scan("").unwrap();
    assert!(scan.next().is_some());
    seen.insert("0000 later").unwrap();
    seen.compact().unwrap();
    seen.close().unwrap();
    let rest: Vec<_> = scan.by_ref().map(Result::unwrap).collect();
    assert_eq!(rest.len(), 499);
    assert!(scan.next().is_none() && scan.next().is_none());
}
