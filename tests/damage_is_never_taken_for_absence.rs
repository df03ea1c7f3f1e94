//! Every byte of every file of a small store is damaged in turn: an answer is
//! right, or it is an error that names the file; never a panic, never "not seen".
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Error, Reads, Seen};
use std::path::{Path, PathBuf};
use support::faults::{Faults, Maps};
use support::{Seeded, copy_dir, env_on, long, manual, names, place};

/// URLs of a store with two runs, one of two segments.
fn urls() -> Vec<String> {
    (0..60u32)
        .map(|i| format!("https://host{}.example/{i:03}", i % 7))
        .collect()
}

/// A closed store, small enough to damage everywhere.
fn closed(path: &Path) {
    let urls = urls();
    let seen = manual(path).open().unwrap();
    let mut batch = seen.batch();
    for url in &urls[..40] {
        batch.insert(url).unwrap();
    }
    batch.position(5);
    seen.apply(batch).unwrap();
    seen.flush().unwrap();
    seen.insert_many(&urls[40..]).unwrap();
    seen.close().unwrap();
    assert_eq!(names(path, ".seg").len(), 2);
    assert!(names(path, ".log").is_empty());
}

/// The error must name a file or the directory of the store.
fn names_a_file(error: &Error, dir: &Path) -> bool {
    match error {
        Error::Corrupt(corrupt) => {
            assert!(!corrupt.expected.is_empty() && !corrupt.remedy.is_empty());
            corrupt.path.starts_with(dir)
        }
        Error::UnsupportedFormat { path, .. }
        | Error::NoSuchStore { path }
        | Error::Io { path, .. } => path.starts_with(dir),
        _ => false,
    }
}

/// Asks everything; true if anything was an error.
fn ask(dir: &Path, writing: bool, reads: Reads, what: &str) -> bool {
    let urls = urls();
    let fine = |error: &Error| {
        assert!(names_a_file(error, dir), "{what}: {error}");
        true
    };
    let builder = manual(dir).reads(reads);
    let seen = match if writing {
        builder.open()
    } else {
        builder.open_read_only()
    } {
        Ok(seen) => seen,
        Err(error) => return fine(&error),
    };
    let mut failed = false;
    for url in &urls {
        match seen.get(url) {
            Ok(record) => assert!(record.is_some(), "{what}: {url} is not found"),
            Err(error) => failed |= fine(&error),
        }
        if writing {
            match seen.insert(url) {
                Ok(new) => assert!(!new, "{what}: {url} is new"),
                Err(error) => failed |= fine(&error),
            }
        }
    }
    match seen.get_many(&urls) {
        Ok(records) => assert!(records.iter().all(Option::is_some), "{what}"),
        Err(error) => failed |= fine(&error),
    }
    match seen
        .scan("")
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
    {
        Ok(all) => assert_eq!(all.len(), urls.len(), "{what}"),
        Err(error) => failed |= fine(&error),
    }
    match seen.contains("https://absent.example/") {
        Ok(found) => assert!(!found),
        Err(error) => failed |= fine(&error),
    }
    failed
}

/// Whether `verify` finds the damage, and names the file.
fn verify_finds(dir: &Path, file: &str) -> bool {
    match seendb::verify(dir, &mut |_| {}) {
        Ok(report) => {
            let about = |error: &Error| error.to_string().contains(file);
            assert!(report.damage.iter().all(|error| names_a_file(error, dir)));
            report.damage.iter().any(about)
        }
        Err(error) => {
            assert!(names_a_file(&error, dir), "{error}");
            true
        }
    }
}

fn files(dir: &Path) -> Vec<String> {
    let mut files = names(dir, ".seg");
    files.push("MANIFEST".into());
    files
}

#[test]
fn by_flipping_any_byte_of_a_closed_store() {
    let (_dir, path) = place();
    closed(&path);
    let random = Seeded::new(1);
    let mut tried = 0;
    for file in files(&path) {
        let place = path.join(&file);
        let whole = std::fs::read(&place).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= match at % 3 {
                0 => 0xff,
                1 => 1 << random.below(8),
                _ => 0x80,
            };
            std::fs::write(&place, &bytes).unwrap();
            let what = format!("byte {at} of {file}");
            let reads = if at % 2 == 0 {
                Reads::Map
            } else {
                Reads::Pread
            };
            assert!(ask(&path, false, reads, &what), "{what} was not noticed");
            assert!(verify_finds(&path, &file), "{what} was not found by verify");
            if at % 16 == 0 {
                assert!(ask(&path, true, reads, &what), "{what} was not noticed");
                assert_eq!(std::fs::read(&place).unwrap(), bytes, "{what} was changed");
            }
            tried += 1;
        }
        std::fs::write(&place, &whole).unwrap();
    }
    println!("{tried} flipped bytes");
    assert!(!ask(&path, true, Reads::Map, "whole"));
}

