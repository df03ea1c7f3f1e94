//! From the rate that is asked for to bits and probes, for each kind.
//!
//! | kind | rate for keys at their number |
//! |---|---|
//! | bloom | (1 - e^(-k / b))^k, with b bits and k probes a key (Bloom 1970; the form of Broder and Mitzenmacher 2004) |
//! | blocked | below |
//! | fuse | 2^-w, with fingerprints of w bits (Graf and Lemire 2022) |
//!
//! In a blocked filter the keys of a block of B = 512 bits are as good as Poisson
//! distributed, with the mean B / b. That i given bits of a block are all zero has then the
//! probability e^(-(B / b) (1 - (1 - i / B)^k)); by inclusion and exclusion, d given bits are
//! all set with the probability sum over i of (-1)^i C(d, i) times that; and the k probes of
//! an absent key fall on d distinct bits with the probability of k balls in B bins.

use super::{FilterKind, fuse};

/// The best numbers of probes of a blocked filter, for 1 bit a key, 2 bits, and so on.
const PROBES: [u8; 48] = [
    1, 1, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14,
    14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 18, 18, 18,
];
/// The most bits a key that a filter is given, beside fuse filters.
const MAX_BITS: f64 = PROBES.len() as f64;
/// The most probes of a Bloom filter.
const MAX_HASHES: u8 = 32;
/// The widest fingerprints.
const MAX_WIDTH: u8 = 32;
/// The bits of a block, and the most probes in one that [`blocked_rate`] reckons with.
const BLOCK: f64 = 512.0;
const MOST: usize = 32;

/// How much a filter spends on a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    /// Of fuse filters, for many keys; they take more for few.
    pub(crate) bits_per_key: f64,
    /// Bits set for each key; for fuse filters, bits of a fingerprint.
    pub(crate) probes: u8,
}

impl Size {
    /// The least that keeps to `rate`, as far as the kind goes.
    pub(crate) fn for_rate(kind: FilterKind, rate: f64) -> Size {
        // Also for what is not a number.
        let rate = if rate > 0.0 { rate.min(0.9) } else { 0.0 };
        match kind {
            FilterKind::None => Size::NOTHING,
            FilterKind::Bloom => (1..=MAX_HASHES)
                .map(|hashes| Size {
                    bits_per_key: bloom_bits(hashes, rate),
                    probes: hashes,
                })
                .min_by(|a, b| a.bits_per_key.total_cmp(&b.bits_per_key))
                .filter(|size| size.bits_per_key <= MAX_BITS)
                .unwrap_or_else(|| Size::for_bits(kind, MAX_BITS)),
            FilterKind::Blocked => {
                let (mut low, mut high) = (0.1, MAX_BITS);
                while high - low > 1e-4 {
                    let middle = (low + high) / 2.0;
                    if blocked_rate(middle, probes_for(middle)) <= rate {
                        high = middle;
                    } else {
                        low = middle;
                    }
                }
                Size {
                    bits_per_key: high,
                    probes: probes_for(high),
                }
            }
            FilterKind::Fuse => {
                let width = (-rate.log2()).ceil().clamp(1.0, f64::from(MAX_WIDTH));
                Size::fuse(width)
            }
        }
    }

    /// The best that takes `bits` a key at most; [`NOTHING`](Size::NOTHING) if that is too
    /// little for any.
    pub(crate) fn for_bits(kind: FilterKind, bits: f64) -> Size {
        let too_few = bits.is_nan() || bits < 1.0;
        let bits = bits.min(MAX_BITS);
        match kind {
            FilterKind::None => Size::NOTHING,
            _ if too_few => Size::NOTHING,
            FilterKind::Bloom => Size {
                bits_per_key: bits,
                probes: (bits * std::f64::consts::LN_2)
                    .round()
                    .clamp(1.0, f64::from(MAX_HASHES)) as u8,
            },
            FilterKind::Blocked => Size {
                bits_per_key: bits,
                probes: probes_for(bits),
            },
            FilterKind::Fuse => {
                let width = (bits / fuse::SLOTS_PER_KEY).floor();
                if width < 1.0 {
                    return Size::NOTHING;
                }
                Size::fuse(width.min(f64::from(MAX_WIDTH)))
            }
        }
    }

