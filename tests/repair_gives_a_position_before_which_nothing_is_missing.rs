//! Whoever resumes at the position of a repaired store applies again all that was lost.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::Seen;
use std::path::Path;
use support::damaged::{damage, frames, only_a_log, repair, urls};
use support::{copy_dir, manual, names, place};

#[test]
fn the_position_is_the_last_before_which_nothing_is_missing() {
    let open = |path: &Path| Seen::open_read_only(path).unwrap().position();
    let (dir, path) = place();
    only_a_log(&path, 30, 20);
    let into = |name: &str| dir.path().join(name);
    let report = repair(&path, &into("sound"));
    assert_eq!(
        (report.position, report.last_position),
        (Some(300), Some(300))
    );
    assert_eq!(open(&into("sound")), Some(300));

    // Of the log, from batch 23 on.
    let log = path.join(&names(&path, ".log")[0]);
    let whole = std::fs::read(&log).unwrap();
    damage(&log, |bytes| {
        let frame = frames(bytes)[2].clone();
        bytes[frame].fill(1);
    });
    let report = repair(&path, &into("log"));
    assert_eq!(
        (report.position, report.last_position),
        (Some(220), Some(300))
    );
    assert_eq!(open(&into("log")), Some(220));
    assert_eq!(report.entries, 29);
    // A consumer that resumes there is not refused, and fills the gap.
    let seen = Seen::open(into("log")).unwrap();
    let mut batch = seen.batch();
    batch.insert(&urls(0..30)[22]).unwrap();
    batch.position(230);
    assert_eq!(seen.apply(batch).unwrap().new, [true]);

    // All of the log.
    std::fs::remove_file(&log).unwrap();
    let report = repair(&path, &into("no log"));
    assert_eq!(
        (report.position, report.last_position),
        (Some(200), Some(200))
    );
    assert_eq!(report.entries, 20);
    std::fs::write(&log, whole).unwrap();

    // Of a segment: that can be of any time.
    let segment = path.join(&names(&path, ".seg")[0]);
    damage(&segment, |bytes| bytes[100] ^= 1);
    let report = repair(&path, &into("segment"));
    assert_eq!((report.position, report.last_position), (None, Some(300)));
    assert_eq!(open(&into("segment")), None);
    damage(&segment, |bytes| bytes[100] ^= 1);

    // Without a manifest nobody knows whether all files are there.
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let report = repair(&path, &into("manifest"));
    assert_eq!((report.position, report.last_position), (None, Some(300)));
    assert_eq!(report.entries, 30);
}

#[test]
fn a_log_of_known_length_that_ends_early_lacks_what_is_named() {
    let (dir, path) = place();
    only_a_log(&path, 30, 0);
    // Opening and being killed again: the manifest knows the first log's length then.
    let seen = manual(&path).open().unwrap();
    seen.insert("https://later.example.com/").unwrap();
    let copy = dir.path().join("copy");
    copy_dir(&path, &copy);
    let logs = names(&copy, ".log");
    assert_eq!(logs.len(), 2);
    let log = copy.join(&logs[0]);
    let at = frames(&[std::fs::read(&log).unwrap(), vec![0; 64]].concat())[25].start;
    for zeros in [false, true] {
        damage(&log, |bytes| {
            if zeros {
                bytes.resize(at + 4_096, 0);
            } else {
                bytes.truncate(at);
            }
        });
        let into = dir.path().join(format!("new {zeros}"));
        let report = repair(&copy, &into);
        let [lost] = report.lost.as_slice() else {
            panic!("{report:?}");
        };
        assert_eq!((lost.first_batch, lost.last_batch), (Some(26), Some(30)));
        assert_eq!(lost.bytes.start, at as u64);
        assert_eq!((report.entries, report.position), (26, Some(250)));
        let new = Seen::open_read_only(&into).unwrap();
        assert!(new.contains("https://later.example.com/").unwrap());
    }
}
