//! A repair takes every entry whose block or batch is intact, and lists all the rest.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Canon, Error, Lost, RepairReport, Seen};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use support::faults::{Faults, Maps, Op};
use support::{
    EIO, Seeded, assert_clean, at, copy_dir, entries, env_on, long, manual, names, place,
};

fn repair(from: &Path, into: &Path) -> RepairReport {
    Seen::repair(from, into, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// URLs in the order in which they are inserted: not that of keys.
fn urls(range: Range<u32>) -> Vec<String> {
    range
        .map(|i| {
            let mixed = i.wrapping_mul(0x9e37_79b1);
            format!("https://www{}.example.com/{mixed:08x}/{i}", mixed % 13)
        })
        .collect()
}

/// Those of `urls` that a store does not have.
fn absent(store: &Seen, urls: &[String]) -> Vec<String> {
    let known = store.get_many(urls).unwrap();
    let absent = urls.iter().zip(known).filter(|(_, known)| known.is_none());
    absent.map(|(url, _)| url.clone()).collect()
}

/// Whether a key lies where a part of a segment was lost.
fn may_have_held(lost: &Lost, url: &str) -> bool {
    let key = url.as_bytes();
    lost.first_batch.is_none()
        && lost.last_batch.is_none()
        && lost.after.as_deref().is_none_or(|after| after < key)
        && lost.before.as_deref().is_none_or(|before| key < before)
}

/// A repaired store is sound, and goes on as any other.
fn assert_works(path: &Path) {
    assert_clean(path);
    let before = Seen::open_read_only(path).unwrap().len();
    for reopened in 0..2 {
        let seen = Seen::open(path).unwrap();
        let url = format!("https://new.example.com/{reopened}");
        assert!(seen.insert(&url).unwrap());
        assert!(!seen.insert(&url).unwrap());
        seen.flush().unwrap();
        seen.compact().unwrap();
        seen.close().unwrap();
    }
    assert_eq!(Seen::open_read_only(path).unwrap().len(), before + 2);
    assert_clean(path);
}

fn damage(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

const IN_FIRST: u32 = 9_000;
const IN_SECOND: u32 = 12_000;
const IN_LOG: u32 = 12_200;

/// A store as a kill leaves it: a run of 9,000 keys in some segments, one of 3,000, and
/// 200 in the log, a batch each.
fn killed(path: &Path, stamps: bool) {
    let (_dir, original) = place();
    let seen = manual(&original).stamps(stamps).create().unwrap();
    for part in urls(0..IN_FIRST).chunks(3_000) {
        seen.insert_many(part).unwrap();
    }
    seen.flush().unwrap();
    seen.insert_many(&urls(IN_FIRST..IN_SECOND)).unwrap();
    seen.flush().unwrap();
    for url in urls(IN_SECOND..IN_LOG) {
        seen.insert(url).unwrap();
    }
    assert_eq!((seen.stats().runs, seen.len()), (2, u64::from(IN_LOG)));
    copy_dir(&original, path);
    assert!(names(path, ".seg").len() >= 4);
    assert_eq!(names(path, ".log").len(), 1);
}

#[test]
fn a_destroyed_block_a_destroyed_log_tail_and_a_missing_segment() {
    for stamps in [true, false] {
        let (dir, path) = place();
        killed(&path, stamps);
        let segments = names(&path, ".seg");
        let block = path.join(&segments[0]);
        damage(&block, |bytes| bytes[20_000] ^= 1);
        let gone = path.join(&segments[1]);
        std::fs::remove_file(&gone).unwrap();
        let log = path.join(&names(&path, ".log")[0]);
        // The last ten frames, each of another length than the next perhaps.
        damage(&log, |bytes| {
            let end = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
            let tenth = urls(IN_LOG - 10..IN_LOG);
            let least = tenth.iter().map(|url| 24 + 3 + url.len()).sum::<usize>();
            bytes[end - least..].fill(0xa5);
        });

        let into = dir.path().join("new");
        let report = repair(&path, &into);
        let paths: Vec<&PathBuf> = report.lost.iter().map(|lost| &lost.path).collect();
        assert_eq!(report.lost.len(), 3, "{:?}", report.lost);
        assert!(
            [&block, &gone, &log]
                .iter()
                .all(|path| paths.contains(path))
        );
        let of = |path: &PathBuf| report.lost.iter().find(|lost| lost.path == *path).unwrap();
        assert!(of(&block).bytes.contains(&20_000));
        assert!(of(&block).bytes.end - of(&block).bytes.start < 5_000);
        assert!(of(&block).after.is_some() && of(&block).before.is_some());
        assert!(matches!(&of(&gone).damage, Error::Corrupt(c) if c.found == "no file"));
        assert!(of(&gone).after.is_some() && of(&gone).bytes.start == 0);

        let new = Seen::open_read_only(&into).unwrap();
        assert_eq!(*new.canon(), Canon::raw());
        let absent = absent(&new, &urls(0..IN_LOG));
        assert_eq!(new.len() + absent.len() as u64, u64::from(IN_LOG));
        assert_eq!(report.entries, new.len());
        // Of the log, exactly the batches that are named; of the rest, only what lies where
        // a part was lost.
        let first = of(&log).first_batch.unwrap();
        assert_eq!(of(&log).last_batch, None);
        let from_log = &urls(IN_SECOND..IN_LOG);
        let kept = first - 5; // four batches went to segments
        assert!((189..=192).contains(&kept), "{kept}");
        for (place, url) in from_log.iter().enumerate() {
            assert_eq!(absent.contains(url), place as u64 >= kept, "{url}");
        }
        let mut in_block = 0;
        for url in absent.iter().filter(|url| !from_log.contains(url)) {
            assert!(
                may_have_held(of(&block), url) || may_have_held(of(&gone), url),
                "{url}"
            );
            in_block += u64::from(may_have_held(of(&block), url));
        }
        assert!((50..400).contains(&in_block), "{in_block}");
        let text = of(&block).to_string();
        assert!(
            text.contains("keys between") && text.contains("checksum"),
            "{text}"
        );
        drop(new);
        assert_works(&into);
    }
}

#[test]
fn a_sound_store_loses_nothing() {
    for stamps in [true, false] {
        let (dir, path) = place();
        killed(&path, stamps);
        let into = dir.path().join("new");
        let report = repair(&path, &into);
        assert!(report.lost.is_empty() && report.damage.is_empty());
        assert!(report.ignored.is_empty());
        assert_eq!(report.entries, u64::from(IN_LOG));
        let was = entries(&Seen::open_read_only(&path).unwrap());
        assert_eq!(entries(&Seen::open_read_only(&into).unwrap()), was);
        assert_eq!(was[0].1.first_seen.is_some(), stamps);
        assert_works(&into);
    }
}

#[test]
fn a_destroyed_manifest_costs_no_entry() {
    for (stamps, gone) in [(true, true), (true, false), (false, true)] {
        let (dir, path) = place();
        killed(&path, stamps);
        let was = entries(&Seen::open_read_only(&path).unwrap());
        if gone {
            std::fs::remove_file(path.join("MANIFEST")).unwrap();
        } else {
            damage(&path.join("MANIFEST"), |bytes| bytes[60] ^= 4);
        }
        let into = dir.path().join("new");
        let report = repair(&path, &into);
        assert!(report.lost.is_empty(), "{:?}", report.lost);
        let [Error::Corrupt(manifest)] = report.damage.as_slice() else {
            panic!("{:?}", report.damage);
        };
        assert_eq!(manifest.path, path.join("MANIFEST"));
        assert_eq!(entries(&Seen::open_read_only(&into).unwrap()), was);
        assert_works(&into);
    }
}

/// Where the parts of a segment are: blocks end where the index begins.
struct Parts {
    index: usize,
    filter: usize,
    footer: usize,
}

fn parts(bytes: &[u8]) -> Parts {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let footer = number(bytes.len() - 24);
    // Fields 11 and 12: index and filter.
    let field = |tag: u8| {
        let mut at = footer;
        while bytes[at] != tag {
            at += 6 + u32::from_le_bytes(bytes[at + 2..at + 6].try_into().unwrap()) as usize;
        }
        number(at + 6)
    };
    Parts {
        index: field(11),
        filter: field(12),
        footer,
    }
}

#[test]
fn a_destroyed_header_index_filter_or_footer_costs_no_entry() {
    for stamps in [true, false] {
        for manifest in [true, false] {
            for part in [
                "magic", "id", "index", "filter", "footer", "tail", "end cut",
            ] {
                let (dir, path) = place();
                killed(&path, stamps);
                let was = entries(&Seen::open_read_only(&path).unwrap());
                let segment = path.join(&names(&path, ".seg")[1]);
                damage(&segment, |bytes| {
                    let parts = parts(bytes);
                    match part {
                        "magic" => bytes[2] ^= 1,
                        "id" => bytes[20] ^= 1,
                        "index" => bytes[parts.index..parts.filter].fill(0xff),
                        "filter" => bytes[parts.filter] ^= 1,
                        "footer" => bytes[parts.footer..].fill(0),
                        "tail" => *bytes.last_mut().unwrap() ^= 1,
                        _ => bytes.truncate(parts.filter + 10),
                    }
                });
                if !manifest {
                    std::fs::remove_file(path.join("MANIFEST")).unwrap();
                }
                let into = dir.path().join("new");
                let report = repair(&path, &into);
                let what = format!("{part}, {stamps}, {manifest}: {report:?}");
                assert!(report.lost.is_empty(), "{what}");
                assert_eq!(report.damage.len(), 1 + usize::from(!manifest), "{what}");
                assert!(report.ignored.is_empty(), "{what}");
                assert!(
                    entries(&Seen::open_read_only(&into).unwrap()) == was,
                    "{what}"
                );
                assert_clean(&into);
            }
        }
    }
}

#[test]
fn a_segment_that_was_cut_keeps_the_blocks_before_the_cut() {
    let (_dir, whole) = place();
    killed(&whole, true);
    let segment = names(&whole, ".seg")[0].clone();
    let len = parts(&std::fs::read(whole.join(&segment)).unwrap()).index;
    let mut before = u64::from(IN_LOG);
    for cut in [len, len - 1, len / 2, 5_000, 52, 40, 0] {
        let (dir, path) = place();
        copy_dir(&whole, &path);
        damage(&path.join(&segment), |bytes| bytes.truncate(cut));
        let into = dir.path().join("new");
        let report = repair(&path, &into);
        let [lost] = report.lost.as_slice() else {
            panic!("{cut}: {:?}", report.lost);
        };
        assert!(lost.path.ends_with(&segment) && lost.bytes.start <= cut as u64);
        assert!(cut as u64 - lost.bytes.start < 5_000, "{cut}: {lost}");
        assert!(lost.bytes.end > len as u64, "{cut}: {lost}");
        let new = Seen::open_read_only(&into).unwrap();
        for url in absent(&new, &urls(0..IN_LOG)) {
            assert!(may_have_held(lost, &url), "{cut}: {url}");
        }
        assert!(new.len() <= before, "{cut}");
        before = new.len();
    }
    // All of the segment, and nothing else.
    assert!((8_000..12_200).contains(&before), "{before}");
}

/// A closed store with one segment of a few blocks, and no log.
fn one_segment(path: &Path, stamps: bool) -> Vec<String> {
    let urls = urls(0..600);
    let seen = manual(path).stamps(stamps).create().unwrap();
    seen.insert_many(&urls).unwrap();
    seen.close().unwrap();
    assert_eq!(names(path, ".seg").len(), 1);
    urls
}

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
            if (52..parts.index).contains(&at) {
                let [lost] = report.lost.as_slice() else {
                    panic!("byte {at}: {report:?}");
                };
                assert!(lost.bytes.contains(&(at as u64)), "byte {at}: {lost}");
                assert!(
                    lost.bytes.end - lost.bytes.start < 4_300,
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
        for at in (52..parts.index).step_by(if long() > 1 { 1 } else { 37 }) {
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
                let most = if is_open { whole.len() as u64 } else { 4_300 };
                assert!(
                    lost.bytes.end - lost.bytes.start < most,
                    "byte {at}: {lost}"
                );
                assert!((50..300).contains(&absent.len()), "byte {at}");
                assert!(
                    absent.iter().all(|url| may_have_held(lost, url)),
                    "byte {at}"
                );
            }
        }
    }
}

#[test]
fn parts_that_the_disk_does_not_give_are_lost_and_no_others() {
    for op in [".seg", ".log"] {
        let (dir, path) = place();
        killed(&path, true);
        let vfs = Faults::new(Maps::System);
        // Large reads fail, and so do some of the small ones that follow.
        let count = std::sync::atomic::AtomicU64::new(0);
        vfs.rule(move |event| {
            use std::sync::atomic::Ordering::SeqCst;
            let fails = event.is(Op::Read, op)
                && event.bytes >= 4_096
                && (event.bytes > 4_096 || count.fetch_add(1, SeqCst) % 5 == 2);
            if fails {
                support::faults::Do::Fail(EIO)
            } else {
                support::faults::Do::Pass
            }
        });
        let into = dir.path().join("new");
        let report = Seen::builder(&path)
            .env(env_on(&vfs))
            .repair_into(&into, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        vfs.heal();
        assert!(!report.lost.is_empty());
        let is_unread = |lost: &&Lost| matches!(lost.damage, Error::Io { .. });
        assert!(
            report.lost.iter().any(|lost| is_unread(&lost)),
            "{:?}",
            report.lost
        );
        let new = Seen::open_read_only(&into).unwrap();
        assert!(report.entries > 1_000, "{}", report.entries);
        if op == ".seg" {
            for url in absent(&new, &urls(0..IN_SECOND)) {
                assert!(report.lost.iter().any(|lost| may_have_held(lost, &url)));
            }
            assert!(absent(&new, &urls(IN_SECOND..IN_LOG)).is_empty());
        } else {
            assert!(absent(&new, &urls(0..IN_SECOND)).is_empty());
        }
        assert_clean(&into);
    }
}

/// Does something bad to a file; false if it is gone then.
fn harm(file: &Path, random: &Seeded) -> bool {
    let mut bytes = std::fs::read(file).unwrap();
    let len = bytes.len() as u64;
    let from = random.below(len) as usize;
    let to = (from + random.below(20_000) as usize).min(bytes.len());
    match random.below(8) {
        0..=2 => bytes[from] ^= 1 << random.below(8),
        3 => bytes[from..to].fill(0),
        4 => bytes[from..to].fill_with(|| random.next() as u8),
        5 => bytes.truncate(from),
        6 => bytes.extend_from_within(from..to),
        _ => {
            std::fs::remove_file(file).unwrap();
            return false;
        }
    }
    std::fs::write(file, bytes).unwrap();
    true
}

#[test]
fn whatever_is_damaged_nothing_is_invented_and_what_is_absent_is_listed() {
    let vfs = Faults::new(Maps::System);
    vfs.sync_nothing();
    let all = urls(0..IN_LOG);
    for stamps in [true, false] {
        let (_dir, whole) = place();
        killed(&whole, stamps);
        let was = entries(&Seen::open_read_only(&whole).unwrap());
        let log = names(&whole, ".log")[0].clone();
        let frames = frames(&std::fs::read(whole.join(&log)).unwrap());
        let random = Seeded::new(u64::from(stamps));
        let mut losses = 0;
        for round in 0..40 * long() {
            let (dir, path) = place();
            copy_dir(&whole, &path);
            let mut files = names(&path, ".seg");
            files.extend(names(&path, ".log"));
            let mut gone = false;
            for _ in 0..1 + random.below(4) {
                let file = path.join(&files[random.below(files.len() as u64) as usize]);
                gone |= file.exists() && !harm(&file, &random);
            }
            let named = random.below(3) > 0;
            if !named {
                harm(&path.join("MANIFEST"), &random);
            }
            let into = dir.path().join("new");
            let report = Seen::builder(&path)
                .canon(Canon::raw())
                .env(env_on(&vfs))
                .repair_into(&into, &mut |_| ControlFlow::Continue(()))
                .unwrap_or_else(|error| panic!("round {round}: {error}"));
            let new = Seen::open_read_only(&into).unwrap();
            let is = entries(&new);
            assert_eq!(is.len() as u64, report.entries);
            let mut was = was.iter();
            let invented = is.iter().find(|one| !was.any(|other| other == *one));
            assert!(invented.is_none(), "round {round}: {invented:?}");
            assert_clean(&into);
            // Without a manifest, what is gone or not to be recognized is not missed.
            if !named && (gone || !report.ignored.is_empty()) {
                continue;
            }
            for url in absent(&new, &all) {
                losses += 1;
                let place = all.iter().position(|one| *one == url).unwrap() as u32;
                let batch = place
                    .checked_sub(IN_SECOND)
                    .map(|place| u64::from(place) + 5);
                // From zeros up to the end nobody can tell that anything was there.
                let rest = std::fs::read(path.join(&log)).unwrap_or_else(|_| vec![1; 1 << 20]);
                let frame = batch.map(|batch| frames[batch as usize - 5].start);
                let rest = frame.map(|frame| rest.get(frame..).unwrap_or_default());
                if rest.is_some_and(|rest| rest.iter().all(|&byte| byte == 0)) {
                    continue;
                }
                let is_told = report.lost.iter().any(|lost| match batch {
                    None => may_have_held(lost, &url),
                    Some(batch) => {
                        lost.first_batch.is_none_or(|first| first <= batch)
                            && lost.last_batch.is_none_or(|last| batch <= last)
                            && lost.path.extension().is_some_and(|end| end == "log")
                    }
                });
                assert!(is_told, "round {round}: {url}: {:?}", report.lost);
            }
        }
        assert!(losses > 1_000, "{losses}");
    }
}

/// A killed store with `count` batches in its log, each with its position, times ten.
fn only_a_log(path: &Path, count: u32, flushed: u32) {
    let (_dir, original) = place();
    let seen = manual(&original).create().unwrap();
    for (i, url) in urls(0..count).into_iter().enumerate() {
        let mut batch = seen.batch();
        batch.insert(url).unwrap();
        batch.position(10 * (i as u64 + 1)).at(at(1_000 + i as u64));
        seen.apply(batch).unwrap();
        if i + 1 == flushed as usize {
            seen.flush().unwrap();
        }
    }
    copy_dir(&original, path);
}

/// Where the frames of the log begin and end.
fn frames(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut at = 88;
    let mut frames = Vec::new();
    loop {
        let len = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        if len == 0 {
            return frames;
        }
        let end = (at + 24 + len).next_multiple_of(8);
        frames.push(at..end);
        at = end;
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
