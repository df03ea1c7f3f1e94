#![allow(clippy::indexing_slicing, reason = "a test")]

use super::super::dictionary::Dictionary;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A list of keys, whose pieces are bytes, and a stream of the same as codes.
fn pack(keys: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>, bool) {
    let (mut builder, mut pieces) = (Builder::default(), Vec::new());
    let mut last: &[u8] = &[];
    for key in keys {
        let shared = common(last, key);
        let (first, rest) = key[shared..].split_first().unwrap();
        builder.push(shared, *first, rest.len());
        pieces.extend_from_slice(rest);
        last = key;
    }
    let wide = builder.is_wide();
    let mut columns = Vec::new();
    builder.finish(&mut columns);
    assert_eq!(columns.len(), Rows::size(keys.len(), wide));
    (columns, pieces, wide)
}

/// What a list says of a key, of which the first entry is not above it.
fn floor<S: Strings>(list: &List<'_, S>, keys: &[Vec<u8>], key: &[u8]) -> Floor {
    let probe = Probe::new(key);
    let matched = common(&keys[0], key);
    let behind_first = Spot {
        entry: 1,
        pieces: list.rows.pieces(0),
    };
    list.floor(&probe, behind_first, matched)
}

fn check<S: Strings>(list: &List<'_, S>, keys: &[Vec<u8>], probes: &[Vec<u8>]) {
    for key in probes {
        let above = keys.partition_point(|one| one <= key);
        let Some(entry) = above.checked_sub(1) else {
            continue;
        };
        let expected = Floor {
            entry,
            matched: common(&keys[entry], key),
            exact: keys[entry] == *key,
        };
        assert_eq!(floor(list, keys, key), expected, "{key:?}");
    }
    let (mut spot, mut key) = (Spot::default(), Vec::new());
    for expected in keys {
        spot = list.step(spot, &mut key).unwrap().unwrap();
        assert_eq!(&key, expected);
    }
    assert_eq!(list.step(spot, &mut key), Ok(None));
}

fn check_both(keys: &BTreeSet<Vec<u8>>, probes: &[Vec<u8>]) {
    let keys: Vec<Vec<u8>> = keys.iter().cloned().collect();
    let mut all = probes.to_vec();
    for key in &keys {
        all.extend([key.clone(), [key, &b"\0"[..]].concat()]);
        all.push(key[..key.len() - 1].to_vec());
        let mut other = key.clone();
        other[key.len() / 2] ^= 1;
        all.push(other);
    }
    let (columns, pieces, wide) = pack(&keys);
    let rows = Rows::new(&columns, keys.len(), wide).unwrap();
    let strings = Plain(&pieces);
    check(&List { rows, strings }, &keys, &all);

    let dictionary = Dictionary::plain();
    let codes: Vec<u16> = pieces.iter().map(|&byte| byte.into()).collect();
    let mut stream = Vec::new();
    put_codes(&mut stream, &codes, dictionary.bits());
    assert_eq!(stream.len(), stream_len(codes.len(), dictionary.bits()));
    stream.extend_from_slice(&[0xff; BEHIND]);
    let strings = Coded::new(&dictionary, &stream);
    check(&List { rows, strings }, &keys, &all);
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(255), any::<u8>()];
    let short = proptest::collection::vec(byte, 1..24);
    (short, prop_oneof![9 => Just(0usize), 1 => 0..600usize])
        .prop_map(|(key, more)| [vec![b'x'; more], key].concat())
}

proptest! {
    #[test]
    fn a_search_finds_what_a_sorted_list_says(
        keys in proptest::collection::btree_set(key(), 1..120),
        probes in proptest::collection::vec(key(), 0..60),
    ) {
        check_both(&keys, &probes);
    }

    #[test]
    fn codes_of_any_width_come_back(
        bits in 8u32..=16,
        codes in proptest::collection::vec(any::<u16>(), 0..50),
    ) {
        let codes: Vec<u16> = codes.iter().map(|code| code & ((1u32 << bits) - 1) as u16).collect();
        let mut stream = Vec::new();
        put_codes(&mut stream, &codes, bits);
        prop_assert_eq!(stream.len(), stream_len(codes.len(), bits));
        stream.extend_from_slice(&[0xa5; BEHIND]);
        for (place, &code) in codes.iter().enumerate() {
            prop_assert_eq!(strings::code_at(&stream, place, bits), usize::from(code));
        }
    }

    #[test]
    fn the_common_beginning_is_counted(
        shared in proptest::collection::vec(0u8..2, 0..20),
        a in proptest::collection::vec(0u8..2, 0..12),
        b in proptest::collection::vec(0u8..2, 0..12),
    ) {
        let (a, b) = ([&shared[..], &a].concat(), [&shared[..], &b].concat());
        let slow = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        prop_assert_eq!(common(&a, &b), slow);
    }
}

#[test]
fn keys_that_share_much_make_a_list_wide() {
    for more in [254, 255, 256, 300, 65_000] {
        let keys = ["", "b", "ba", "c"].map(|end| [vec![b'k'; more], end.into()].concat());
        check_both(&keys.into_iter().collect(), &[]);
    }
}
