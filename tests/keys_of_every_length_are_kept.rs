//! Keys of 1 to 65,535 bytes, of any bytes, go through log, segment and merge.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Error, Reads, Seen};
use std::collections::BTreeSet;
use support::{Seeded, keys, manual, place};

fn check(seen: &Seen, model: &BTreeSet<Vec<u8>>, what: &str) {
    assert!(keys(seen).iter().eq(model), "{what}");
    assert_eq!(seen.len(), model.len() as u64);
    for key in model {
        assert!(seen.contains(key).unwrap(), "{what}: {} bytes", key.len());
        // Neighbours that are not there.
        let mut near = key.clone();
        *near.last_mut().unwrap() ^= 1;
        assert_eq!(
            seen.contains(&near).unwrap(),
            model.contains(&near),
            "{what}"
        );
        if near.len() > 1 {
            near.pop();
            assert_eq!(
                seen.contains(&near).unwrap(),
                model.contains(&near),
                "{what}"
            );
        }
    }
}

fn through_all(model: &BTreeSet<Vec<u8>>) {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    for (place, key) in model.iter().enumerate() {
        assert!(seen.insert(key).unwrap());
        if place == model.len() / 2 {
            seen.flush().unwrap();
        }
    }
    check(&seen, model, "log and segment");
    let (_copy_dir, copy) = place();
    support::copy_dir(&path, &copy);
    check(&manual(&copy).open().unwrap(), model, "recovered");
    seen.flush().unwrap();
    check(&seen, model, "segments");
    seen.compact().unwrap();
    check(&seen, model, "merged");
    seen.close().unwrap();
    let seen = manual(&path).reads(Reads::Pread).open().unwrap();
    check(&seen, model, "reopened");
    assert!(seen.verify(&mut |_| {}).unwrap().damage.is_empty());
}

#[test]
fn all_keys_of_one_byte_and_binary_ones() {
    let mut model: BTreeSet<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    let random = Seeded::new(9);
    for _ in 0..3000 {
        let len = random.below(12) + 1;
        // Few different bytes, so that many are prefixes of others.
        model.insert(
            (0..len)
                .map(|_| [0, 1, 0xfe, 0xff][random.below(4) as usize])
                .collect(),
        );
    }
    through_all(&model);
}

#[test]
fn the_longest() {
    let random = Seeded::new(10);
    let mut model = BTreeSet::new();
    for i in 0..200u64 {
        // They differ at the end, at the beginning, or in length only.
        let mut key = vec![b'x'; 65_535 - (i as usize % 3)];
        let len = key.len();
        match i % 4 {
            0 => key[len - 8..].copy_from_slice(&i.to_be_bytes()),
            1 => key[..8].copy_from_slice(&i.to_be_bytes()),
            2 => key.truncate(60_000 + i as usize),
            _ => key[32_000..32_008].copy_from_slice(&random.next().to_be_bytes()),
        }
        model.insert(key);
    }
    through_all(&model);
}

#[test]
fn one_byte_more_is_refused() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    assert!(seen.insert(vec![0; 65_535]).unwrap());
    assert!(matches!(
        seen.insert(vec![0; 65_536]),
        Err(Error::InvalidUrl { .. })
    ));
    assert!(matches!(seen.insert([]), Err(Error::InvalidUrl { .. })));
    assert_eq!(seen.len(), 1);
}
