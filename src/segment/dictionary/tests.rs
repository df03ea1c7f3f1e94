//! What holds for dictionaries.
#![allow(clippy::indexing_slicing)]

use super::*;

/// A sequence that is the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// `len` bytes, each less than `bound`.
    fn bytes(&mut self, len: usize, bound: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(bound) as u8).collect()
    }
}

/// URLs that look like those of a site.
fn urls(seed: u64, count: usize) -> Vec<Vec<u8>> {
    const WORDS: [&str; 12] = [
        "archive",
        "news",
        "press-release",
        "research",
        "about",
        "topics",
        "climate",
        "image",
        "view",
        "person",
        "report",
        "annual",
    ];
    let mut numbers = Numbers(seed);
    (0..count)
        .map(|_| {
            let mut url = String::from("https://www.example.com");
            for _ in 0..1 + numbers.below(4) {
                url.push('/');
                url.push_str(WORDS[numbers.below(WORDS.len())]);
            }
            url.push_str(&format!("-{}.html", numbers.below(10_000)));
            url.into_bytes()
        })
        .collect()
}

fn sample<S: AsRef<[u8]>>(strings: &[S]) -> Sample {
    let mut sample = Sample::default();
    for string in strings {
        sample.push(string.as_ref());
    }
    sample
}

fn coded(encoder: &Encoder, bytes: &[u8]) -> Vec<u16> {
    let mut codes = Vec::new();
    encoder.encode(bytes, &mut codes);
    codes
}

fn decoded(dictionary: &Dictionary, codes: &[u16]) -> Vec<u8> {
    let mut out = Vec::new();
    for &code in codes {
        let (bytes, len) = bytes(dictionary.word(usize::from(code)));
        assert!(len > 0, "code {code} has a string");
        out.extend_from_slice(&bytes[..len]);
    }
    out
}

fn stored(dictionary: &Dictionary) -> Vec<u8> {
    let mut stored = Vec::new();
    dictionary.encode(&mut stored);
    stored
}

/// A stored dictionary of 12 bits with these strings, none shortened by the one before.
fn stored_of(strings: &[&[u8]]) -> Vec<u8> {
    let mut stored = vec![12];
    stored.extend_from_slice(&(strings.len() as u32).to_le_bytes());
    for string in strings {
        stored.push(string.len() as u8);
        stored.extend_from_slice(string);
    }
    stored
}

/// Dictionaries of all sorts, and what they were made from.
fn dictionaries() -> Vec<(Dictionary, Vec<Vec<u8>>)> {
    let mut numbers = Numbers(1);
    let samples = [
        Vec::new(),
        vec![Vec::new(); 3],
        vec![b"/".to_vec()],
        vec![vec![0; 5000]],
        urls(1, 3000),
        (0..300).map(|i| numbers.bytes(i % 60, 256)).collect(),
        (0..300).map(|i| numbers.bytes(i % 60, 3)).collect(),
    ];
    let mut made = vec![(Dictionary::plain(), Vec::new())];
    for strings in samples {
        for bits in [8, 9, 12, 16] {
            let dictionary = train(&sample(&strings), bits);
            assert!(dictionary.bits() <= bits);
            made.push((dictionary, strings.clone()));
        }
    }
    made
}

#[test]
fn what_was_coded_is_decoded_to_the_same_bytes() {
    let mut numbers = Numbers(2);
    for (dictionary, strings) in dictionaries() {
        let encoder = Encoder::new(&dictionary);
        let check = |bytes: &[u8]| {
            let codes = coded(&encoder, bytes);
            assert!(
                codes
                    .iter()
                    .all(|&code| u32::from(code) >> dictionary.bits() == 0)
            );
            assert!(codes.len() <= bytes.len());
            assert_eq!(decoded(&dictionary, &codes), bytes, "{dictionary:?}");
        };
        for string in strings.iter().chain(&urls(3, 200)) {
            check(string);
        }
        for len in (0..40).chain(120..140).chain([255, 256, 257, 1000, 65_535]) {
            check(&numbers.bytes(len, 256));
            check(&numbers.bytes(len, 2));
            check(&vec![0; len]);
        }
    }
}

