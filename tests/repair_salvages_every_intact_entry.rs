//! A repair takes every entry whose block or batch is intact, and lists all the rest.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Canon, Error, Lost, Seen};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use support::damaged::{
    IN_LOG, IN_SECOND, absent, damage, frames, killed, may_have_held, parts, repair, urls,
};
use support::faults::{Faults, Maps, Op};
use support::{EIO, Seeded, assert_clean, copy_dir, entries, env_on, long, names, place};

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

#[test]
fn a_destroyed_header_dictionary_index_filter_or_footer_costs_no_entry() {
    for stamps in [true, false] {
        for manifest in [true, false] {
            for part in [
                "magic",
                "id",
                "dictionary",
                "index",
                "filter",
                "dictionary again",
                "footer",
                "tail",
                "end cut",
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
                        "dictionary" => bytes[52..parts.dictionary()].fill(0xff),
                        "dictionary again" => bytes[parts.again..parts.footer].fill(0),
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
