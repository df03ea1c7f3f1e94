#![allow(clippy::indexing_slicing, reason = "a test")]

use super::*;
use crate::record::Stored;
use crate::segment::checksum;

/// As version 1 wrote it: milliseconds, no payloads, two states.
#[test]
fn a_block_of_version_1_is_read() {
    let mut bytes = vec![0];
    crate::wire::put_varint(&mut bytes, 1_732_900_000_123);
    bytes.extend_from_slice(&[0, 1, 1, b'a', 0, 1, 0, b'b']);
    bytes.extend_from_slice(&[0, 1, 0xc1, 0x3e, b'c']); // 1000 ms later
    bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let crc = checksum(0, &bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    let block = Block::parse(&bytes, Form::Millis).unwrap();
    block.check().unwrap();
    let at = |seconds| Some(Stored::Seen(Some(seconds)));
    assert_eq!(block.find(b"a").unwrap(), at(1_732_900_000));
    assert_eq!(block.find(b"b").unwrap(), Some(Stored::Seen(None)));
    assert_eq!(block.find(b"c").unwrap(), at(1_732_900_001));
    assert_eq!(measure(&bytes, Form::Millis), Some(bytes.len()));
    assert_eq!(measure(&bytes, Form::Records), None);
}

/// One entry, seen at 10 seconds.
fn a_block_of_version_3() -> Vec<u8> {
    let mut bytes = vec![0, 10, 0, 0, 3, 1];
    bytes.extend_from_slice(b"key");
    bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let crc = checksum(0, &bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn what_this_build_does_not_know_is_refused_by_name() {
    use crate::segment::Fault;
    let mut bytes = a_block_of_version_3();
    let block = Block::parse(&bytes, Form::Records).unwrap();
    assert_eq!(block.find(b"key").unwrap(), Some(Stored::Seen(Some(10))));
    bytes[5] = 7;
    let block = Block::parse(&bytes, Form::Records).unwrap();
    assert!(matches!(
        block.find(b"key"),
        Err(Fault::Unsupported {
            what: "record state",
            found: 7,
            ..
        })
    ));
    bytes[0] = 7;
    assert!(matches!(
        Block::parse(&bytes, Form::Records),
        Err(Fault::Unsupported {
            what: "block codec",
            found: 7,
            ..
        })
    ));
}

#[test]
fn an_index_comes_over_into_the_present_form() {
    // Two entries: "" at 52, 10 bytes; "b" at 62, 300 bytes.
    let mut stored = vec![0, 0, 52, 10, 0, 1, 62];
    crate::wire::put_varint(&mut stored, 300);
    stored.push(b'b');
    stored.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let converted = convert(&stored).unwrap();
    assert!(begins_index(&stored, 52..=52) && !begins_index(&stored, 53..=60));
    let places = [(52, 10), (62, 300)].map(|(offset, len)| crate::segment::Place { offset, len });
    assert!(is_index_of(&stored, &places, 362));
    assert!(crate::segment::index::is_index_of(&converted, &places, 362));
    // The first separator is not empty.
    let mut other = stored.clone();
    other[1] = 1;
    other.insert(4, b'a');
    assert!(convert(&other).is_err());
    // A gap between two blocks.
    stored[6] = 63;
    assert!(convert(&stored).is_err());
}