#[test]
fn by_cutting_emptying_zeroing_or_lengthening_any_file() {
    let (_dir, path) = place();
    closed(&path);
    for file in files(&path) {
        let place = path.join(&file);
        let whole = std::fs::read(&place).unwrap();
        let mut damaged: Vec<(String, Vec<u8>)> = (0..whole.len())
            .step_by(7)
            .chain([whole.len() - 1])
            .map(|len| (format!("{file} cut at {len}"), whole[..len].to_vec()))
            .collect();
        damaged.push((format!("{file} of zeros"), vec![0; whole.len()]));
        damaged.push((
            format!("{file} with zeros at the end"),
            [&whole[..], &[0; 4096]].concat(),
        ));
        for from in (0..whole.len()).step_by(97) {
            let mut bytes = whole.clone();
            let to = (from + 512).min(bytes.len());
            bytes[from..to].fill(0);
            damaged.push((format!("{file} with a hole at {from}"), bytes));
        }
        for (what, bytes) in damaged {
            std::fs::write(&place, &bytes).unwrap();
            assert!(
                ask(&path, false, Reads::Map, &what),
                "{what} was not noticed"
            );
            assert!(verify_finds(&path, &file), "{what} was not found by verify");
            assert!(
                ask(&path, true, Reads::Pread, &what),
                "{what} was not noticed"
            );
            assert_eq!(std::fs::read(&place).unwrap(), bytes, "{what} was changed");
        }
        std::fs::write(&place, &whole).unwrap();
    }
}

#[test]
fn by_removing_or_exchanging_files() {
    let (dir, path) = place();
    closed(&path);
    // The same URLs in another store, so that every file has a twin.
    let other = dir.path().join("other");
    closed(&other);
    let segments = names(&path, ".seg");
    assert_eq!(segments, names(&other, ".seg"));
    for file in files(&path) {
        let place = path.join(&file);
        let whole = std::fs::read(&place).unwrap();
        std::fs::remove_file(&place).unwrap();
        let before = names(&path, "");
        assert!(ask(&path, false, Reads::Map, &format!("{file} removed")));
        assert!(ask(&path, true, Reads::Map, &format!("{file} removed")));
        assert!(verify_finds(&path, &file));
        assert_eq!(names(&path, ""), before);
        std::fs::write(&place, &whole).unwrap();

        std::fs::copy(other.join(&file), &place).unwrap();
        assert!(ask(
            &path,
            false,
            Reads::Map,
            &format!("{file} of another store")
        ));
        assert!(ask(
            &path,
            true,
            Reads::Map,
            &format!("{file} of another store")
        ));
        std::fs::write(&place, &whole).unwrap();
    }
    let (a, b) = (path.join(&segments[0]), path.join(&segments[1]));
    let swap = || {
        let aside = path.with_extension("aside");
        std::fs::rename(&a, &aside).unwrap();
        std::fs::rename(&b, &a).unwrap();
        std::fs::rename(&aside, &b).unwrap();
    };
    swap();
    assert!(ask(&path, true, Reads::Map, "two segments exchanged"));
    swap();
    assert!(!ask(&path, true, Reads::Map, "whole"));
}

/// A store as a kill leaves it: `count` frames in the log, synced after half.
fn killed(path: &Path, count: u32) -> (PathBuf, Vec<u8>) {
    let (_dir, original) = place();
    let seen = manual(&original).open().unwrap();
    for i in 0..count {
        seen.insert(format!("https://a.example/{i:03}")).unwrap();
        if i == count / 2 {
            seen.sync().unwrap();
        }
    }
    copy_dir(&original, path);
    let log = path.join(&names(path, ".log")[0]);
    let bytes = std::fs::read(&log).unwrap();
    (log, bytes)
}

fn recovered(path: &Path) -> Result<Seen, Error> {
    // Real syncs would only make this slow.
    let vfs = Faults::new(Maps::System);
    vfs.sync_nothing();
    manual(path).env(env_on(&vfs)).open()
}

