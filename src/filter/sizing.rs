//! From the rate that is asked for to bits and probes.

/// Bits per key, the best number of probes, and the rate that they give.
///
/// 8 to 24 bits were simulated with the blocked filter (512-bit blocks, keys
/// drawn at random). The rows outside of that are computed from the Poisson
/// distribution of keys over blocks, times 1.03: on the simulated rows the
/// computed rates are up to 3 % low.
const TABLE: [(f64, u8, f64); 20] = [
    (4.0, 3, 1.523e-1),
    (5.0, 3, 9.57e-2),
    (6.0, 4, 5.93e-2),
    (7.0, 5, 3.75e-2),
    (8.0, 5, 2.326e-2),
    (9.0, 6, 1.486e-2),
    (10.0, 6, 9.66e-3),
    (11.0, 7, 6.25e-3),
    (12.0, 8, 4.13e-3),
    (14.0, 9, 1.84e-3),
    (16.0, 9, 8.44e-4),
    (18.0, 10, 4.01e-4),
    (20.0, 11, 1.98e-4),
    (22.0, 12, 1.01e-4),
    (24.0, 12, 5.3e-5),
    (26.0, 13, 2.84e-5),
    (28.0, 14, 1.57e-5),
    (30.0, 14, 9.0e-6),
    (32.0, 15, 5.2e-6),
    (40.0, 17, 7.3e-7),
];

/// Sizes are rounded up to this part of a bit.
const STEPS_PER_BIT: f64 = 4.0;

/// How much a filter spends on a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Size {
    pub(crate) bits_per_key: f64,
    pub(crate) probes: u8,
}

impl Size {
    /// The least that keeps to `rate`. Rates above the table's get 4 bits a key,
    /// those below it 40.
    pub(crate) fn for_rate(rate: f64) -> Size {
        let [first, .., last] = TABLE;
        let mut above = first;
        for row in TABLE {
            if row.2 <= rate {
                if above == row {
                    break;
                }
                // The logarithm of the rate is convex in the bits, so that the
                // straight line between two rows never promises too much.
                let part = (above.2.ln() - rate.ln()) / (above.2.ln() - row.2.ln());
                let bits = above.0 + part * (row.0 - above.0);
                return Size {
                    bits_per_key: (bits * STEPS_PER_BIT).ceil() / STEPS_PER_BIT,
                    probes: row.1,
                };
            }
            above = row;
        }
        // `above` is the first row for a large rate and the last for a small one.
        let end = if rate >= first.2 { first } else { last };
        Size {
            bits_per_key: end.0,
            probes: end.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_asked_rate_decides() {
        let of = |rate| {
            let size = Size::for_rate(rate);
            (size.bits_per_key, size.probes)
        };
        assert_eq!(of(0.01), (10.0, 6));
        assert_eq!(of(0.02326), (8.0, 5));
        assert_eq!(of(0.00966), (10.0, 6));
        assert_eq!(of(0.001), (15.75, 9));
        assert_eq!(of(0.5), (4.0, 3));
        assert_eq!(of(2.0), (4.0, 3));
        assert_eq!(of(1e-9), (40.0, 17));
        assert_eq!(of(0.0), (40.0, 17));
        assert_eq!(of(f64::NAN), (40.0, 17));
    }

    #[test]
    fn a_lower_rate_never_takes_fewer_bits() {
        let mut last = 0.0;
        let mut rate = 0.6;
        while rate > 1e-8 {
            let size = Size::for_rate(rate);
            assert!(size.bits_per_key >= last, "{rate}");
            last = size.bits_per_key;
            rate *= 0.97;
        }
    }
}
