//! Every byte of a segment and of a log is damaged in turn: what is lost is its block or batch,
//! at most.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::Seen;
use std::ops::ControlFlow;
use support::damaged::{
    absent, damage, frames, may_have_held, one_segment, only_a_log, parts, urls,
};
use support::faults::{Faults, Maps};
use support::{env_on, long, manual, names, place};

#[test]
fn a_flipped_byte_costs_at_most_its_block() {
    for stamps in [true, false] {
        let (_dir, path) = place();
        let urls = one_segment(&path, stamps);
        let segment = path.join(&names(&path, ".seg")[0]);
        let whole = std::fs::read(&segment).unwrap();
        let parts = parts(&whole);
        // Real syncs would only make this slow.
        let vfs = Faults::new(Maps::System);
        vfs.sync_nothing();
        let step = if long() > 1 { 1 } else { 3 };
        let mut losses = 0;
        for at in (0..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= [0xff, 1, 0x80][at % 3];
            std::fs::write(&segment, bytes).unwrap();
            let (_dir, into) = place();
            let report = Seen::builder(&path)
                .env(env_on(&vfs))
                .repair_into(&into, &mut |_| ControlFlow::Continue(()))
                .unwrap();
            let new = Seen::open_read_only(&into).unwrap();
            let absent = absent(&new, &urls);
            assert_eq!(
                new.len() + absent.len() as u64,
                urls.len() as u64,
                "byte {at}"
            );
            if (parts.dictionary()..parts.index).contains(&at) {
                let [lost] = report.lost.as_slice() else {
                    panic!("byte {at}: {report:?}");
                };
                assert!(lost.bytes.contains(&(at as u64)), "byte {at}: {lost}");
                assert!(
                    lost.bytes.end - lost.bytes.start < 5_300,
                    "byte {at}: {lost}"
                );
                assert!(!absent.is_empty());
                assert!(
                    absent.iter().all(|url| may_have_held(lost, url)),
                    "byte {at}"
                );
                let inside = urls.iter().filter(|url| may_have_held(lost, url)).count();
                assert_eq!(inside, absent.len(), "byte {at}");
                losses += 1;
            } else {
                assert!(report.lost.is_empty(), "byte {at}: {report:?}");
                assert_eq!(report.damage.len(), 1, "byte {at}: {report:?}");
                assert!(absent.is_empty(), "byte {at}");
            }
        }
        assert!(losses > 1_000, "{losses}");
    }
}

#[test]
fn a_flipped_byte_of_a_block_beside_a_lost_index_costs_that_block() {
    for stamps in [true, false] {
        let (_dir, path) = place();
        let urls = one_segment(&path, stamps);
        let segment = path.join(&names(&path, ".seg")[0]);
        let whole = std::fs::read(&segment).unwrap();
        let parts = parts(&whole);
        let vfs = Faults::new(Maps::System);
        vfs.sync_nothing();
        for at in (parts.dictionary()..parts.index).step_by(if long() > 1 { 1 } else { 37 }) {
            for from in [parts.index, parts.footer] {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x11;
                bytes[from + 3] ^= 1;
                std::fs::write(&segment, bytes).unwrap();
                let (_dir, into) = place();
                let report = Seen::builder(&path)
                    .env(env_on(&vfs))
                    .repair_into(&into, &mut |_| ControlFlow::Continue(()))
                    .unwrap();
                let new = Seen::open_read_only(&into).unwrap();
                let absent = absent(&new, &urls);
                // If the last block is damaged too, nothing tells where the blocks end.
                let [lost] = report.lost.as_slice() else {
                    panic!("byte {at}: {report:?}");
                };
                assert!(lost.bytes.contains(&(at as u64)), "byte {at}: {lost}");
                let is_open = lost.before.is_none() && from == parts.footer;
                let most = if is_open { whole.len() as u64 } else { 5_300 };
                assert!(
                    lost.bytes.end - lost.bytes.start < most,
                    "byte {at}: {lost}"
                );
                assert!((20..400).contains(&absent.len()), "byte {at}");
                assert!(
                    absent.iter().all(|url| may_have_held(lost, url)),
                    "byte {at}"
                );
            }
        }
    }
}

#[test]
fn a_flipped_byte_of_a_log_costs_at_most_its_batch() {
    const COUNT: u32 = 40;
    let (_dir, path) = place();
    only_a_log(&path, COUNT, 0);
    let log = path.join(&names(&path, ".log")[0]);
    let whole = std::fs::read(&log).unwrap();
    let frames = frames(&whole);
    assert_eq!(frames.len(), COUNT as usize);
    let vfs = Faults::new(Maps::System);
    vfs.sync_nothing();
    let used = frames.last().unwrap().end;
    for at in (0..used).step_by(if long() > 1 { 1 } else { 3 }) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&log, bytes).unwrap();
        let (_dir, into) = place();
        let report = Seen::builder(&path)
            .env(env_on(&vfs))
            .repair_into(&into, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        let new = Seen::open_read_only(&into).unwrap();
        let absent = absent(&new, &urls(0..COUNT));
        assert_eq!(report.last_position.is_some(), !new.is_empty());
        match frames.iter().position(|frame| frame.contains(&at)) {
            Some(frame) => {
                let [lost] = report.lost.as_slice() else {
                    panic!("byte {at}: {report:?}");
                };
                assert_eq!(absent, urls(frame as u32..frame as u32 + 1), "byte {at}");
                assert_eq!(lost.first_batch, Some(frame as u64 + 1), "byte {at}");
                // What is behind the last frame is not known.
                let last = (frame + 1 < frames.len()).then_some(frame as u64 + 1);
                assert_eq!(lost.last_batch, last, "byte {at}: {lost}");
                assert_eq!(lost.bytes.start, frames[frame].start as u64);
                // Whoever resumes there applies again what was lost.
                let before = 10 * frame as u64;
                assert_eq!(report.position, (before > 0).then_some(before), "byte {at}");
                assert_eq!(new.position(), report.position);
            }
            // The id that frames are checked with.
            None if (54..62).contains(&at) => assert_eq!(absent.len(), COUNT as usize),
            None => {
                assert!(report.lost.is_empty(), "byte {at}: {report:?}");
                assert!(absent.is_empty(), "byte {at}");
                assert_eq!(report.position, Some(10 * u64::from(COUNT)));
            }
        }
    }
}

#[test]
fn many_damaged_blocks_of_a_segment_without_a_footer_are_read_past_once() {
    let (dir, path) = place();
    let seen = manual(&path).segment_size(4 << 20).create().unwrap();
    for part in urls(0..60_000).chunks(3_000) {
        seen.insert_many(part).unwrap();
    }
    seen.flush().unwrap();
    seen.compact().unwrap();
    seen.close().unwrap();
    let segment = path.join(&names(&path, ".seg")[0]);
    damage(&segment, |bytes| {
        let end = parts(bytes);
        bytes[end.footer..].fill(0);
        for at in (10_000..end.index).step_by(20_000) {
            bytes[at] ^= 1;
        }
    });
    let size = std::fs::metadata(&segment).unwrap().len();
    let vfs = Faults::new(Maps::System);
    let report = Seen::builder(&path)
        .env(env_on(&vfs))
        .repair_into(dir.path().join("new"), &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert!(report.lost.len() > 20, "{}", report.lost.len());
    let read = vfs.bytes_read();
    assert!(read < 4 * size, "{read} of {size}");
}
