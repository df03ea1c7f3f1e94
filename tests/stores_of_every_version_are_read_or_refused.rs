//! The stores in tests/fixtures give the answers that they always gave, or the error; and
//! what this build writes is, byte for byte, what they have.
//!
//! `SEENDB_UPDATE_FIXTURES=1` writes stores that are missing; see tests/fixtures/README.md.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;
#[path = "fixtures/write.rs"]
mod write;

use seendb::{Canon, Driver, Error, Reads, Seen};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use support::{at, copy_dir, entries, listing, names, place};
use write::{START, stores};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1")
}

#[test]
fn what_is_written_is_what_was_written_ever_since() {
    if std::env::var_os("SEENDB_UPDATE_FIXTURES").is_some() {
        for (name, files) in stores() {
            let dir = directory().join(name);
            std::fs::create_dir_all(&dir).unwrap();
            for (file, bytes) in files {
                let path = dir.join(file);
                if !path.exists() {
                    std::fs::write(path, bytes).unwrap();
                }
            }
        }
    }
    let mut all: Vec<_> = stores();
    all.sort();
    let written: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(&directory(), ""), written);
    for (name, files) in &all {
        let there = listing(&directory().join(name));
        let there = there.into_iter().map(|(file, (_, bytes))| (file, bytes));
        assert!(there.eq(files.clone()), "{name} is written otherwise now");
    }
}

/// Opens a copy of a store, for reading and then for writing, and tries it each time.
fn each_way(name: &str, mut check: impl FnMut(&Path, Result<Seen, Error>)) {
    let (_dir, copy) = place();
    copy_dir(&directory().join(name), &copy);
    for reads in [Reads::Map, Reads::Pread] {
        check(&copy, Seen::builder(&copy).reads(reads).open_read_only());
    }
    let open = Seen::builder(&copy).driver(Driver::Manual).open();
    check(&copy, open);
}

