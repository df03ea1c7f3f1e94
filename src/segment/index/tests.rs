#![allow(clippy::indexing_slicing, reason = "a test")]

use super::*;

fn huge(stored: &[u8]) -> HugeBytes {
    let mut bytes = HugeBytes::zeroed(stored.len()).unwrap();
    let room = bytes.as_mut_slice().iter_mut();
    room.zip(stored).for_each(|(to, byte)| *to = *byte);
    bytes
}

/// An index of blocks with these separators, and where they are.
fn build(separators: &[Vec<u8>]) -> (Vec<u8>, Vec<Place>) {
    let (mut builder, mut at) = (Builder::default(), 52);
    let mut places = Vec::new();
    for (i, separator) in separators.iter().enumerate() {
        let len = 5 + i as u64 % 4000;
        places.push(Place { offset: at, len });
        builder.push(separator, Place { offset: at, len });
        at += len;
    }
    assert_eq!(builder.blocks(), separators.len() as u64);
    let guess = builder.size();
    let mut stored = Vec::new();
    assert!(builder.finish(&mut stored));
    assert!(guess.abs_diff(stored.len()) < 200 + stored.len() / 20);
    (stored, places)
}

fn open(stored: &[u8], places: &[Place]) -> Result<Index, Malformed> {
    let end = places.last().and_then(|last| last.end()).unwrap_or(52);
    let room = Place {
        offset: 52,
        len: end - 52,
    };
    Index::new(huge(stored), stored.len(), places.len() as u64, room)
}

fn separators(count: usize) -> Vec<Vec<u8>> {
    let separator = |i: usize| match i {
        0 => Vec::new(),
        i => format!("https://{:02}.example/{:05}", i / 700, i).into_bytes(),
    };
    (0..count).map(separator).collect()
}

#[test]
fn every_key_is_led_to_its_block() {
    for count in [1, 2, 63, 64, 65, 64 * 64, 64 * 64 + 1, 9000] {
        led(count);
    }
}

/// Of four levels, and with nodes of each that are full.
#[test]
fn an_index_of_many_blocks_is_read_as_it_was_written() {
    let all = 64 * 64 * 64;
    for count in [all, all + 1, all + 65, all + 64 * 64 + 1, 2 * all + 70] {
        let separators: Vec<Vec<u8>> = (0..count as u32)
            .map(|i| {
                if i == 0 {
                    Vec::new()
                } else {
                    i.to_be_bytes().to_vec()
                }
            })
            .collect();
        let (stored, places) = build(&separators);
        let index = open(&stored, &places).unwrap();
        for i in (0..count).step_by(997).chain([count - 1]) {
            let located = index.locate(&Probe::new(&separators[i])).unwrap().unwrap();
            assert_eq!((located.ordinal, located.place), (i, places[i]));
            assert_eq!(index.nth(i).unwrap(), Some(places[i]));
        }
    }
}

fn led(count: usize) {
    let separators = separators(count);
    let (stored, places) = build(&separators);
    let index = open(&stored, &places).unwrap();
    assert_eq!(index.blocks(), count);
    for (i, separator) in separators.iter().enumerate() {
        assert_eq!(index.nth(i).unwrap(), Some(places[i]));
        for key in [separator.clone(), [separator, &b"/x"[..]].concat()] {
            let located = index.locate(&Probe::new(&key)).unwrap().unwrap();
            assert_eq!((located.ordinal, located.place), (i, places[i]));
            assert_eq!(located.separator, separator.len());
            assert_eq!(located.matched, separator.len());
        }
        // Below the next separator, and not a beginning of it.
        let key = [separator, &b"\0"[..]].concat();
        assert_eq!(index.locate(&Probe::new(&key)).unwrap().unwrap().ordinal, i);
    }
    assert_eq!(index.nth(count).unwrap(), None);
    let last = index.locate(&Probe::new(b"~")).unwrap().unwrap();
    assert_eq!((last.ordinal, last.matched), (count - 1, 0));
    assert!(begins_index(&stored, 52..=52) && !begins_index(&stored, 53..=99));
    let end = places.last().unwrap().end().unwrap();
    assert!(is_index_of(&stored, &places, end));
    assert!(is_index_of(
        &[&stored[..], b"and more"].concat(),
        &places[..1],
        end
    ));
    assert!(!is_index_of(&stored, &places, end + 1));
}

