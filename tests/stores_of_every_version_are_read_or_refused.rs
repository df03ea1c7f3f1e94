//! The stores in tests/fixtures give the answers that they always gave, or the error; and
//! what this build writes is, byte for byte, what they have.
//!
//! Version 1 kept milliseconds: now seconds are read.
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

use seendb::{Canon, Claim, Driver, Error, FilterKind, Outcome, Reads, Seen, State, Token};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use support::{at, copy_dir, entries, listing, names, place};
use write::{CODED, FILTERED, START, coded_url, stores};

/// Versions of the format whose stores are opened.
const VERSIONS: [u32; 4] = [1, 2, 3, 4];

fn directory(version: u32) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fixtures.join(format!("v{version}"))
}

/// The present version.
fn present() -> PathBuf {
    directory(VERSIONS[VERSIONS.len() - 1])
}

#[test]
fn what_is_written_is_what_was_written_ever_since() {
    if std::env::var_os("SEENDB_UPDATE_FIXTURES").is_some() {
        for (name, files) in stores() {
            let dir = present().join(name);
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
    assert_eq!(names(&present(), ""), written);
    for (name, files) in &all {
        let there = listing(&present().join(name));
        let there = there.into_iter().map(|(file, (_, bytes))| (file, bytes));
        assert!(there.eq(files.clone()), "{name} is written otherwise now");
    }
}

/// Opens a copy of a store, for reading and then for writing, and tries it each time.
fn each_way(version: u32, name: &str, mut check: impl FnMut(&Path, Result<Seen, Error>)) {
    let (_dir, copy) = place();
    copy_dir(&directory(version).join(name), &copy);
    for reads in [Reads::Map, Reads::Pread] {
        check(&copy, Seen::builder(&copy).reads(reads).open_read_only());
    }
    let open = Seen::builder(&copy).driver(Driver::Manual).open();
    check(&copy, open);
}

fn each_version(name: &str, mut check: impl FnMut(&Path, Result<Seen, Error>)) {
    for version in VERSIONS {
        each_way(version, name, &mut check);
    }
}

/// Expects exactly these entries, in the order of keys.
fn has(name: &str, expected: &[(&[u8], Option<SystemTime>)], position: Option<u64>) {
    for version in VERSIONS {
        version_has(version, name, expected, position);
    }
}

fn version_has(
    version: u32,
    name: &str,
    expected: &[(&[u8], Option<SystemTime>)],
    position: Option<u64>,
) {
    each_way(version, name, |path, opened| {
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
    copy_dir(&directory(version).join(name), &copy);
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
    let time = Some(at(START + seconds));
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
    let name = "raw-with-stamps-and-positions";
    for version in VERSIONS {
        // In version 1, as many milliseconds.
        let later = |time| Some(at(START + if version == 1 { time / 1000 } else { time }));
        let expected: [(&[u8], _); 4] = [
            (b"\x00\xff not a URL", later(86_400_000)),
            (b"https://example.com/", later(0)),
            (b"https://example.org/a?b=c", later(1)),
            (&[b'k'; 300], later(5)),
        ];
        version_has(version, name, &expected, Some(u64::MAX - 1));
        each_way(version, name, |_, seen| {
            assert_eq!(*seen.unwrap().canon(), Canon::raw())
        });
    }
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
    each_version(name, |_, seen| {
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
    each_version("several-runs", |_, seen| {
        assert_eq!(seen.unwrap().stats().runs, 3)
    });
}

#[test]
fn unflushed_log() {
    let expected = [urls(0, 4, 0), urls(4, 6, 1), urls(6, 10, 2)].concat();
    has("unflushed-log", &borrowed(&expected), Some(7));
    each_version("unflushed-log", |_, seen| {
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
    each_version(name, |path, seen| {
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
fn is_refused(version: u32, name: &str, expected: &str) {
    each_way(version, name, |path, opened| {
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
    for (version, name, damage, remedy) in [
        (
            1,
            "block-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 52: expected a block with the \
             checksum 9fcc1f2e, found bytes with the checksum f72b1e0b",
            segment,
        ),
        (
            2,
            "block-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 52: expected a block with the \
             checksum 7bc7a770, found bytes with the checksum 4d7804d0",
            segment,
        ),
        (
            3,
            "block-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 52: expected a block with the \
             checksum 7bc7a770, found bytes with the checksum 4d7804d0",
            segment,
        ),
        (
            3,
            "blocked-filter-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 144: expected a filter with the \
             checksum 28ccbb43, found bytes with the checksum 1009b656",
            segment,
        ),
        (
            3,
            "bloom-filter-with-a-flipped-bit",
            "STORE/000002.seg is damaged at byte 1775: expected a filter with the \
             checksum d8c30fcd, found bytes with the checksum 3ebcfbdb",
            segment,
        ),
        (
            3,
            "fuse-filter-with-a-flipped-bit",
            "STORE/000002.seg is damaged at byte 1775: expected a filter with the \
             checksum b8ad4299, found bytes with the checksum 7d3b7db0",
            segment,
        ),
        (
            3,
            "no-filter-with-a-flipped-bit",
            "STORE/000002.seg is damaged at byte 1775: expected a footer with the \
             checksum 3e39f974, found bytes with the checksum e321cff6",
            segment,
        ),
        (
            4,
            "block-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 65: expected a block with the \
             checksum 276e0c66, found bytes with the checksum e316b51c",
            segment,
        ),
        (
            4,
            "blocked-filter-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 176: expected a filter with the \
             checksum 338b809e, found bytes with the checksum 0b4e8d8b",
            segment,
        ),
        (
            4,
            "bloom-filter-with-a-flipped-bit",
            "STORE/000002.seg is damaged at byte 1088: expected a filter with the \
             checksum dd68ad86, found bytes with the checksum 3b175990",
            segment,
        ),
        (
            4,
            "fuse-filter-with-a-flipped-bit",
            "STORE/000002.seg is damaged at byte 1088: expected a filter with the \
             checksum 4c0c9164, found bytes with the checksum 899aae4d",
            segment,
        ),
        (
            4,
            "no-filter-with-a-flipped-bit",
            "STORE/000002.seg is damaged at byte 1101: expected a footer with the \
             checksum c16d92fd, found bytes with the checksum fa47b553",
            segment,
        ),
        (
            4,
            "dictionary-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 52: expected a dictionary with the \
             checksum 206897e9, found bytes with the checksum 424d4c4f",
            segment,
        ),
        (
            4,
            "second-dictionary-with-a-flipped-bit",
            "STORE/000005.seg is damaged at byte 11859: expected a dictionary with the \
             checksum ce9ce410, found bytes with the checksum acb93fb6",
            segment,
        ),
        (
            4,
            "manifest-with-a-flipped-bit",
            "STORE/MANIFEST is damaged at byte 292: expected the header's checksum e7c78737, found 52e9c87d",
            manifest,
        ),
        (
            1,
            "manifest-with-a-flipped-bit",
            "STORE/MANIFEST is damaged at byte 222: expected the header's checksum \
             b33d7257, found 663e6d91",
            manifest,
        ),
        (
            2,
            "manifest-with-a-flipped-bit",
            "STORE/MANIFEST is damaged at byte 260: expected the header's checksum \
             626e0414, found ff499737",
            manifest,
        ),
        (
            3,
            "manifest-with-a-flipped-bit",
            "STORE/MANIFEST is damaged at byte 292: expected the header's checksum \
             190fd341, found ac219c0b",
            manifest,
        ),
        (
            1,
            "manifest-of-a-later-version",
            "STORE/MANIFEST is damaged at byte 48: expected the field 9 of a manifest \
             of version 2, found none",
            manifest,
        ),
        (
            2,
            "manifest-of-a-later-version",
            "STORE/MANIFEST is damaged at byte 48: expected the field 12 of a manifest \
             of version 3, found none",
            manifest,
        ),
    ] {
        is_refused(version, name, &format!("{damage}; {remedy}"));
    }
    for (name, damage, remedy) in [
        (
            "segment-missing",
            "STORE/000005.seg is damaged at byte 0: expected a file that the \
             manifest names, found no file",
            segment,
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
        for version in VERSIONS {
            is_refused(version, name, &format!("{damage}; {remedy}"));
        }
    }
}

#[test]
fn stores_of_the_future() {
    for (version, name, expected) in [
        (
            4,
            "manifest-of-a-later-version",
            "STORE/MANIFEST: unsupported format version: found 5, this build knows \
             1 to 4; use a newer release of seendb",
        ),
        (
            3,
            "filter-of-an-unknown-kind",
            "STORE/000002.seg: unsupported filter kind: found 5, this build knows filter \
             kinds 1 (blocked), 2 (bloom), 3 (fuse) and 4 (none); use a newer release of \
             seendb",
        ),
        (
            4,
            "filter-of-an-unknown-kind",
            "STORE/000002.seg: unsupported filter kind: found 5, this build knows filter \
             kinds 1 (blocked), 2 (bloom), 3 (fuse) and 4 (none); use a newer release of \
             seendb",
        ),
        (
            3,
            "manifest-with-a-field-that-must-be-understood",
            "STORE/MANIFEST: unsupported field: found field 100, this build knows \
             fields 1 to 13; use a newer release of seendb",
        ),
        (
            4,
            "manifest-with-a-field-that-must-be-understood",
            "STORE/MANIFEST: unsupported field: found field 100, this build knows \
             fields 1 to 13; use a newer release of seendb",
        ),
        (
            1,
            "manifest-with-a-field-that-must-be-understood",
            "STORE/MANIFEST: unsupported field: found field 100, this build knows \
             fields 1 to 13; use a newer release of seendb",
        ),
        (
            2,
            "manifest-with-a-field-that-must-be-understood",
            "STORE/MANIFEST: unsupported field: found field 100, this build knows \
             fields 1 to 13; use a newer release of seendb",
        ),
        (
            1,
            "log-with-an-unknown-operation",
            "STORE/000005.log: unsupported log operation: found kind 2, this build \
             knows kind 1; use a newer release of seendb",
        ),
        (
            3,
            "log-with-an-unknown-operation",
            "STORE/000005.log: unsupported log operation: found kind 3, this build \
             knows kinds 1 and 2; use a newer release of seendb",
        ),
        (
            4,
            "log-with-an-unknown-operation",
            "STORE/000005.log: unsupported log operation: found kind 3, this build \
             knows kinds 1 and 2; use a newer release of seendb",
        ),
        (
            2,
            "log-with-an-unknown-operation",
            "STORE/000005.log: unsupported log operation: found kind 3, this build \
             knows kinds 1 and 2; use a newer release of seendb",
        ),
    ] {
        is_refused(version, name, expected);
    }
}

/// What is known of each URL of the stores with records.
fn known(i: usize) -> Option<State> {
    let claimed = |counter, from, attempts, last| State::Claimed {
        worker: "worker 1".into(),
        until: at(START + from + 60),
        token: Token { epoch: 1, counter },
        attempts,
        last,
    };
    let failed = |reason: &str, retry_at: Option<u64>| State::Failed {
        at: at(START + 20),
        reason: reason.into(),
        attempts: 1,
        retry_at: retry_at.map(|later| at(START + later)),
    };
    let fetched = |status, content| State::Fetched {
        at: at(START + 20),
        status,
        content,
    };
    Some(match i {
        0 | 8 => State::Seen,
        1 => claimed(1, 10, 1, None),
        2 => fetched(200, Some([7; 16])),
        3 => fetched(404, None),
        4 => failed("connection refused", Some(80)),
        5 => failed("gone for good", None),
        6 => claimed(7, 30, 2, None),
        _ => return None,
    })
}

#[test]
fn records() {
    let versions =
        [2, 3].map(|version| ["records", "records-in-a-log"].map(|name| (version, name)));
    for &(version, name) in versions.as_flattened() {
        each_way(version, name, |_, seen| {
            let seen = seen.unwrap();
            assert_eq!(seen.len(), 8);
            for i in 0..9 {
                let record = seen.get(format!("https://example.com/{i}")).unwrap();
                let first = record.as_ref().map(|record| record.first_seen);
                let later = if i == 8 { 30 } else { 0 };
                assert_eq!(first, known(i).map(|_| Some(at(START + later))), "{i}");
                let mut state = record.map(|record| record.state);
                if let Some(State::Claimed { last, .. }) = &mut state {
                    let last = last.take();
                    assert_eq!(last.is_some(), i == 6);
                    let failed = |last: &Outcome| {
                        matches!(last, Outcome::Failed { at: time, reason, .. }
                            if *time == at(START + 20) && reason == "slow")
                    };
                    assert!(last.iter().all(failed), "{last:?}");
                }
                assert_eq!(state, known(i), "{i}");
            }
            let states = seen.stats().states;
            let counts = (states.seen, states.claimed, states.fetched, states.failed);
            assert_eq!(counts, (2, 2, 2, 2));
        });
        // Another opening gives no token twice, and settles with those of before.
        let (_dir, copy) = place();
        copy_dir(&directory(version).join(name), &copy);
        let seen = Seen::open(&copy).unwrap();
        let token = Token {
            epoch: 1,
            counter: 7,
        };
        let lease = seen.lease("https://example.com/6", token).unwrap();
        lease.fetched(200, None).unwrap();
        let minute = std::time::Duration::from_secs(60);
        let claim = seen.claim("https://example.com/0", "another", minute);
        let Claim::Granted(lease) = claim.unwrap() else {
            panic!("nobody has it");
        };
        assert_eq!(lease.token().epoch, 2);
    }
}

#[test]
fn forgotten_without_stamps() {
    let name = "forgotten-without-stamps";
    let expected: Vec<_> = [0, 1, 3, 4, 5, 6].map(|i| urls(i, i + 1, 0)).concat();
    let expected: Vec<_> = expected.iter().map(|(key, _)| key.clone()).collect();
    for version in [2, 3, 4] {
        each_way(version, name, |_, seen| {
            let seen = seen.unwrap();
            let found: Vec<_> = entries(&seen).into_iter().map(|(key, _)| key).collect();
            assert_eq!(found, expected);
            assert_eq!(seen.len(), 6);
            assert!(!seen.contains("https://example.com/02").unwrap());
        });
    }
}

/// The kinds of filters of a store's runs, the oldest first, and that of runs to come.
fn kinds(seen: &Seen) -> (Vec<FilterKind>, FilterKind) {
    let stats = seen.stats();
    let runs = stats.by_run.iter().rev().map(|run| run.filter);
    (runs.collect(), stats.filter.kind)
}

/// Expects that keys that are not in a store are not found, whatever its filters say.
fn knows_no_other(seen: &Seen) {
    for i in 0..2_000 {
        // Between those that are in it.
        let absent = format!("https://example.com/{:02}-{i}", i % 20);
        assert!(!seen.contains(&absent).unwrap(), "{absent}");
    }
}

/// What was of a later version once: a manifest of this version names segments of any.
#[test]
fn a_manifest_of_a_later_version_that_came() {
    let parts = (0..4).flat_map(|part| urls(part * 5, part * 5 + 5, part.into()));
    let expected: Vec<_> = parts.collect();
    version_has(3, "manifest-of-a-later-version", &borrowed(&expected), None);
}

#[test]
fn coded_by_every_codec() {
    let entry = |i| (coded_url(i).into_bytes(), Some(at(START)));
    let mut expected: Vec<_> = (0..CODED).map(entry).collect();
    expected.sort();
    for name in ["coded", "coded-densely", "coded-plainly"] {
        version_has(4, name, &borrowed(&expected), None);
        each_way(4, name, |_, seen| {
            let seen = seen.unwrap();
            for (key, _) in &expected {
                assert!(!seen.contains([key, &b"x"[..]].concat()).unwrap());
            }
        });
    }
}

/// Expects these entries of the stores since version 3, and more of them.
fn since_3_has(name: &str, expected: &[(&[u8], Option<SystemTime>)], mut check: impl FnMut(Seen)) {
    for version in [3, 4] {
        version_has(version, name, expected, None);
        each_way(version, name, |_, seen| check(seen.unwrap()));
    }
}

#[test]
fn filters_of_one_kind() {
    let mut expected = urls(0, FILTERED, 0);
    expected.sort();
    for (name, kind) in [
        ("bloom-filters", FilterKind::Bloom),
        ("fuse-filters", FilterKind::Fuse),
        ("no-filters", FilterKind::None),
    ] {
        since_3_has(name, &borrowed(&expected), |seen| {
            assert_eq!(kinds(&seen), (vec![kind], kind), "{name}");
            knows_no_other(&seen);
            // The filters work: without any, each of these lookups reads a block.
            let wasted = seen.stats().lookup.wasted_reads;
            match kind {
                FilterKind::None => assert!(wasted > 1_000, "{wasted}"),
                _ => assert!(wasted < 100, "{name}: {wasted}"),
            }
        });
    }
}

#[test]
fn filters_of_every_kind() {
    let name = "filters-of-every-kind";
    let parts = (0..4).flat_map(|part| urls(part * 5, part * 5 + 5, part.into()));
    let expected: Vec<_> = parts.collect();
    since_3_has(name, &borrowed(&expected), |seen| {
        let of_runs = vec![
            FilterKind::Bloom,
            FilterKind::Blocked,
            FilterKind::Fuse,
            FilterKind::None,
        ];
        assert_eq!(kinds(&seen), (of_runs, FilterKind::None));
        knows_no_other(&seen);
    });
}

/// Stores of before have blocked filters, and go on with them.
#[test]
fn filters_of_older_versions() {
    for version in [1, 2] {
        each_way(version, "several-runs", |_, seen| {
            let blocked = FilterKind::Blocked;
            assert_eq!(kinds(&seen.unwrap()), (vec![blocked; 3], blocked));
        });
    }
}
