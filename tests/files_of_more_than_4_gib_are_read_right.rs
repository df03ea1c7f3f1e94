//! Sizes and offsets have 64 bits: a segment of more than 4 GiB is written, merged, looked up,
//! scanned, verified and opened again. Its keys end with zeros, and the file system keeps only
//! what is not zero.
//!
//! All 4 GiB go through checksums and hashes several times, which takes a minute: so the
//! default form does the same with a segment of 66 MiB, and only the long one
//! (`SEENDB_TEST_LONG=1`) crosses 4 GiB. What there is of numbers in the format is tested
//! beyond 4 GiB in each form, beside the code: see the tests of the index and the manifest.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[allow(unreachable_pub, clippy::unwrap_used, reason = "a part of this test")]
#[path = "support/sparse.rs"]
mod sparse;
mod support;

use seendb::{Canon, Codec, Driver, Durability, Env, Error, Reads, Seen, Writes};
use sparse::Sparse;
use std::sync::Arc;
use support::{env_on, long};

/// The longest key.
const KEY: usize = 65_535;

fn key(number: u64) -> Vec<u8> {
    let mut key = format!("{number:08}").into_bytes();
    key.resize(KEY, 0);
    key
}

fn open(vfs: &Arc<Sparse>, reads: Reads) -> Seen {
    let env: Env = env_on(vfs);
    Seen::builder("/sparse")
        .canon(Canon::raw())
        .memtable_size(256 << 20)
        .segment_size(1 << 40)
        // A dictionary would have codes for long rows of zeros.
        .codec(Codec::Plain)
        .durability(Durability::Manual)
        .driver(Driver::Manual)
        .reads(reads)
        .writes(Writes::Pwrite)
        .env(env)
        .open()
        .unwrap()
}

#[test]
fn in_one_segment() {
    // Even numbers are there, odd ones absent.
    let (count, flush): (u64, u64) = if long() > 1 {
        (66_000, 3_000)
    } else {
        (1_050, 400)
    };
    let vfs = Sparse::new();
    let seen = open(&vfs, Reads::Pread);
    for from in (0..count).step_by(200) {
        let keys: Vec<_> = (from..count.min(from + 200)).map(|i| key(2 * i)).collect();
        assert!(seen.insert_many(&keys).unwrap().iter().all(|&new| new));
        if (from + 200).is_multiple_of(flush) {
            seen.flush().unwrap();
        }
    }
    seen.compact().unwrap();
    let [size] = vfs.lengths(".seg")[..] else {
        panic!("{:?}", vfs.lengths(".seg"));
    };
    support::tell(&format!(
        "a segment of {size} bytes ({}), of which {} were kept",
        if size > u64::from(u32::MAX) {
            "more than 4 GiB"
        } else {
            "4 GiB are crossed in the long form only"
        },
        vfs.kept()
    ));
    assert!(size > count * KEY as u64 && vfs.kept() < 64 << 20);
    assert!(long() == 1 || size > 1 << 32);

    let ask = |seen: &Seen| {
        assert_eq!(seen.len(), count);
        let last = count - 200..count;
        for number in (0..count).step_by(count as usize / 200).chain(last) {
            let found = seen.get(key(2 * number)).unwrap();
            assert!(found.unwrap().first_seen.is_some());
            assert!(!seen.insert(key(2 * number)).unwrap());
            assert!(!seen.contains(key(2 * number + 1)).unwrap());
        }
        let prefix = format!("{:08}", 2 * (count - 1) / 10 * 10);
        let prefix = &prefix[..7];
        let expected: Vec<_> = (0..count)
            .map(|number| key(2 * number))
            .filter(|key| key.starts_with(prefix.as_bytes()))
            .collect();
        let scanned = seen.scan(prefix).unwrap().map(|entry| entry.unwrap().0);
        assert!(!expected.is_empty() && scanned.eq(expected));
    };
    ask(&seen);
    seen.close().unwrap();
    for reads in [Reads::Map, Reads::Pread] {
        ask(&open(&vfs, reads));
    }
    let seen = open(&vfs, Reads::Pread);
    let report = seen.verify(&mut |_| {}).unwrap();
    assert_eq!((report.damage.len(), report.entries), (0, count));
    drop(seen);

    // One of the last blocks, and no other, is damaged: the error tells its offset.
    let at = (count - 40) * KEY as u64;
    assert!(long() == 1 || at > 1 << 32);
    vfs.flip(".seg", at);
    let seen = open(&vfs, Reads::Pread);
    let (mut right, mut damaged) = (0, 0);
    for number in count - 100..count {
        match seen.get(key(2 * number)) {
            Ok(found) => right += u32::from(found.is_some()),
            Err(Error::Corrupt(corrupt)) => {
                damaged += 1;
                assert!(corrupt.offset <= at && at < corrupt.offset + (KEY as u64 + 64));
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((right, damaged), (99, 1));
}
