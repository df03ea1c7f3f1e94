//! A batch is atomic, whatever is in it.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Batch, Error, Seen};
use std::time::Duration;
use support::{copy_dir, keys, manual, place, within};

#[test]
fn an_invalid_url_is_named_by_its_index_and_nothing_is_stored() {
    let (_dir, path) = place();
    let seen = Seen::open(&path).unwrap();
    let urls = ["https://a.example/", "https://b.example/", "no URL", ""];
    match seen.insert_many(&urls).unwrap_err() {
        Error::InvalidUrl { index: Some(2), .. } => {}
        other => unreachable!("{other}"),
    }
    assert_eq!(seen.len(), 0);
    assert!(!seen.contains("https://a.example/").unwrap());
    match seen.get_many(&urls).unwrap_err() {
        Error::InvalidUrl { index: Some(2), .. } => {}
        other => unreachable!("{other}"),
    }
    // A batch without a policy of its own finds out when it is applied.
    let mut batch = Batch::new();
    batch.insert("https://a.example/").unwrap();
    batch.insert("no URL").unwrap();
    batch.position(7);
    match seen.apply(batch).unwrap_err() {
        Error::InvalidUrl { index: Some(1), .. } => {}
        other => unreachable!("{other}"),
    }
    assert_eq!((seen.len(), seen.position()), (0, None));
    // One that knows the policy tells at each item, and goes on.
    let mut batch = seen.batch();
    batch.insert("https://a.example/").unwrap();
    assert!(matches!(
        batch.insert("no URL").unwrap_err(),
        Error::InvalidUrl { .. }
    ));
    assert_eq!(seen.apply(batch).unwrap().new, [true]);
    assert_eq!(seen.len(), 1);
}

#[test]
fn a_url_twice_in_a_batch_is_new_once() {
    let (_dir, path) = place();
    let seen = Seen::open(&path).unwrap();
    let urls = [
        "https://a.example/",
        "HTTPS://A.EXAMPLE",
        "https://b.example/",
        "https://a.example/#x",
    ];
    assert_eq!(seen.insert_many(&urls).unwrap(), [true, false, true, false]);
    assert_eq!(seen.insert_many(&urls).unwrap(), [false; 4]);
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_batch_over_the_limit_is_refused_whole() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    let limit = seen.batch_limit();
    let size = 1000 + Batch::ITEM_OVERHEAD;
    let fitting = limit / size;
    let of = |count: usize| -> Vec<String> { (0..count).map(|i| format!("{i:01000}")).collect() };
    match seen.insert_many(&of(fitting + 1)).unwrap_err() {
        Error::BatchTooLarge { bytes, limit: said } => {
            assert_eq!(said, limit as u64);
            assert!(bytes > said);
        }
        other => unreachable!("{other}"),
    }
    let mut batch = seen.batch();
    for key in of(fitting + 1) {
        batch.insert(key).unwrap();
    }
    batch.position(3);
    assert!(matches!(
        seen.apply(batch).unwrap_err(),
        Error::BatchTooLarge { .. }
    ));
    assert_eq!((seen.len(), seen.position()), (0, None));
    assert!(
        seen.insert_many(&of(fitting))
            .unwrap()
            .iter()
            .all(|&new| new)
    );
}

/// Short keys take few bytes and as many places in a table as long ones.
#[test]
fn a_batch_of_many_short_keys_is_taken_or_refused_and_never_hangs() {
    for length in 2..14 {
        let (_dir, path) = place();
        let seen = manual(&path).open().unwrap();
        let limit = seen.batch_limit();
        let key = move |i: usize| -> Vec<u8> {
            let mut key = i.to_le_bytes().to_vec();
            key.resize(length, 7);
            key
        };
        let mut count = 60_000;
        let taken = within(
            Duration::from_secs(60),
            "a batch of short keys",
            move || {
                loop {
                    let batch: Vec<Vec<u8>> = (0..count).map(key).collect();
                    match seen.insert_many(&batch) {
                        Ok(new) => {
                            assert!(new.iter().all(|&new| new));
                            assert_eq!(seen.len(), count as u64);
                            return count;
                        }
                        Err(Error::BatchTooLarge { .. }) => {
                            assert_eq!(seen.len(), 0);
                            count -= 500;
                        }
                        Err(other) => unreachable!("{other}"),
                    }
                }
            },
        );
        let fitting = limit / (length + Batch::ITEM_OVERHEAD);
        assert!(taken + 500 > fitting, "{length}: {taken} of {fitting}");
    }
}

#[test]
fn a_batch_larger_than_the_room_left_goes_to_one_log() {
    let (dir, path) = place();
    let seen = manual(&path).open().unwrap();
    let mut expected = Vec::new();
    for batch in 0..30 {
        let urls: Vec<String> = (0..200).map(|i| format!("{batch:04}/{i:0800}")).collect();
        assert!(seen.insert_many(&urls).unwrap().iter().all(|&new| new));
        expected.extend(urls.into_iter().map(String::into_bytes));
        let copy = dir.path().join(format!("copy{batch}"));
        copy_dir(&path, &copy);
        let copied = manual(&copy).open().unwrap();
        assert_eq!(keys(&copied), expected, "after batch {batch}");
    }
    assert!(seen.stats().flushes > 0);
}