#[test]
fn codes_are_appended() {
    let encoder = Encoder::new(&Dictionary::plain());
    let mut codes = vec![7];
    encoder.encode(b"ab", &mut codes);
    encoder.encode(b"", &mut codes);
    assert_eq!(codes, [7, 97, 98]);
}

#[test]
fn the_best_of_two_ways_is_taken() {
    let stored = stored_of(&[b"abc", b"bcdef"]);
    let dictionary = Dictionary::decode(&stored).unwrap();
    let encoder = Encoder::new(&dictionary);
    // Not "abc", "d", "e", "f".
    assert_eq!(coded(&encoder, b"abcdef"), [97, 257]);
    assert_eq!(coded(&encoder, b"abc"), [256]);
}

#[test]
fn a_plain_dictionary_has_the_single_bytes() {
    let plain = Dictionary::plain();
    assert_eq!((plain.bits(), plain.len()), (8, 256));
    for byte in 0..=u8::MAX {
        assert_eq!(plain.word(usize::from(byte)), 1 << 120 | u128::from(byte));
    }
    assert_eq!(plain.word(256), 0);
    assert_eq!(plain.word(usize::MAX), 0);
    assert_eq!(stored(&plain), [8, 0, 0, 0, 0]);
    assert!(plain.memory() >= 4096);
}

#[test]
fn a_code_without_a_string_gives_zero() {
    let dictionary = Dictionary::decode(&stored_of(&[b"ab"])).unwrap();
    assert_eq!(dictionary.word(256), 2 << 120 | 0x6261);
    assert!((257..5000).all(|code| dictionary.word(code) == 0));
}

#[test]
fn the_same_sample_gives_the_same_dictionary() {
    let urls = urls(4, 5000);
    let first = train(&sample(&urls), 12);
    let second = train(&sample(&urls), 12);
    assert_eq!(first, second);
    assert_eq!(stored(&first), stored(&second));
    assert_ne!(first, train(&sample(&urls), 10));
    assert_ne!(first, train(&sample(&urls[1..]), 12));
}

#[test]
fn urls_take_a_quarter_of_their_bytes() {
    let dictionary = train(&sample(&urls(5, 3000)), 12);
    let encoder = Encoder::new(&dictionary);
    let others = urls(6, 3000);
    let bytes: usize = others.iter().map(Vec::len).sum();
    let codes: usize = others.iter().map(|url| coded(&encoder, url).len()).sum();
    let coded = codes * dictionary.bits() as usize / 8;
    assert!(coded * 4 < bytes, "{bytes} bytes to {coded}");
}

#[test]
fn codes_are_no_wider_than_they_must_be() {
    assert_eq!(train(&Sample::default(), 16), Dictionary::plain());
    assert_eq!(train(&sample(&urls(7, 1000)), 8), Dictionary::plain());
    let few = train(&sample(&[b"abababababab"]), 16);
    assert_eq!(few.bits(), 9);
    assert!(few.len() > 256);
}

#[test]
fn bytes_without_a_pattern_are_not_coded() {
    let mut numbers = Numbers(11);
    let strings: Vec<_> = (0..2000).map(|_| numbers.bytes(30, 256)).collect();
    assert_eq!(train(&sample(&strings), 12), Dictionary::plain());
}

#[test]
fn a_stored_dictionary_is_read_back() {
    for (dictionary, _) in dictionaries() {
        let stored = stored(&dictionary);
        let reread = Dictionary::decode(&stored).unwrap();
        assert_eq!(reread, dictionary);
        assert_eq!(reread.len(), dictionary.len());
    }
}

