//! Where a block of a later run is lost, a key shows as an older run has it; no other key does.
//! And a segment of which nothing tells the age is named.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Record, RepairReport, Seen, State, StateKind};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;
use support::damaged::{damage, may_have_held, parts, repair};
use support::{assert_clean, manual, names, place};

const ALL: Range<u32> = 0..3_000;

fn url(i: u32) -> String {
    let mixed = u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("https://example.com/{i:05}/{mixed:016x}")
}

/// All keys were seen; of three, one was forgotten then, one fetched, one left alone.
fn changed(path: &Path) {
    let seen = manual(path).segment_size(1 << 20).create().unwrap();
    seen.insert_many(&ALL.map(url).collect::<Vec<_>>()).unwrap();
    seen.flush().unwrap();
    let third = |rest: u32| ALL.filter(move |i| i % 3 == rest).map(url);
    seen.forget_many(&third(0).collect::<Vec<_>>()).unwrap();
    for url in third(1) {
        let fetched = State::Fetched {
            at: SystemTime::now(),
            status: 200,
            content: None,
        };
        assert!(!seen.put(url, fetched).unwrap());
    }
    seen.flush().unwrap();
    assert_eq!(seen.stats().runs, 2);
    seen.close().unwrap();
    assert_eq!(names(path, ".seg").len(), 2);
}

fn kind(record: Option<&Record>) -> Option<StateKind> {
    record.map(|record| record.state.kind())
}

/// Of each key whether its last state is there; else it must be the one before.
fn states(path: &Path) -> (RepairReport, Vec<bool>) {
    let (_dir, into) = place();
    let report = repair(path, &into);
    assert_clean(&into);
    let seen = Seen::open_read_only(&into).unwrap();
    let states = ALL.map(|i| {
        let found = kind(seen.get(url(i)).unwrap().as_ref());
        let last = [None, Some(StateKind::Fetched), Some(StateKind::Seen)][i as usize % 3];
        assert!(
            found == last || found == Some(StateKind::Seen),
            "{i}: {found:?}"
        );
        found == last
    });
    (report, states.collect())
}

#[test]
fn in_the_range_of_a_lost_block() {
    for has_manifest in [true, false] {
        let (_dir, path) = place();
        changed(&path);
        if !has_manifest {
            std::fs::remove_file(path.join("MANIFEST")).unwrap();
        }
        let later = path.join(&names(&path, ".seg")[1]);
        damage(&later, |bytes| bytes[20_000] ^= 1);
        let (report, is_last) = states(&path);
        let [lost] = report.lost.as_slice() else {
            panic!("{report:?}");
        };
        let older = is_last.iter().filter(|is_last| !**is_last).count();
        assert!((20..400).contains(&older), "{older}");
        for (i, is_last) in ALL.zip(is_last) {
            assert!(is_last || may_have_held(lost, &url(i)), "{i}");
        }
        assert!(report.undated.is_empty());
    }
}

#[test]
fn in_a_segment_that_has_lost_what_tells_its_age() {
    let (_dir, path) = place();
    changed(&path);
    let later = path.join(&names(&path, ".seg")[1]);
    damage(&later, |bytes| {
        let footer = parts(bytes).footer;
        bytes[footer] ^= 1;
    });
    // The manifest tells it.
    let (report, is_last) = states(&path);
    assert!(report.lost.is_empty() && report.undated.is_empty());
    assert!(is_last.iter().all(|is_last| *is_last));
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let (report, is_last) = states(&path);
    assert!(report.lost.iter().all(|lost| lost.first_batch.is_some()));
    assert_eq!(report.undated, [later]);
    assert!(is_last.iter().any(|is_last| !is_last));
}
