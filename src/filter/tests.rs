//! What holds for filters of every kind.

use super::*;

const KINDS: [FilterKind; 4] = [
    FilterKind::None,
    FilterKind::Bloom,
    FilterKind::Blocked,
    FilterKind::Fuse,
];

fn hashes(seed: u64, from: u64, count: u64) -> Vec<u64> {
    (from..from + count)
        .map(|i| hash(seed, format!("https://example.com/page/{i}").as_bytes()))
        .collect()
}

fn build(kind: FilterKind, size: Size, hashes: &[u64]) -> Filter {
    let mut builder = Builder::new(kind, size);
    for &hash in hashes {
        builder.add(hash);
    }
    let bytes = builder.size();
    let filter = builder.finish().unwrap();
    // What a segment is cut by is what is written.
    assert_eq!(
        filter.bytes().len() as u64,
        bytes,
        "{kind}, {} keys",
        hashes.len()
    );
    filter
}

/// The filter as a segment gives it back.
fn reread(filter: &Filter, keys: u64) -> Filter {
    let bytes = filter.bytes();
    let mut held = HugeBytes::zeroed(bytes.len()).unwrap();
    held.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
    let encoded = filter.parameters().encode();
    let mut reader = Reader::new(&encoded);
    let kind = FilterKind::from_number(reader.u16("a kind").unwrap()).unwrap();
    let parameters = Parameters::decode(kind, &mut reader).unwrap();
    assert!(reader.is_empty());
    Filter::decode(parameters, keys, held, bytes.len()).unwrap()
}

fn count_maybe(filter: &Filter, hashes: &[u64]) -> usize {
    hashes.iter().filter(|&&h| filter.may_contain(h)).count()
}

#[test]
fn every_key_that_was_added_is_found() {
    let sizes = (0..70).chain([100, 513, 1000, 4096, 100_003]);
    for (count, kind) in sizes.flat_map(|count| KINDS.map(|kind| (count, kind))) {
        for (seed, rate) in [
            (0, 0.5),
            (1, 0.01),
            (u64::MAX, 0.001),
            (99, 1e-6),
            (7, 1e-9),
        ] {
            let added = hashes(seed, seed >> 1, count);
            let filter = build(kind, Size::for_rate(kind, rate), &added);
            assert_eq!(
                count_maybe(&filter, &added),
                added.len(),
                "{kind} {count} {rate}"
            );
            let filter = reread(&filter, count);
            for &hash in &added {
                filter.prefetch(hash);
                assert!(filter.may_contain(hash), "{kind} {count} {rate}");
            }
        }
    }
}

#[test]
fn every_one_of_millions_is_found() {
    let added = hashes(12, 0, 2_000_000);
    for kind in FilterKind::FILTERS {
        let filter = build(kind, Size::for_rate(kind, 0.01), &added);
        assert_eq!(count_maybe(&filter, &added), added.len(), "{kind}");
    }
}

#[test]
fn every_number_of_bits_serves() {
    let added = hashes(3, 0, 3000);
    let absent = hashes(3, 1 << 32, 20_000);
    for kind in FilterKind::FILTERS {
        for bits in 1..=50 {
            let size = Size::for_bits(kind, f64::from(bits) + 0.5);
            let filter = build(kind, size, &added);
            assert_eq!(count_maybe(&filter, &added), added.len(), "{kind} {bits}");
            let measured = count_maybe(&filter, &absent) as f64 / absent.len() as f64;
            let rate = filter.rate();
            let noise = 5.0 * (rate / absent.len() as f64).sqrt() + 0.0005;
            assert!(
                (measured - rate).abs() <= rate * 0.1 + noise,
                "{kind} {bits}: {measured} {rate}"
            );
        }
    }
}

#[test]
fn a_filter_of_no_keys_says_no() {
    for kind in FilterKind::FILTERS {
        let filter = build(kind, Size::for_rate(kind, 0.01), &[]);
        assert_eq!(filter.bytes().len(), 0);
        for filter in [reread(&filter, 0), filter] {
            for hash in hashes(5, 0, 1000) {
                filter.prefetch(hash);
                assert!(!filter.may_contain(hash));
            }
        }
    }
}

#[test]
fn equal_hashes_count_as_one() {
    let mut added = hashes(8, 0, 500);
    added.extend_from_within(..);
    added.extend([0, 0, u64::MAX, u64::MAX, u64::MAX]);
    for kind in FilterKind::FILTERS {
        let filter = build(kind, Size::for_rate(kind, 0.001), &added);
        let filter = reread(&filter, added.len() as u64);
        assert_eq!(count_maybe(&filter, &added), added.len(), "{kind}");
    }
}

/// Hashes that a good hash does not give, as those of somebody who knows the seed.
#[test]
fn hashes_that_are_alike_are_found_too() {
    let alike: [fn(u64) -> u64; 4] = [|i| i, |i| i << 32, |i| i << 54, |i| i.reverse_bits()];
    for (kind, of) in KINDS
        .into_iter()
        .flat_map(|kind| alike.map(|of| (kind, of)))
    {
        let mut added: Vec<u64> = (0..1000).map(of).collect();
        let filter = build(kind, Size::for_rate(kind, 0.01), &added);
        added.reverse();
        assert_eq!(count_maybe(&filter, &added), 1000, "{kind}");
    }
}

