//! When a URL was first seen: from the clock, or the batch, and never changed. The clock of
//! an open store does not go back.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::Seen;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use support::{SetClock, at, env_with, manual, place};

fn first_seen(seen: &Seen, key: &str) -> Option<SystemTime> {
    seen.get(key).unwrap().unwrap().first_seen
}

#[test]
fn through_log_segment_and_merge() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    let far = (1u64 << 40) - 1;
    // In the order of their text, which is that of the keys.
    let times = [0, 1, 1_000_000_000, far];
    for stage in 0..4 {
        let seen = manual(&path).env(env_with(&clock, 1)).open().unwrap();
        if stage == 0 {
            for time in times {
                clock.set(time);
                assert!(seen.insert(format!("clock{time}")).unwrap());
                assert_eq!(seen.insert_many(&[format!("many{time}")]).unwrap(), [true]);
                // It goes on from there.
                clock.set(time / 2);
                assert!(seen.insert(format!("back{time}")).unwrap());
                let mut batch = seen.batch();
                batch.insert(format!("at{time}")).unwrap();
                batch.at(at(time) + Duration::from_nanos(999_999_999));
                seen.apply(batch).unwrap();
                // The second time changes nothing.
                assert!(!seen.insert(format!("clock{time}")).unwrap());
                if time == 1 {
                    seen.flush().unwrap();
                }
            }
            // Beyond what can be kept, and before 1970.
            for (key, time) in [
                ("late", at(far + 1000)),
                ("early", at(0) - Duration::from_secs(9)),
            ] {
                let mut batch = seen.batch();
                batch.insert(key).unwrap();
                batch.at(time);
                seen.apply(batch).unwrap();
            }
        }
        let (_copy_dir, copy) = place();
        support::copy_dir(&path, &copy);
        let copied = Seen::open(&copy).unwrap();
        let reader = Seen::open_read_only(&path).unwrap();
        for seen in [&seen, &copied, &reader] {
            for time in times {
                for kind in ["clock", "many", "back", "at"] {
                    assert_eq!(
                        first_seen(seen, &format!("{kind}{time}")),
                        Some(at(time)),
                        "{kind}{time}"
                    );
                }
            }
            assert_eq!(first_seen(seen, "late"), Some(at(far)));
            assert_eq!(first_seen(seen, "early"), Some(at(0)));
            let found = seen
                .scan("at")
                .unwrap()
                .map(|e| e.unwrap().1.first_seen.unwrap());
            assert_eq!(found.collect::<Vec<_>>(), times.map(at));
        }
        match stage {
            1 => seen.flush().unwrap(),
            2 => seen.compact().unwrap(),
            _ => {}
        }
    }
}

#[test]
fn without_stamps_there_is_none() {
    let (_dir, path) = place();
    let seen = manual(&path).stamps(false).open().unwrap();
    seen.insert("a").unwrap();
    let mut batch = seen.batch();
    batch.insert("b").unwrap();
    batch.at(at(77));
    seen.apply(batch).unwrap();
    for stage in 0..3 {
        for key in ["a", "b"] {
            assert_eq!(first_seen(&seen, key), None, "stage {stage}");
        }
        seen.flush().unwrap();
        seen.insert(format!("{stage}")).unwrap();
        if stage == 1 {
            seen.compact().unwrap();
        }
    }
    drop(seen);
    let seen = manual(&path).open().unwrap();
    assert_eq!(first_seen(&seen, "a"), None);
}