    /// The least that keeps to `rate`, or what `bytes` give for that many keys if that is less.
    pub(crate) fn within(kind: FilterKind, rate: f64, keys: u64, bytes: u64) -> Size {
        let mut size = Size::for_rate(kind, rate);
        // Few keys take more than their bits.
        let mut bits = size
            .bits_per_key
            .min(bytes as f64 * 8.0 / keys.max(1) as f64);
        while kind.bytes(keys, size) > bytes && size != Size::NOTHING {
            size = Size::for_bits(kind, bits);
            bits *= 0.9;
        }
        size
    }

    /// No filter at all.
    pub(crate) const NOTHING: Size = Size {
        bits_per_key: 0.0,
        probes: 0,
    };

    fn fuse(width: f64) -> Size {
        Size {
            bits_per_key: width * fuse::SLOTS_PER_KEY,
            probes: width as u8,
        }
    }

    /// The rate of a filter of this size.
    pub(crate) fn rate(self, kind: FilterKind) -> f64 {
        if self == Size::NOTHING {
            return 1.0;
        }
        match kind {
            FilterKind::None => 1.0,
            FilterKind::Bloom => bloom_rate(self.bits_per_key, self.probes),
            FilterKind::Blocked => blocked_rate(self.bits_per_key, self.probes),
            FilterKind::Fuse => fuse_rate(self.probes),
        }
    }
}

/// The bits a key at which `hashes` probes give `rate`.
fn bloom_bits(hashes: u8, rate: f64) -> f64 {
    let hashes = f64::from(hashes);
    -hashes / (-rate.powf(1.0 / hashes)).ln_1p()
}

/// The rate of a Bloom filter with that many bits a key.
pub(super) fn bloom_rate(bits_per_key: f64, hashes: u8) -> f64 {
    let hashes = f64::from(hashes);
    (-(-hashes / bits_per_key).exp_m1()).powf(hashes)
}

pub(super) fn fuse_rate(width: u8) -> f64 {
    (-f64::from(width)).exp2()
}

fn probes_for(bits: f64) -> u8 {
    let place = (bits.round() as usize).saturating_sub(1);
    PROBES.get(place).or(PROBES.last()).copied().unwrap_or(1)
}

/// The rate of a blocked filter with that many bits a key.
pub(super) fn blocked_rate(bits_per_key: f64, probes: u8) -> f64 {
    let probes = usize::from(probes).min(MOST);
    let keys = BLOCK / bits_per_key;
    let mut zero = [0.0; MOST + 1];
    for (bits, zero) in zero.iter_mut().enumerate().take(probes + 1) {
        let missed = (1.0 - bits as f64 / BLOCK).powi(probes as i32);
        *zero = (-keys * (1.0 - missed)).exp();
    }
    let mut rate = 0.0;
    for (distinct, probability) in distinct(probes).into_iter().enumerate() {
        let mut sum = 0.0;
        let mut choose = 1.0;
        for (bits, zero) in zero.iter().enumerate().take(distinct + 1) {
            let sign = if bits % 2 == 0 { 1.0 } else { -1.0 };
            sum += sign * choose * zero;
            choose *= (distinct - bits) as f64 / (bits + 1) as f64;
        }
        rate += probability * sum;
    }
    // What is left of the alternating sum below is rounding.
    rate.clamp(1e-12, 1.0)
}