#[test]
fn a_cut_dictionary_or_one_with_more_behind_is_refused() {
    for (dictionary, _) in dictionaries() {
        let mut stored = stored(&dictionary);
        let step = 1 + stored.len() / 500;
        for cut in (0..stored.len()).step_by(step) {
            assert!(Dictionary::decode(&stored[..cut]).is_err());
        }
        stored.push(0);
        assert!(Dictionary::decode(&stored).is_err());
    }
}

#[test]
fn strings_that_are_equal_or_not_in_order_are_refused() {
    let of = |strings: &[&[u8]]| Dictionary::decode(&stored_of(strings));
    assert!(of(&[b"ab", b"cd", b"cda"]).is_err(), "not shortened");
    assert!(of(&[b"ab", b"ab"]).is_err());
    assert!(of(&[b"cd", b"ab"]).is_err());
    assert!(of(&[b"ab", b"cd"]).is_ok());
    let first = [12, 2, 0, 0, 0, 2, b'a', b'b'];
    let with = |more: &[u8]| Dictionary::decode(&[&first[..], more].concat());
    assert!(with(&[2 << 4 | 2]).is_err(), "the same");
    assert!(with(&[2 << 4 | 3, b'c']).is_ok());
    assert!(
        with(&[1 << 4 | 3, b'b', b'c']).is_err(),
        "more in common than it says"
    );
    assert!(with(&[1 << 4 | 2, b'a']).is_err(), "descends");
    assert!(
        with(&[3 << 4 | 4, b'c']).is_err(),
        "more in common than there is"
    );
    // A zero byte is one like others.
    assert!(with(&[2 << 4 | 3, 0]).is_ok());
    assert!(with(&[3 << 4 | 4, 0]).is_err());
}

#[test]
fn widths_counts_and_lengths_out_of_range_are_refused() {
    for bits in [0, 7, 17, 255] {
        assert!(Dictionary::decode(&[bits, 0, 0, 0, 0]).is_err(), "{bits}");
    }
    for bits in 8..=16 {
        assert!(Dictionary::decode(&[bits, 0, 0, 0, 0]).is_ok(), "{bits}");
    }
    assert!(Dictionary::decode(&[8, 1, 0, 0, 0, 2, b'a', b'b']).is_err());
    assert!(Dictionary::decode(&[12, 255, 255, 255, 255, 2, b'a', b'b']).is_err());
    for len in [0, 1] {
        assert!(Dictionary::decode(&[12, 1, 0, 0, 0, len, b'a']).is_err());
    }
}

#[test]
fn a_damaged_dictionary_is_refused_or_still_decodes() {
    let mut numbers = Numbers(8);
    let good = stored(&train(&sample(&urls(9, 500)), 10));
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << numbers.below(8);
        if let Ok(dictionary) = Dictionary::decode(&bad) {
            assert_eq!(stored(&dictionary), bad, "there is one form only");
            let encoder = Encoder::new(&dictionary);
            let url = b"https://www.example.com/archive/report-17.html";
            assert_eq!(decoded(&dictionary, &coded(&encoder, url)), url);
        }
    }
}

#[test]
fn bytes_of_any_kind_are_no_dictionary_or_one_that_works() {
    let mut numbers = Numbers(10);
    let mut read = 0;
    for _ in 0..20_000 {
        let count = numbers.below(6);
        let mut bytes = vec![8 + numbers.below(10) as u8, count as u8, 0, 0, 0];
        for _ in 0..count {
            let shared = numbers.below(3);
            let len = 2 + numbers.below(3);
            bytes.push((shared << 4 | len) as u8);
            bytes.extend(numbers.bytes(len.saturating_sub(shared), 4));
        }
        if let Ok(dictionary) = Dictionary::decode(&bytes) {
            read += 1;
            assert_eq!(stored(&dictionary), bytes);
            let encoder = Encoder::new(&dictionary);
            let text = numbers.bytes(50, 4);
            assert_eq!(decoded(&dictionary, &coded(&encoder, &text)), text);
        }
    }
    assert!(read > 1000, "{read} were dictionaries");
}
