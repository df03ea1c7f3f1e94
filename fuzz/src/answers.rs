//! What a store may answer, sound or damaged.

use super::sample::{DIR, Entries};
use seendb::{Error, Reads, Seen};

/// The error must say where, and be one of those that damage may give.
pub fn expect_typed(error: &Error) {
    match error {
        Error::Corrupt(corrupt) => {
            assert!(corrupt.path.starts_with(DIR), "{error}");
            assert!(!corrupt.expected.is_empty() && !corrupt.remedy.is_empty());
        }
        Error::UnsupportedFormat { path, .. } | Error::Io { path, .. } => {
            assert!(path.starts_with(DIR), "{error}");
        }
        other => panic!("damage is told as: {other}"),
    }
}

/// Both ways of reading.
pub const READS: [Reads; 2] = [Reads::Map, Reads::Pread];

/// Asks a damaged store for everything: answers or typed errors, in bounded time. True
/// if there was no error.
pub fn consult(seen: &Seen, keys: &[Vec<u8>]) -> bool {
    let mut whole = true;
    let mut failed = |error: Error| {
        expect_typed(&error);
        whole = false;
    };
    match seen.scan("") {
        Err(error) => failed(error),
        Ok(scan) => {
            // A few bytes can stand for a long key each.
            let mut room = 4 << 20;
            for entry in scan {
                match entry {
                    Ok((key, _)) => room -= key.len() as i64,
                    Err(error) => failed(error),
                }
                if room < 0 {
                    break;
                }
            }
        }
    }
    for key in keys {
        if let Err(error) = seen.get(key) {
            failed(error);
        }
    }
    if let Err(error) = seen.get_many(keys) {
        failed(error);
    }
    whole
}

/// Checks that a store knows exactly `entries`, whatever it is asked.
pub fn expect_exactly(seen: &Seen, entries: &Entries) {
    expect_answers(seen, entries);
    assert_eq!(seen.len(), entries.len() as u64);
}

/// Checks that a store answers with exactly `entries`. How many it counts is left open:
/// a file that was made up may count wrong.
pub fn expect_answers(seen: &Seen, entries: &Entries) {
    let found: Vec<_> = seen.scan("").unwrap().map(Result::unwrap).collect();
    assert!(
        found.iter().map(|(k, r)| (k, r)).eq(entries),
        "a scan gives {} entries, and {} were recorded",
        found.len(),
        entries.len()
    );
    let keys: Vec<_> = entries.keys().take(300).collect();
    let many = seen.get_many(&keys).unwrap();
    assert!(
        many.iter()
            .zip(entries.values())
            .all(|(found, known)| found.as_ref() == Some(known))
    );
    for (key, record) in entries.iter().take(300).step_by(9) {
        assert_eq!(seen.get(key).unwrap().as_ref(), Some(record));
        for near in neighbours(key) {
            assert_eq!(seen.get(&near).unwrap().as_ref(), entries.get(&near));
        }
    }
}

/// Keys close to a key.
pub fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let mut longer = key.to_vec();
    longer.push(0);
    let mut above = key.to_vec();
    let mut near = Vec::new();
    if let Some(last) = above.last_mut()
        && *last < 255
    {
        *last += 1;
        near.push(above);
    }
    if key.len() > 1 {
        near.push(key[..key.len() - 1].to_vec());
    }
    if longer.len() <= 65_535 {
        near.push(longer);
    }
    near
}
