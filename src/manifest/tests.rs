use super::*;
use crate::filter::FilterKind;
use crate::header::VERSION;
use crate::vfs::Os;

fn sample() -> Manifest {
    Manifest {
        store: StoreId {
            id: *b"0123456789abcdef",
            incarnation: 3,
        },
        policy: "raw/1".into(),
        stamps: true,
        seed: 0x1122_3344_5566_7788,
        next_number: 9,
        sequence: 1000,
        position: Some(42),
        runs: vec![
            vec![SegmentRef {
                number: 8,
                size: 4096,
                content: 7,
            }],
            vec![
                SegmentRef {
                    number: 5,
                    size: 1,
                    content: 1,
                },
                SegmentRef {
                    number: 6,
                    // More than 4 GiB.
                    size: (7 << 32) + 2,
                    content: u128::MAX,
                },
            ],
        ],
        logs: vec![
            LogRef {
                number: 4,
                first_sequence: 990,
                length: Some((1 << 32) + 800),
            },
            LogRef {
                number: 7,
                first_sequence: 1000,
                length: None,
            },
        ],
        counts: Some(Counts([7, 0, 1 << 40, 2])),
        epoch: 6,
        expiry: Expiry {
            seen: None,
            fetched: Some(30 * 86_400),
            failed: Some(1),
        },
        filters: FilterChoice {
            kind: FilterKind::Fuse,
            rate: 0.001,
            memory: Some(3 << 30),
            memtable: 16 << 20,
        },
        codec: Codec::Dense,
    }
}

#[test]
fn a_saved_manifest_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Manifest::load(&Os, dir.path()).unwrap(), None);
    let manifest = sample();
    manifest.save(&Os, dir.path()).unwrap();
    assert_eq!(Manifest::load(&Os, dir.path()).unwrap(), Some(manifest));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test damages the file")]
fn a_flipped_bit_or_a_cut_anywhere_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let bytes = sample().encode();
    for i in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[i] ^= 1 << bit;
            std::fs::write(&path, &damaged).unwrap();
            let error = Manifest::load(&Os, dir.path()).unwrap_err();
            assert!(matches!(error, Error::Corrupt(_)), "byte {i}: {error}");
        }
        std::fs::write(&path, &bytes[..i]).unwrap();
        assert!(Manifest::load(&Os, dir.path()).is_err(), "cut at {i}");
    }
    std::fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    assert!(Manifest::load(&Os, dir.path()).is_err());
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test writes the file")]
fn a_newer_version_or_an_unknown_field_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    let mut newer = sample().encode();
    newer[8] = VERSION as u8 + 1;
    let end = newer.len() - 4;
    let crc = crc32fast::hash(&newer[..end]);
    newer[end..].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, &newer).unwrap();
    let error = Manifest::load(&Os, dir.path()).unwrap_err();
    assert!(
        matches!(&error, Error::UnsupportedFormat { found, supported, .. }
            if *found == (VERSION + 1).to_string() && *supported == format!("1 to {VERSION}")),
        "{error}"
    );

    for (field, refused) in [(99, false), (99 | crate::wire::MUST_UNDERSTAND, true)] {
        let manifest = sample();
        let bytes = manifest.encode();
        let mut fields = bytes[48..bytes.len() - 4].to_vec();
        put_field(&mut fields, field, b"new");
        let bytes = header::encode(FileKind::Manifest, manifest.store, 0, &fields);
        std::fs::write(&path, bytes).unwrap();
        let loaded = Manifest::load(&Os, dir.path());
        match loaded {
            Ok(loaded) => assert!(!refused && loaded == Some(manifest)),
            Err(error) => {
                assert!(refused && error.to_string().contains("field 99"), "{error}");
            }
        }
    }
}

#[test]
fn a_log_whose_first_frame_has_no_possible_number_is_refused() {
    let path = Path::new(FILE_NAME);
    sample().check(path).unwrap();
    for (first, is_possible) in [
        (0, false),
        (1, true),
        (MAX_NUMBER, true),
        (MAX_NUMBER + 1, false),
    ] {
        let mut manifest = sample();
        manifest.logs[0].first_sequence = first;
        let bytes = manifest.encode();
        let header = Header {
            version: header::VERSION,
            store: manifest.store,
            number: 0,
            fields: bytes[48..bytes.len() - 4].to_vec(),
            len: bytes.len() as u64,
        };
        let decoded = Manifest::decode(path, &header);
        assert_eq!(decoded.is_ok(), is_possible, "{first}");
        assert_eq!(manifest.check(path).is_ok(), is_possible, "{first}");
    }
}

/// A manifest with one field changed or left out, as a file of `version`.
fn decoded(version: u32, change: impl Fn(u16, &[u8]) -> Option<Vec<u8>>) -> Result<Manifest> {
    let manifest = sample();
    let bytes = manifest.encode();
    let mut reader = Reader::new(&bytes[48..bytes.len() - 4]);
    let mut fields = Vec::new();
    while !reader.is_empty() {
        let (tag, value) = reader.field().unwrap();
        if let Some(value) = change(tag, value) {
            put_field(&mut fields, tag, &value);
        }
    }
    let header = Header {
        version,
        store: manifest.store,
        number: 0,
        len: fields.len() as u64 + 52,
        fields,
    };
    Manifest::decode(Path::new(FILE_NAME), &header)
}

#[test]
fn the_choice_of_filters_is_there_since_version_3() {
    let without = |tag: u16, value: &[u8]| (tag != tag::FILTERS).then(|| value.to_vec());
    for version in [1, 2] {
        let filters = decoded(version, without).unwrap().filters;
        assert_eq!(filters, FilterChoice::default(), "{version}");
    }
    let error = decoded(3, without).unwrap_err().to_string();
    assert!(
        error.contains("the field 12 of a manifest of version 3"),
        "{error}"
    );
}

#[test]
fn a_choice_that_cannot_be_is_refused_and_a_kind_to_come_is_none() {
    let with = |at: usize, bytes: &'static [u8]| {
        decoded(3, move |tag, value| {
            let mut value = value.to_vec();
            if tag == tag::FILTERS {
                value.splice(at..at + bytes.len(), bytes.iter().copied());
            }
            Some(value)
        })
    };
    assert_eq!(with(0, &[2]).unwrap().filters.kind, FilterKind::Bloom);
    // It is about segments to come, and this build writes none of that kind.
    let later = with(0, &[5]).unwrap().filters;
    assert_eq!(later.kind, FilterKind::default());
    assert_eq!(later.rate, 0.001);
    for rate in [0.0, 0.51, f64::NAN, f64::INFINITY, -0.01] {
        let bytes: &'static [u8] = f64::to_le_bytes(rate).to_vec().leak();
        let error = with(2, bytes).unwrap_err().to_string();
        assert!(error.contains("a rate from 0.000001 to 0.5"), "{error}");
    }
    let cut = decoded(3, |tag, value| {
        let len = value.len() - usize::from(tag == tag::FILTERS);
        Some(value[..len].to_vec())
    });
    assert!(matches!(cut, Err(Error::Corrupt(_))), "{cut:?}");
}
