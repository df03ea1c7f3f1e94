//! Every byte of every filter, of each kind, is changed in turn, and every byte of the
//! footer's field with its parameters: opening and `verify` tell a checksum that does not
//! fit, with file and offset. No answer is ever "not seen" for a key that was recorded: a
//! filter alone would give it at once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/damage/mod.rs"]
mod damage;
mod support;

use damage::Trials;
use damage::specimen::{DIR, End, Files, Kind, Specimen, disk};
use seendb::{Error, FilterKind, Reads};
use std::path::Path;
use support::{env_on, manual};

/// Kind number 1 and following.
const KINDS: [FilterKind; 4] = [
    FilterKind::Blocked,
    FilterKind::Bloom,
    FilterKind::Fuse,
    FilterKind::None,
];

/// Where things are in a segment, read as docs/format.md says.
#[derive(Debug)]
struct Parts {
    footer: usize,
    filter: std::ops::Range<usize>,
    /// The field 13: its tag, length and value.
    field: std::ops::Range<usize>,
    /// The number of the filter's kind.
    kind: usize,
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    let bytes = bytes[at..at + width].iter().rev();
    bytes.fold(0, |number, &byte| number << 8 | usize::from(byte))
}

fn parts(segment: &[u8]) -> Parts {
    let tail = segment.len() - 24;
    let footer = number(segment, tail, 8);
    let field = |tag: usize| {
        let mut at = footer;
        while number(segment, at, 2) != 0x8000 | tag {
            at += 6 + number(segment, at + 2, 4);
        }
        at..at + 6 + number(segment, at + 2, 4)
    };
    let at = field(12).start + 6;
    let filter = number(segment, at, 8);
    let field = field(13);
    let kind = number(segment, field.start + 6, 2);
    Parts {
        footer,
        filter: filter..filter + number(segment, at + 8, 8),
        kind,
        field,
    }
}

/// The segments of a store that are not empty.
fn segments(specimen: &Specimen) -> impl Iterator<Item = (&String, Parts)> {
    let segments = specimen.files.iter().filter(|(n, _)| n.ends_with(".seg"));
    segments.map(|(name, bytes)| (name, parts(bytes)))
}

/// Expects that a store with these files is refused because of a checksum of the part that
/// begins at `offset` of a file: by readers, a writer and `verify`.
fn expect_checksum(files: &Files, name: &str, part: &str, offset: usize) {
    let sim = disk(files);
    let builder = |reads| manual(DIR.as_ref()).env(env_on(&sim)).reads(reads);
    let mut errors = Vec::new();
    for reads in [Reads::Map, Reads::Pread] {
        errors.push(builder(reads).open_read_only().unwrap_err());
        errors.push(builder(reads).open().unwrap_err());
        match builder(reads).verify(&mut |_| {}) {
            Ok(report) => errors.extend(report.damage),
            Err(error) => errors.push(error),
        }
    }
    // From `verify` at least one each time.
    assert!(errors.len() >= 6, "{errors:?}");
    for error in errors {
        let Error::Corrupt(corrupt) = &error else {
            panic!("not damage: {error}");
        };
        assert_eq!(corrupt.path, Path::new(DIR).join(name), "{error}");
        assert_eq!(corrupt.offset, offset as u64, "{error}");
        let expected = format!("{part} with the checksum ");
        assert!(corrupt.expected.starts_with(&expected), "{error}");
        assert!(corrupt.found.contains("with the checksum "), "{error}");
    }
}

/// Closed stores and killed ones, with filters of one kind each.
fn specimens() -> impl Iterator<Item = (FilterKind, Specimen)> {
    let of = |filter| {
        [End::Closed, End::Killed].map(|end| {
            let kind = Kind {
                end,
                filter,
                ..Kind::CLOSED
            };
            (filter, Specimen::new(kind))
        })
    };
    KINDS.into_iter().flat_map(of)
}

#[test]
fn whatever_byte_of_it_is_changed() {
    let mut trials = Trials::default();
    for (filter, specimen) in specimens() {
        let mut tried = 0;
        for (name, parts) in segments(&specimen) {
            assert_eq!(KINDS[parts.kind - 1], filter, "{name}");
            assert_eq!(parts.filter.is_empty(), filter == FilterKind::None);
            for at in parts.filter.clone() {
                for pattern in [1 << (at % 8), 0xff] {
                    let mut files = specimen.files.clone();
                    files.get_mut(name).unwrap()[at] ^= pattern;
                    expect_checksum(&files, name, "a filter", parts.filter.start);
                    let what = format!("byte {at} ^ {pattern:02x} of {name}, {filter}");
                    trials.try_files(&specimen, "of filters", &files, &what);
                    tried += 1;
                }
            }
        }
        assert!(
            tried > 100 || filter == FilterKind::None,
            "{filter} {tried}"
        );
    }
}

#[test]
fn whatever_byte_of_its_parameters_is_changed() {
    let mut trials = Trials::default();
    for (filter, specimen) in specimens() {
        for (name, parts) in segments(&specimen) {
            let parameters = [3, 3, 13, 2][parts.kind - 1];
            assert_eq!(parts.field.len(), 6 + parameters, "{filter}");
            for at in parts.field.clone() {
                for bit in 0..8 {
                    let mut files = specimen.files.clone();
                    files.get_mut(name).unwrap()[at] ^= 1 << bit;
                    expect_checksum(&files, name, "a footer", parts.footer);
                    let what = format!("bit {bit} of byte {at} of {name}, {filter}");
                    trials.try_files(&specimen, "of parameters", &files, &what);
                }
            }
        }
    }
}

/// A filter of another segment, with its own kind and size, is not taken for this one's.
#[test]
fn nor_is_one_that_is_gone_or_another_segments() {
    let mut trials = Trials::default();
    for (filter, specimen) in specimens() {
        let all: Vec<_> = segments(&specimen).collect();
        for (name, parts) in &all {
            let mut files = specimen.files.clone();
            files.get_mut(*name).unwrap()[parts.filter.clone()].fill(0);
            if !parts.filter.is_empty() {
                expect_checksum(&files, name, "a filter", parts.filter.start);
                let what = format!("zeros for the filter of {name}, {filter}");
                trials.try_files(&specimen, "zeros", &files, &what);
            }
            for (other, others) in &all {
                let same = parts.filter.len().min(others.filter.len());
                let from = &specimen.files[*other][others.filter.start..][..same];
                let mut files = specimen.files.clone();
                let bytes = files.get_mut(*name).unwrap();
                bytes[parts.filter.start..][..same].copy_from_slice(from);
                if files == specimen.files {
                    continue;
                }
                expect_checksum(&files, name, "a filter", parts.filter.start);
                let what = format!("the filter of {other} in {name}, {filter}");
                trials.try_files(&specimen, "exchanged", &files, &what);
            }
        }
    }
}