/// At most 1.1 times what was asked for, and what was computed, at every rate that matters.
#[test]
fn the_rate_is_the_one_asked_for() {
    let added = hashes(7, 0, 200_000);
    let absent = hashes(7, 1 << 40, 2_000_000);
    for kind in FilterKind::FILTERS {
        for asked in [0.2, 0.05, 0.02, 0.01, 0.004, 0.001, 0.0003, 0.0001] {
            let filter = build(kind, Size::for_rate(kind, asked), &added);
            let measured = count_maybe(&filter, &absent) as f64 / absent.len() as f64;
            // Four standard deviations of the count.
            let noise = 4.0 * (asked / absent.len() as f64).sqrt();
            assert!(
                measured <= asked * 1.1 + noise,
                "{kind} {asked}: {measured}"
            );
            let rate = filter.rate();
            assert!(
                (measured - rate).abs() <= rate * 0.05 + noise,
                "{kind} {rate}: {measured}"
            );
        }
    }
}

#[test]
fn the_sizes_are_those_that_theory_names() {
    let added = hashes(7, 0, 200_000);
    let bits = |kind, rate| {
        let filter = build(kind, Size::for_rate(kind, rate), &added);
        filter.memory() as f64 * 8.0 / added.len() as f64
    };
    assert!((bits(FilterKind::Bloom, 0.01) - 9.585).abs() < 0.02);
    assert!((bits(FilterKind::Blocked, 0.01) - 9.925).abs() < 0.05);
    // 7 bits on 1.165 slots a key.
    assert!((bits(FilterKind::Fuse, 0.01) - 8.13).abs() < 0.15);
}

#[test]
fn parts_that_cannot_be_a_filter_are_refused() {
    let decode = |parameters, len, keys| {
        let held = HugeBytes::zeroed(128).unwrap();
        Filter::decode(parameters, keys, held, len).is_some()
    };
    let blocked = |probes| Parameters::Blocked { probes };
    assert!(decode(blocked(6), 128, 5));
    assert!(decode(blocked(6), 0, 0));
    for (probes, len, keys) in [(6, 100, 5), (6, 0, 5), (6, 64, 0), (0, 64, 5), (33, 64, 5)] {
        assert!(!decode(blocked(probes), len, keys), "{probes} {len} {keys}");
    }
    assert!(!decode(blocked(6), 1 << 30, 5));

    let bloom = |hashes| Parameters::Bloom { hashes };
    assert!(decode(bloom(7), 8, 5));
    assert!(decode(bloom(7), 0, 0));
    for (hashes, len, keys) in [(7, 9, 5), (7, 0, 5), (7, 8, 0), (0, 8, 5), (65, 8, 5)] {
        assert!(!decode(bloom(hashes), len, keys), "{hashes} {len} {keys}");
    }
    assert!(!decode(bloom(7), 1 << 30, 5));

    assert!(decode(Parameters::None, 0, 5));
    assert!(!decode(Parameters::None, 8, 5));

    let fuse = |width, slots, segment_bits, attempt| {
        let shape = Shape {
            slots,
            segment_bits,
            attempt,
        };
        Parameters::Fuse { width, shape }
    };
    // 12 slots of 8 bits, and the padding.
    assert!(decode(fuse(8, 12, 2, 0), 19, 5));
    assert!(decode(fuse(8, 12, 2, 0), 0, 0));
    for (parameters, len) in [
        (fuse(8, 12, 2, 0), 18),
        (fuse(8, 12, 2, 0), 20),
        (fuse(8, 12, 2, 0), 0),
        (fuse(0, 12, 2, 0), 19),
        (fuse(33, 12, 2, 0), 57),
        (fuse(8, 13, 2, 0), 20),
        (fuse(8, 8, 2, 0), 15),
        (fuse(8, 0, 2, 0), 7),
        (fuse(8, u64::MAX, 2, 0), 19),
        (fuse(8, 12, 19, 0), 19),
        (fuse(8, 12, 255, 0), 19),
        (fuse(8, 12, 2, 100), 19),
    ] {
        assert!(!decode(parameters, len, 5), "{parameters:?} {len}");
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Whatever the kind, the size, the seed and the rate: no key is lost, also when the
        /// filter is read from its bytes.
        #[test]
        fn no_key_is_ever_lost(
            kind in prop::sample::select(KINDS.as_slice()),
            count in prop_oneof![0..5u64, 0..300u64, 0..5000u64],
            seed: u64,
            first: u64,
            exponent in 0.1..9.0f64,
        ) {
            let first = first >> 1;
            let added = hashes(seed, first, count);
            let size = Size::for_rate(kind, 10f64.powf(-exponent));
            let filter = build(kind, size, &added);
            let again = reread(&filter, count);
            for &hash in &added {
                prop_assert!(filter.may_contain(hash) && again.may_contain(hash));
            }
        }
    }
}