/// The probabilities that `probes` balls in the bins of a block fall into 0, 1, 2... bins.
fn distinct(probes: usize) -> [f64; MOST + 1] {
    let mut probabilities = [0.0; MOST + 1];
    if let Some(first) = probabilities.first_mut() {
        *first = 1.0;
    }
    for ball in 0..probes {
        let mut carried = 0.0;
        for (bins, probability) in probabilities.iter_mut().enumerate().take(ball + 2) {
            let share = bins as f64 / BLOCK;
            let moves = *probability * (1.0 - share);
            *probability = *probability * share + carried;
            carried = moves;
        }
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sizes_and_rates() {
        let of = |kind, rate| Size::for_rate(kind, rate);
        let bloom = of(FilterKind::Bloom, 0.01);
        assert!((bloom.bits_per_key - 9.585).abs() < 0.01, "{bloom:?}");
        assert_eq!(bloom.probes, 7);
        // Simulated elsewhere: 10 bits and 6 probes 0.966 %, 16 and 9 0.0844 %, 24 and 12
        // 0.0053 %.
        for (bits, probes, rate) in [(10.0, 6, 9.66e-3), (16.0, 9, 8.44e-4), (24.0, 12, 5.3e-5)] {
            let computed = blocked_rate(bits, probes);
            assert!((computed / rate - 1.0).abs() < 0.01, "{bits}: {computed}");
        }
        let fuse = of(FilterKind::Fuse, 0.01);
        assert_eq!(fuse.probes, 7);
        assert_eq!(fuse.rate(FilterKind::Fuse), 1.0 / 128.0);
    }

    #[test]
    fn the_probes_are_the_best_for_their_bits() {
        for (place, &probes) in PROBES.iter().enumerate() {
            let bits = place as f64 + 1.0;
            let best =
                (1..=24).min_by(|&a, &b| blocked_rate(bits, a).total_cmp(&blocked_rate(bits, b)));
            assert_eq!(best, Some(probes), "{bits} bits");
        }
    }

    #[test]
    fn a_lower_rate_never_takes_fewer_bits_and_each_is_kept() {
        for kind in FilterKind::FILTERS {
            let mut last = 0.0;
            let mut rate = 0.9;
            while rate > 1e-9 {
                let size = Size::for_rate(kind, rate);
                assert!(size.bits_per_key >= last, "{kind} {rate}");
                if size.bits_per_key < MAX_BITS - 1.0 && size.probes < MAX_WIDTH {
                    let got = size.rate(kind);
                    assert!(got <= rate * 1.0001, "{kind} {rate}: {got}");
                    // Fewer bits would not do, but for what a step is.
                    let step = if kind == FilterKind::Fuse { 1.13 } else { 0.2 };
                    let less = Size::for_bits(kind, size.bits_per_key - step);
                    assert!(less.rate(kind) > rate * 0.99, "{kind} {rate}");
                }
                last = size.bits_per_key;
                rate *= 0.93;
            }
        }
    }

    #[test]
    fn a_size_within_bytes_fits_them() {
        for kind in FilterKind::FILTERS {
            for keys in [1, 2, 30, 1000, 1_000_000] {
                let all = kind.bytes(keys, Size::for_rate(kind, 0.001));
                assert_eq!(
                    Size::within(kind, 0.001, keys, all),
                    Size::for_rate(kind, 0.001)
                );
                for bytes in [0, 1, 10, all / 2, all - 1] {
                    let size = Size::within(kind, 0.001, keys, bytes);
                    assert!(
                        kind.bytes(keys, size) <= bytes || size == Size::NOTHING,
                        "{kind} {keys}"
                    );
                }
            }
            let half = kind.bytes(1_000_000, Size::for_rate(kind, 0.001)) / 2;
            let rate = Size::within(kind, 0.001, 1_000_000, half).rate(kind);
            assert!(rate < 0.1, "{kind}: {rate}");
        }
    }

    #[test]
    fn odd_rates_give_a_size_all_the_same() {
        for kind in FilterKind::FILTERS {
            for rate in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE, 1e-300] {
                let size = Size::for_rate(kind, rate);
                assert!(
                    (32.0..=MAX_BITS).contains(&size.bits_per_key),
                    "{kind} {size:?}"
                );
            }
            for rate in [1.0, 7.0, f64::INFINITY] {
                assert!(Size::for_rate(kind, rate).bits_per_key < 1.2, "{kind}");
            }
            for bits in [f64::NAN, -1.0, 0.0, 0.5] {
                assert_eq!(Size::for_bits(kind, bits), Size::NOTHING, "{kind} {bits}");
            }
            assert!(Size::for_bits(kind, f64::INFINITY).rate(kind) < 1e-6);
        }
        assert_eq!(
            Size::for_rate(FilterKind::None, 0.01).rate(FilterKind::None),
            1.0
        );
    }
}
