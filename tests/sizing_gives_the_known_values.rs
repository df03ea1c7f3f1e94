//! Sizes of classic Bloom filters are those that everybody knows, and every question has an
//! answer or an error.

#![allow(clippy::unwrap_used, reason = "a test")]

use seendb::Error;
use seendb::filter::sizing::{Sizing, capacity};

#[track_caller]
fn near(value: f64, wanted: f64, within: f64) {
    assert!(
        (value - wanted).abs() <= within,
        "{value} is not {wanted}, give or take {within}"
    );
}

/// Every rate, from nearly nothing to nearly all.
fn rates() -> impl Iterator<Item = f64> {
    (1..2_000)
        .map(|step| (-f64::from(step) / 100.0).exp())
        .chain([
            0.999,
            1.0 - f64::EPSILON,
            1e-100,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
        ])
}

const KEYS: [u64; 9] = [
    0,
    1,
    2,
    7,
    1_000,
    50_000_000,
    1 << 53,
    u64::MAX - 1,
    u64::MAX,
];

#[test]
fn filters_have_the_sizes_of_the_formulas() {
    for (keys, rate, million_bits, bits_per_key, hashes) in [
        (50_000_000, 0.01, 479.25, 9.585, 7),
        (50_000_000, 0.001, 718.88, 14.378, 10),
        (1_000_000_000, 0.01, 9_585.06, 9.585, 7),
        (2_000_000, 0.5, 2.8854, 1.443, 1),
        (1_000_000, 0.02, 8.1424, 8.142, 6),
        (1_000_000, 0.0001, 19.170, 19.170, 13),
        (1_000_000, 0.000_001, 28.755, 28.755, 20),
    ] {
        let sizing = Sizing::for_rate(keys, rate).unwrap();
        near(sizing.bits() as f64 / 1e6, million_bits, million_bits / 1e4);
        near(sizing.bits_per_key(), bits_per_key, 0.001);
        assert_eq!(sizing.hashes(), hashes, "{rate}");
        assert_eq!(sizing.keys(), keys);
        assert_eq!(sizing.bytes(), sizing.bits().div_ceil(8));
    }
    let bytes = |keys| Sizing::for_rate(keys, 0.01).unwrap().bytes();
    assert_eq!(bytes(50_000_000), 59_906_615);
    assert_eq!(bytes(1_000_000_000) / 100_000_000, 11);
}

#[test]
fn a_filter_filled_beyond_its_design_is_as_wrong_as_is_known() {
    let sizing = Sizing::for_rate(1_000_000, 0.01).unwrap();
    for (times, rate) in [(1.0, 0.010), (1.5, 0.058), (2.0, 0.157), (4.0, 0.679)] {
        near(sizing.rate_with((1e6 * times) as u64), rate, 0.0005);
    }
    near(sizing.rate_with(u64::MAX), 1.0, 0.0);
    near(sizing.rate_with(0), 0.0, 0.0);
}

#[test]
fn whole_hashes_cost_less_than_a_25th_of_the_rate() {
    for rate in rates().filter(|rate| *rate > 1e-12) {
        let sizing = Sizing::for_rate(1_000_000_000, rate).unwrap();
        let is = sizing.rate();
        assert!(
            is >= rate * 0.999_999 && is < rate * 1.04,
            "{is} for {rate}"
        );
        for other in [sizing.hashes() - 1, sizing.hashes() + 1] {
            let other = f64::from(other);
            let set = 1.0 - (-other / sizing.bits_per_key()).exp();
            assert!(
                other == 0.0 || set.powf(other) >= is * 0.999_999,
                "{other} hashes are better for {rate}"
            );
        }
    }
}

#[test]
fn the_three_questions_agree() {
    for rate in rates().filter(|rate| *rate > 1e-300) {
        for keys in [1_000, 1_234_567, 50_000_000, 10_000_000_000] {
            let asked = Sizing::for_rate(keys, rate).unwrap();
            // The last byte may have room for a few more.
            let fit = capacity(asked.bytes(), rate).unwrap() as f64;
            let room = 8.0 / asked.bits_per_key();
            let (least, most) = (keys as f64 - 1.0, keys as f64 + room + 1.0);
            assert!(fit >= least && fit <= most, "{fit} of {keys} at {rate}");
            let given = Sizing::for_memory(keys, asked.bytes()).unwrap();
            assert!(given.rate() <= asked.rate() * 1.000_001, "{keys} at {rate}");
            assert!(given.bits() - asked.bits() < 8);
        }
    }
}

#[test]
fn nothing_is_not_a_number_and_nothing_panics() {
    let sane = |sizing: Sizing| {
        assert!(sizing.bits_per_key() >= 0.0 && sizing.bits_per_key().is_finite());
        assert!(sizing.hashes() >= 1);
        for keys in KEYS {
            let rate = sizing.rate_with(keys);
            assert!(
                (0.0..=1.0).contains(&rate),
                "{sizing:?} with {keys}: {rate}"
            );
        }
    };
    for keys in KEYS {
        for rate in rates() {
            match Sizing::for_rate(keys, rate) {
                Ok(sizing) => sane(sizing),
                Err(error) => {
                    assert!(matches!(error, Error::InvalidOption { option: "keys", .. }));
                    assert!(keys > 1 << 53, "{keys} at {rate}");
                }
            }
        }
        for bytes in [1, 2, 1 << 30, u64::MAX / 8] {
            sane(Sizing::for_memory(keys, bytes).unwrap());
        }
    }
    for rate in rates() {
        for bytes in [1, 2, 1 << 30, u64::MAX / 8] {
            capacity(bytes, rate).unwrap();
        }
    }
    let none = Sizing::for_rate(0, 0.01).unwrap();
    assert_eq!((none.bits(), none.bytes(), none.hashes()), (0, 0, 7));
    near(none.rate(), 0.0, 0.0);
    near(none.rate_with(1), 1.0, 0.0);
    assert_eq!(capacity(1, f64::from_bits(1)).unwrap(), 0);
    assert_eq!(capacity(u64::MAX / 8, 0.999).unwrap(), u64::MAX);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let rates = [
        0.0,
        -0.0,
        1.0,
        -0.01,
        1.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    for rate in rates {
        for result in [
            Sizing::for_rate(1_000, rate).map(|_| ()),
            capacity(1_000, rate).map(|_| ()),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(error, Error::InvalidOption { option: "rate", .. }),
                "{error}"
            );
            assert!(
                error.to_string().contains("such as 0.01 for 1 %"),
                "{error}"
            );
        }
    }
    for bytes in [0, u64::MAX / 8 + 1, u64::MAX] {
        for result in [
            Sizing::for_memory(1_000, bytes).map(|_| ()),
            capacity(bytes, 0.01).map(|_| ()),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::InvalidOption {
                        option: "memory",
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
    let error = Sizing::for_rate(u64::MAX, 0.01).unwrap_err().to_string();
    assert!(error.contains("at most about 1.9e18"), "{error}");
}