#[test]
fn an_index_without_blocks_has_no_bytes() {
    let (stored, places) = build(&[]);
    assert!(stored.is_empty());
    let index = open(&stored, &places).unwrap();
    assert!(index.locate(&Probe::new(b"k")).unwrap().is_none());
    assert_eq!(index.nth(0).unwrap(), None);
}

#[test]
fn long_separators_make_a_node_wide() {
    let mut separators = vec![Vec::new()];
    separators.extend((0..200u8).map(|i| [vec![b'k'; 700], vec![i]].concat()));
    let (stored, places) = build(&separators);
    let index = open(&stored, &places).unwrap();
    for (i, separator) in separators.iter().enumerate() {
        let located = index.locate(&Probe::new(separator)).unwrap().unwrap();
        assert_eq!((located.ordinal, located.matched), (i, separator.len()));
    }
}

/// What was flipped is refused, or a search answers all the same: places are checked, and
/// separators as far as the order of keys tells.
#[test]
fn an_index_with_a_flipped_byte_is_refused_or_searched_without_a_panic() {
    let separators = separators(300);
    let (good, places) = build(&separators);
    let mut refused = 0;
    for at in 0..good.len() {
        for bit in [1, 0x10, 0x80] {
            let mut stored = good.clone();
            stored[at] ^= bit;
            match open(&stored, &places) {
                Err(_) => refused += 1,
                Ok(index) => {
                    for separator in &separators {
                        let _ = index.locate(&Probe::new(separator)).unwrap();
                    }
                }
            }
            let _ = is_index_of(&stored, &places, 1);
        }
    }
    assert!(refused > good.len(), "{refused} of {}", 3 * good.len());
    for len in 0..good.len() {
        assert!(open(&good[..len], &places).is_err(), "{len}");
    }
}

#[test]
fn blocks_that_do_not_follow_on_each_other_are_refused() {
    let separators = separators(3);
    let (stored, mut places) = build(&separators);
    places[2].len += 1;
    assert!(open(&stored, &places).is_err());
    places.truncate(2);
    assert!(open(&stored, &places).is_err());
}

#[test]
fn blocks_beyond_4_gib_have_their_places() {
    let (mut builder, mut at) = (Builder::default(), 52);
    let mut places = Vec::new();
    for i in 0..500u32 {
        let place = Place {
            offset: at,
            len: 60 << 20,
        };
        let separator = if i == 0 {
            vec![]
        } else {
            i.to_be_bytes().to_vec()
        };
        builder.push(&separator, place);
        places.push(place);
        at += place.len;
    }
    assert!(at > 20 << 30);
    let mut stored = Vec::new();
    assert!(builder.finish(&mut stored));
    let index = open(&stored, &places).unwrap();
    for (i, place) in places.iter().enumerate() {
        assert_eq!(index.nth(i).unwrap(), Some(*place));
    }
    // Another number of bytes that is the same in 32 bits.
    places.last_mut().unwrap().len += 1 << 32;
    assert!(open(&stored, &places).is_err());
    // 64 blocks of a node take less than 4 GiB.
    let mut builder = Builder::default();
    builder.push(
        &[],
        Place {
            offset: 52,
            len: 1 << 32,
        },
    );
    assert!(!builder.finish(&mut Vec::new()));
}

/// What 255 bytes that are shared would stand for in a search: that many, or more.
#[test]
fn a_narrow_node_whose_entries_share_more_than_it_can_tell_is_refused() {
    let separators = [vec![], vec![b'a'; 256], [&[b'a'; 255][..], b"b"].concat()];
    let (wide, places) = build(&separators);
    assert_eq!(wide[1], 1);
    assert!(open(&wide, &places).is_ok());
    let mut narrow = wide[..24 + 3 * 4].to_vec();
    narrow[1] = 0;
    narrow.extend([0, 0, 255, 0, b'a', b'b', 0, 255, 0]);
    narrow.extend([b'a'; 255]);
    narrow.extend([0; 4]);
    assert!(open(&narrow, &places).is_err());
}