/// Expects exactly these entries, in the order of keys.
fn has(name: &str, expected: &[(&[u8], Option<SystemTime>)], position: Option<u64>) {
    each_way(name, |path, opened| {
        let seen = opened.unwrap();
        let found = entries(&seen);
        let found: Vec<_> = found
            .iter()
            .map(|(key, record)| (key.as_slice(), record.first_seen))
            .collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(seen.len(), expected.len() as u64);
        assert_eq!(seen.position(), position, "{name}");
        let report = seendb::verify(path, &mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{name}: {:?}", report.damage);
        assert_eq!(report.entries, expected.len() as u64);
    });
    let (_dir, copy) = place();
    copy_dir(&directory().join(name), &copy);
    let seen = Seen::open(&copy).unwrap();
    for (key, first_seen) in expected {
        assert_eq!(seen.get(key).unwrap().unwrap().first_seen, *first_seen);
        assert!(!seen.insert(key).unwrap(), "{name}");
    }
    // It goes on from here.
    assert!(seen.insert("https://example.net/new").unwrap());
    seen.close().unwrap();
    let seen = Seen::open_read_only(&copy).unwrap();
    assert_eq!(seen.len(), expected.len() as u64 + 1);
}

/// The URLs `from..to`, inserted so many seconds after the first moment.
fn urls(from: u32, to: u32, seconds: u64) -> Vec<(Vec<u8>, Option<SystemTime>)> {
    let time = Some(at(START + seconds * 1000));
    (from..to)
        .map(|i| (format!("https://example.com/{i:02}").into_bytes(), time))
        .collect()
}

fn borrowed(entries: &[(Vec<u8>, Option<SystemTime>)]) -> Vec<(&[u8], Option<SystemTime>)> {
    entries
        .iter()
        .map(|(key, time)| (key.as_slice(), *time))
        .collect()
}

#[test]
fn raw_with_stamps_and_positions() {
    let expected: [(&[u8], _); 4] = [
        (b"\x00\xff not a URL", Some(at(START + 86_400_000))),
        (b"https://example.com/", Some(at(START))),
        (b"https://example.org/a?b=c", Some(at(START + 1))),
        (&[b'k'; 300], Some(at(START + 5))),
    ];
    let name = "raw-with-stamps-and-positions";
    has(name, &expected, Some(u64::MAX - 1));
    each_way(name, |_, seen| {
        assert_eq!(*seen.unwrap().canon(), Canon::raw())
    });
}

#[test]
fn standard_without_stamps() {
    let expected: [(&[u8], _); 3] = [
        (b"http://example.com/a", None),
        (b"https://example.org/", None),
        (b"https://xn--bcher-kva.example/?q=%C3%A9", None),
    ];
    let name = "standard-without-stamps";
    has(name, &expected, None);
    each_way(name, |_, seen| {
        let seen = seen.unwrap();
        assert_eq!(*seen.canon(), Canon::standard());
        assert!(seen.contains("http://EXAMPLE.COM:80/b/../a#x").unwrap());
        assert!(!seen.contains("http://example.com/A").unwrap());
    });
}

#[test]
fn empty() {
    has("empty", &[], None);
}

#[test]
fn several_runs() {
    let parts = (0..4).flat_map(|part| urls(part * 5, part * 5 + 5, part.into()));
    let expected: Vec<_> = parts.collect();
    has("several-runs", &borrowed(&expected), None);
    // A field that may be passed over.
    has("manifest-with-an-unknown-field", &borrowed(&expected), None);
    each_way("several-runs", |_, seen| {
        assert_eq!(seen.unwrap().stats().runs, 3)
    });
}

#[test]
fn unflushed_log() {
    let expected = [urls(0, 4, 0), urls(4, 6, 1), urls(6, 10, 2)].concat();
    has("unflushed-log", &borrowed(&expected), Some(7));
    each_way("unflushed-log", |_, seen| {
        let seen = seen.unwrap();
        assert_eq!((seen.recovery().logs, seen.recovery().entries), (2, 6));
        assert!(seen.recovery().cuts.is_empty());
    });
}

#[test]
fn log_with_a_torn_tail() {
    let name = "log-with-a-torn-tail";
    let expected = [urls(0, 4, 0), urls(4, 6, 1), urls(6, 9, 2)].concat();
    has(name, &borrowed(&expected), Some(7));
    each_way(name, |path, seen| {
        let seen = seen.unwrap();
        let [cut] = seen.recovery().cuts.as_slice() else {
            panic!("{:?}", seen.recovery());
        };
        assert_eq!(cut.path, path.join("000005.log"));
        assert_eq!(cut.offset, 280);
        assert_eq!(cut.reason, "a frame of 64 bytes where 44 are left");
    });
}

/// Expects that opening, or else reading everything, gives exactly this error.
fn is_refused(name: &str, expected: &str) {
    each_way(name, |path, opened| {
        let read = |seen: Seen| seen.scan("")?.try_for_each(|entry| entry.map(drop));
        let error: Error = opened.and_then(read).unwrap_err();
        let shown = |error: &Error| error.to_string().replace(&*path.to_string_lossy(), "STORE");
        assert_eq!(shown(&error), expected, "{name}");
        match seendb::verify(path, &mut |_| {}) {
            Ok(report) => assert!(report.damage.iter().any(|e| shown(e) == expected), "{name}"),
            Err(error) => assert_eq!(shown(&error), expected, "{name}"),
        }
    });
}

#[test]
fn damaged_stores() {
    // What to do, by the kind of file.
    let segment = "restore the store from a copy, or make a new one of all that is intact \
                   with `seen repair`; `seen verify` lists every damaged part of it";
    let log = "the entries behind this point were reported as recorded, so they are not \
               dropped silently: restore the store from a copy, or make a new one of all \
               that is intact with `seen repair`";
    let manifest = "restore the whole directory from a copy that was made while no writer \
                    had it open (an older manifest alone does not know what was recorded \
                    since), or make a new store of all that is intact with `seen repair`";
    for (name, damage, remedy) in [
        (
            "block-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 52: expected a block with the \
             checksum 9fcc1f2e, found bytes with the checksum f72b1e0b",
            segment,
        ),
        (
            "segment-missing",
            "STORE/000005.seg is damaged at byte 0: expected a file that the \
             manifest names, found no file",
            segment,
        ),
        (
            "manifest-with-a-flipped-bit",
            "STORE/MANIFEST is damaged at byte 222: expected the header's checksum \
             b33d7257, found 663e6d91",
            manifest,
        ),
        (
            "log-cut-in-its-recorded-part",
            "STORE/000003.log is damaged at byte 118: expected a log of at least \
             184 bytes, as was known before, found the end of the file",
            log,
        ),
        (
            "log-with-a-hole-in-its-synced-part",
            "STORE/000005.log is damaged at byte 88: expected a frame that was \
             known to be synced, found zeros",
            log,
        ),
    ] {
        is_refused(name, &format!("{damage}; {remedy}"));
    }
}

#[test]
fn stores_of_the_future() {
    for (name, expected) in [
        (
            "manifest-of-a-later-version",
            "STORE/MANIFEST: unsupported format version: found 2, this build knows \
             1; use a newer release of seendb",
        ),
        (
            "manifest-with-a-field-that-must-be-understood",
            "STORE/MANIFEST: unsupported field: found field 100, this build knows \
             fields 1 to 8; use a newer release of seendb",
        ),
        (
            "log-with-an-unknown-operation",
            "STORE/000005.log: unsupported log operation: found kind 2, this build \
             knows kind 1; use a newer release of seendb",
        ),
    ] {
        is_refused(name, expected);
    }
}
