//! Each kind of bad input has its own error, and changes nothing.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

mod support;

use seendb::{Canon, Durability, Error, InvalidUrl, Seen};
use std::path::Path;
use std::time::Duration;
use support::{child, listing, manual, names, place};

#[test]
fn an_url_that_can_be_no_key() {
    let (_dir, path) = place();
    let seen = Seen::open(&path).unwrap();
    let long = format!("https://example.com/{}", "a".repeat(65_536 - 20));
    let reason = |url: &str| match seen.insert(url).unwrap_err() {
        Error::InvalidUrl {
            reason,
            index: None,
        } => reason,
        other => panic!("{url}: {other}"),
    };
    assert_eq!(reason(""), InvalidUrl::Empty);
    assert_eq!(reason(&long), InvalidUrl::TooLong { length: 65_536 });
    for relative in [
        "/a/path",
        "example.com",
        "//example.com/",
        "no URL",
        "http://",
        "   ",
    ] {
        assert!(matches!(reason(relative), InvalidUrl::Unparsable(text) if !text.is_empty()));
    }
    for url in ["", "no URL", &long] {
        assert!(matches!(seen.get(url), Err(Error::InvalidUrl { .. })));
        assert!(matches!(seen.contains(url), Err(Error::InvalidUrl { .. })));
        assert!(matches!(seen.key(url), Err(Error::InvalidUrl { .. })));
    }
    assert_eq!(seen.len(), 0);
}

#[test]
fn a_second_writer() {
    let (_dir, path) = place();
    let seen = Seen::open(&path).unwrap();
    for _ in 0..2 {
        for result in [
            Seen::open(&path),
            Seen::builder(&path).create(),
            manual(&path).open(),
        ] {
            assert!(matches!(result.unwrap_err(), Error::Locked { path: p } if p == path));
        }
    }
    // A clone keeps the store open; a scan does not.
    let clone = seen.clone();
    drop(seen);
    assert!(Seen::open(&path).is_err());
    let scan = clone.scan("").unwrap();
    drop(clone);
    let again = Seen::open(&path).unwrap();
    drop(scan);
    again.close().unwrap();
    Seen::open(&path).unwrap();
}

#[test]
fn child_that_holds_the_lock() {
    let Some(path) = child::argument() else {
        return;
    };
    let seen = Seen::open(path).unwrap();
    seen.insert("https://example.com/").unwrap();
    child::report("open");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_writer_in_another_process_and_one_that_was_killed() {
    let (_dir, path) = place();
    let (mut process, mut lines) =
        child::start("child_that_holds_the_lock", path.to_str().unwrap());
    assert_eq!(child::next_line(&mut lines).as_deref(), Some("open"));
    assert!(matches!(
        Seen::open(&path).unwrap_err(),
        Error::Locked { .. }
    ));
    assert!(
        Seen::open_read_only(&path)
            .unwrap()
            .contains("https://example.com/")
            .unwrap()
    );
    process.kill().unwrap();
    process.wait().unwrap();
    let seen = Seen::open(&path).unwrap();
    assert!(seen.contains("https://example.com/").unwrap());
}

fn refused(path: &Path, is_right: impl Fn(&Error) -> bool) {
    for result in [
        Seen::open(path),
        Seen::builder(path).create(),
        Seen::builder(path).canon(Canon::raw()).open(),
    ] {
        let error = result.unwrap_err();
        assert!(is_right(&error), "{error}");
    }
}

#[test]
fn a_path_that_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let not_a_store =
        |error: &Error| matches!(error, Error::NotAStore { found, .. } if !found.is_empty());

    let file = dir.path().join("file");
    std::fs::write(&file, "text").unwrap();
    refused(&file, not_a_store);
    assert!(not_a_store(&Seen::open_read_only(&file).unwrap_err()));
    assert!(not_a_store(
        &seendb::verify(&file, &mut |_| {}).unwrap_err()
    ));
    assert_eq!(std::fs::read(&file).unwrap(), b"text");

    for name in [
        "photo.jpg",
        "12.log",
        "000001.logx",
        "abcdef.seg",
        "subdirectory/",
    ] {
        let other = dir
            .path()
            .join(format!("directory with {}", name.replace('/', "")));
        std::fs::create_dir(&other).unwrap();
        match name.strip_suffix('/') {
            Some(name) => std::fs::create_dir(other.join(name)).unwrap(),
            None => std::fs::write(other.join(name), "x").unwrap(),
        }
        let before = listing(&other);
        refused(&other, not_a_store);
        assert!(not_a_store(&Seen::open_read_only(&other).unwrap_err()));
        assert_eq!(listing(&other), before);
    }

    // Below a file nothing can be.
    assert!(matches!(
        Seen::open(file.join("store")),
        Err(Error::Io { .. })
    ));
    // Nothing there: not for reading.
    let nothing = dir.path().join("nothing/below");
    for error in [
        Seen::open_read_only(&nothing).unwrap_err(),
        seendb::verify(&nothing, &mut |_| {}).unwrap_err(),
    ] {
        assert!(matches!(error, Error::NoSuchStore { path } if path == nothing));
    }
    assert!(!nothing.exists() && !dir.path().join("nothing").exists());
    // For writing it is made, with its parents.
    Seen::open(&nothing)
        .unwrap()
        .insert("https://example.com/")
        .unwrap();
    assert!(matches!(
        Seen::builder(&nothing).create(),
        Err(Error::AlreadyExists { .. })
    ));
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(matches!(
        Seen::open_read_only(&empty),
        Err(Error::NoSuchStore { .. })
    ));
    assert!(listing(&empty).is_empty());
    Seen::builder(&empty).create().unwrap();
}