#[test]
fn by_flipping_bytes_of_a_log_of_a_killed_writer() {
    const COUNT: u32 = 40;
    let (_dir, path) = place();
    let (log, bytes) = killed(&path, COUNT);
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    // A header of 88 bytes, then frames: 24 bytes and a body of 1 + 8 + 2 + 21.
    let (head, size) = (88, 56);
    assert_eq!(used, head + size * COUNT as usize);
    let step = if long() > 1 { 1 } else { 3 };
    for at in (0..used).step_by(step) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&log, &damaged).unwrap();
        let what = format!("byte {at} of {used}");
        let number = at.checked_sub(head).map(|at| (at / size) as u32);
        match number {
            // Behind the synced part a bad frame is the end, and that is reported.
            Some(number) if number > COUNT / 2 => {
                let (_copy_dir, copy) = place();
                copy_dir(&path, &copy);
                let seen = recovered(&copy).unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(seen.len(), u64::from(number), "{what}");
                for i in 0..COUNT {
                    let known = seen.contains(format!("https://a.example/{i:03}")).unwrap();
                    assert_eq!(known, i < number, "{what}");
                }
                let [cut] = seen.recovery().cuts.as_slice() else {
                    panic!("{what}: {:?}", seen.recovery());
                };
                assert_eq!(cut.offset, (head + size * number as usize) as u64);
                let reader = Seen::open_read_only(&path).unwrap();
                assert_eq!(reader.len(), u64::from(number));
            }
            // Before it, a frame further on says that this one had been synced.
            _ => match recovered(&path).unwrap_err() {
                Error::Corrupt(corrupt) => assert_eq!(corrupt.path, log, "{what}"),
                Error::UnsupportedFormat { path, .. } => assert_eq!(path, log, "{what}"),
                other => panic!("{what}: {other}"),
            },
        }
        assert_eq!(std::fs::read(&log).unwrap(), damaged, "{what} was changed");
    }
}

#[test]
fn by_cutting_the_log_of_a_killed_writer() {
    const COUNT: u32 = 40;
    let (_dir, path) = place();
    let (log, bytes) = killed(&path, COUNT);
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    for zeros in [false, true] {
        for at in (0..used).rev().step_by(5) {
            let mut damaged = bytes[..at].to_vec();
            if zeros {
                damaged.resize(bytes.len(), 0);
            }
            let (_copy_dir, copy) = place();
            copy_dir(&path, &copy);
            std::fs::write(copy.join(log.file_name().unwrap()), &damaged).unwrap();
            match recovered(&copy) {
                Ok(seen) => {
                    let len = seen.len() as u32;
                    assert!(len < COUNT);
                    for i in 0..COUNT {
                        let known = seen.contains(format!("https://a.example/{i:03}")).unwrap();
                        assert_eq!(known, i < len, "cut at {at}");
                    }
                    // It goes on where the log ended.
                    assert!(seen.insert(format!("https://a.example/{len:03}")).unwrap());
                    seen.close().unwrap();
                    assert_eq!(recovered(&copy).unwrap().len() as u32, len + 1);
                }
                Err(Error::Corrupt(_)) => assert!(at < 100, "cut at {at}"),
                Err(other) => panic!("cut at {at}: {other}"),
            }
        }
    }
}

#[test]
fn by_garbage_behind_the_last_frame() {
    let (_dir, path) = place();
    let (log, bytes) = killed(&path, 20);
    let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let end = used.next_multiple_of(8);
    let random = Seeded::new(3);
    for round in 0..40 {
        let mut damaged = bytes.clone();
        let from = end + random.below(500) as usize * 8 * u64::from(round % 2 == 0) as usize;
        for byte in &mut damaged[from..from + 1000] {
            *byte = random.next() as u8;
        }
        if round % 4 == 1 {
            // Old frames of this very log, in another place.
            let frames = damaged[end - 400..end].to_vec();
            damaged[end..end + 400].copy_from_slice(&frames);
        }
        let (_copy_dir, copy) = place();
        copy_dir(&path, &copy);
        std::fs::write(copy.join(log.file_name().unwrap()), &damaged).unwrap();
        let seen = recovered(&copy).unwrap();
        assert_eq!(seen.len(), 20);
        assert!(!seen.recovery().cuts.is_empty() || from > end);
    }
}
