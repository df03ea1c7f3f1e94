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

#[test]
fn an_old_log_beside_newer_segments_does_not_set_it_back() {
    let (dir, path) = place();
    let seen = manual(&path).create().unwrap();
    let apply = |position: u64| {
        let mut batch = seen.batch();
        batch
            .insert(format!("https://example.com/{position}"))
            .unwrap();
        batch.position(position);
        seen.apply(batch).unwrap();
    };
    (1..=10).for_each(apply);
    let before = dir.path().join("before");
    copy_dir(&path, &before);
    (11..=20).for_each(apply);
    seen.close().unwrap();
    let log = names(&before, ".log")[0].clone();
    std::fs::copy(before.join(&log), path.join(&log)).unwrap();
    std::fs::remove_file(path.join("MANIFEST")).unwrap();
    let report = repair(&path, &dir.path().join("new"));
    assert!(report.lost.is_empty(), "{report:?}");
    // All of it is in a segment.
    assert_eq!(report.ignored, [log]);
    assert_eq!((report.entries, report.last_position), (20, Some(20)));
}

#[test]
fn a_damaged_log_that_never_had_a_frame_is_no_loss() {
    let (dir, path) = place();
    only_a_log(&path, 10, 0);
    // Its second log is cut before its first frame, and its third is the last.
    let mut last = path;
    for kill in 0..2 {
        let seen = manual(&last).open().unwrap();
        seen.insert(format!("https://later.example.com/{kill}"))
            .unwrap();
        let copy = dir.path().join(format!("killed {kill}"));
        copy_dir(&last, &copy);
        last = copy;
        if kill == 0 {
            let log = last.join(names(&last, ".log").pop().unwrap());
            damage(&log, |bytes| bytes[88..].fill(0));
        }
    }
    let logs = names(&last, ".log");
    assert_eq!(logs.len(), 3, "{logs:?}");
    for change in ["header", "gone"] {
        let log = last.join(&logs[1]);
        match change {
            "header" => damage(&log, |bytes| bytes[20] ^= 1),
            _ => std::fs::remove_file(&log).unwrap(),
        }
        let report = repair(&last, &dir.path().join(change));
        assert!(report.lost.is_empty(), "{report:?}");
        assert_eq!(report.damage.len(), 1, "{report:?}");
        assert_eq!((report.entries, report.position), (11, Some(100)));
    }
}