#[test]
fn a_creation_that_was_cut_short_is_finished() {
    for left in [&["LOCK"][..], &["MANIFEST.tmp"], &["LOCK", "MANIFEST.tmp"]] {
        for bytes in [&b""[..], b"seenMAN\0 and no more"] {
            let (_dir, path) = place();
            std::fs::create_dir(&path).unwrap();
            for name in left {
                std::fs::write(path.join(name), bytes).unwrap();
            }
            assert!(matches!(
                Seen::open_read_only(&path),
                Err(Error::NoSuchStore { .. })
            ));
            let seen = Seen::builder(&path).create().unwrap();
            seen.insert("https://example.com/").unwrap();
            seen.close().unwrap();
            assert!(names(&path, ".tmp").is_empty());
            assert_eq!(Seen::open(&path).unwrap().len(), 1);
        }
    }
}

#[test]
fn a_store_that_lost_its_manifest_is_never_created_anew() {
    for flushed in [true, false] {
        let (_dir, path) = place();
        let seen = manual(&path).open().unwrap();
        seen.insert("a").unwrap();
        let (_copy_dir, copy) = place();
        if flushed {
            seen.flush().unwrap();
        }
        support::copy_dir(&path, &copy);
        std::fs::rename(copy.join("MANIFEST"), copy.join("MANIFEST.tmp")).unwrap();
        for _ in 0..2 {
            let before = listing(&copy);
            refused(
                &copy,
                |error| matches!(error, Error::Corrupt(corrupt) if corrupt.path == copy.join("MANIFEST")),
            );
            assert!(matches!(
                Seen::open_read_only(&copy),
                Err(Error::Corrupt(_))
            ));
            assert_eq!(listing(&copy), before);
            std::fs::remove_file(copy.join("MANIFEST.tmp")).ok();
        }
    }
}

#[test]
fn another_policy_or_option_than_the_stores() {
    let (_dir, path) = place();
    drop(
        Seen::builder(&path)
            .canon(Canon::raw())
            .stamps(false)
            .create()
            .unwrap(),
    );
    let before = listing(&path);
    let error = Seen::builder(&path)
        .canon(Canon::standard())
        .open()
        .unwrap_err();
    match &error {
        Error::PolicyMismatch { store, asked, .. } => {
            assert_eq!((store.as_str(), asked.as_str()), ("raw/1", "standard/1"));
        }
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains("raw/1") && error.to_string().contains("standard/1"));
    for result in [
        Seen::builder(&path).stamps(true).open(),
        Seen::builder(&path).stamps(true).open_read_only(),
    ] {
        assert!(matches!(
            result.unwrap_err(),
            Error::OptionMismatch {
                option: "stamps",
                ..
            }
        ));
    }
    assert!(matches!(
        Seen::builder(&path)
            .canon(Canon::standard())
            .open_read_only()
            .unwrap_err(),
        Error::PolicyMismatch { .. }
    ));
    assert_eq!(listing(&path), before);
    // Left out, they are the store's own.
    let seen = Seen::open(&path).unwrap();
    assert_eq!(*seen.canon(), Canon::raw());
    assert!(seen.insert("no URL").unwrap());
    assert_eq!(seen.get("no URL").unwrap().unwrap().first_seen, None);
}

#[test]
fn options_that_cannot_work() {
    let (_dir, path) = place();
    let builder = || Seen::builder(&path);
    for (name, builder) in [
        ("false_positive_rate", builder().false_positive_rate(0.0)),
        (
            "false_positive_rate",
            builder().false_positive_rate(f64::NAN),
        ),
        ("false_positive_rate", builder().false_positive_rate(0.6)),
        ("memtable_size", builder().memtable_size(0)),
        ("memtable_size", builder().memtable_size(usize::MAX)),
        ("segment_size", builder().segment_size(1)),
        (
            "durability",
            builder().durability(Durability::Interval(Duration::ZERO)),
        ),
    ] {
        for result in [
            builder.clone().open(),
            builder.clone().create(),
            builder.open_read_only(),
        ] {
            assert!(
                matches!(result.unwrap_err(), Error::InvalidOption { option, .. } if option == name)
            );
        }
    }
    assert!(!path.exists());
    // An interval without an end is none of them.
    drop(
        builder()
            .durability(Durability::Interval(Duration::MAX))
            .open()
            .unwrap(),
    );
}

/// Puts a checksum that fits behind the header that `bytes` are.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn a_newer_format_or_a_field_that_must_be_understood() {
    let (_dir, path) = place();
    drop(Seen::open(&path).unwrap());
    let manifest = path.join("MANIFEST");
    let whole = std::fs::read(&manifest).unwrap();
    let mut newer = whole.clone();
    newer[8] = 9;
    let mut field = whole.clone();
    let crc_at = field.len() - 4;
    // Tag 77 with the bit that says so, and no value.
    field.splice(crc_at..crc_at, [77, 0x80, 0, 0, 0, 0]);
    let len = u32::from_le_bytes(field[12..16].try_into().unwrap()) + 6;
    field[12..16].copy_from_slice(&len.to_le_bytes());
    let mut optional = field.clone();
    optional[crc_at + 1] = 0;
    for (bytes, names) in [(newer, "9"), (field, "77")] {
        std::fs::write(&manifest, sealed(bytes)).unwrap();
        let before = listing(&path);
        let errors = [
            Seen::open(&path).unwrap_err(),
            Seen::open_read_only(&path).unwrap_err(),
        ];
        for error in errors {
            match &error {
                Error::UnsupportedFormat {
                    path,
                    found,
                    supported,
                    ..
                } => {
                    assert_eq!(*path, manifest);
                    assert!(found.contains(names) && !supported.is_empty(), "{error}");
                }
                other => panic!("{other}"),
            }
        }
        assert_eq!(listing(&path), before);
    }
    std::fs::write(&manifest, sealed(optional)).unwrap();
    assert!(
        Seen::open(&path)
            .unwrap()
            .insert("https://example.com/")
            .unwrap()
    );
}

#[test]
fn files_of_others_are_left_alone_and_reported() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    seen.insert("a").unwrap();
    seen.close().unwrap();
    let foreign = [
        "12.seg",
        "notes.txt",
        "000001.seg.bak",
        "abcdef.log",
        "000007.tmp",
    ];
    for name in foreign {
        std::fs::write(path.join(name), "foreign").unwrap();
    }
    std::fs::create_dir(path.join("directory")).unwrap();
    // What the store made and no manifest names goes with the next opening for
    // writing, not before: a whole segment, a log that was never begun.
    let orphans = ["000900.seg", "000901.log", "MANIFEST.tmp"];
    std::fs::copy(path.join("000002.seg"), path.join(orphans[0])).unwrap();
    std::fs::write(path.join(orphans[1]), [0; 4096]).unwrap();
    std::fs::write(path.join(orphans[2]), "orphan").unwrap();
    let reader = Seen::open_read_only(&path).unwrap();
    let report = reader.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty());
    let mut expected: Vec<_> = foreign.iter().chain(&["directory"]).copied().collect();
    expected.sort_unstable();
    assert_eq!(report.unknown_files, expected);
    assert!(orphans.iter().all(|name| path.join(name).exists()));

    let seen = manual(&path).open().unwrap();
    assert!(orphans.iter().all(|name| !path.join(name).exists()));
    for i in 0..10 {
        seen.insert(format!("{i}")).unwrap();
        seen.flush().unwrap();
    }
    seen.compact().unwrap();
    for name in foreign {
        assert_eq!(std::fs::read(path.join(name)).unwrap(), b"foreign");
    }
    assert!(path.join("directory").is_dir());
}
