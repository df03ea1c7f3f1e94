//! An order of numbers that looks random, and takes no memory.

/// A one-to-one map of the numbers below a bound onto themselves: a Feistel network on the
/// next even number of bits, walked until it comes to a number below the bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permutation {
    bound: u64,
    /// Bits of each half.
    half: u32,
    seed: u64,
}

impl Permutation {
    pub(crate) fn new(bound: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        Permutation {
            bound,
            half: bits.div_ceil(2).max(1),
            seed: mix(seed),
        }
    }

    /// Where `place`, which is below the bound, goes.
    pub(crate) fn at(&self, place: u64) -> u64 {
        let mut place = self.step(place);
        while place >= self.bound {
            place = self.step(place);
        }
        place
    }

    fn step(&self, place: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (place >> self.half, place & mask);
        for round in 0..4 {
            let key = self.seed.wrapping_add(round << 60);
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half | right
    }
}

/// Scatters bits (the last step of splitmix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_and_not_in_order() {
        for bound in [1, 2, 3, 7, 64, 1_000, 4_097] {
            let order = Permutation::new(bound, 5);
            let mut places: Vec<u64> = (0..bound).map(|place| order.at(place)).collect();
            let in_order = places.windows(2).filter(|w| w[1] == w[0] + 1).count();
            assert!(bound < 64 || in_order < bound as usize / 16, "{bound}");
            places.sort_unstable();
            assert!(places.into_iter().eq(0..bound), "{bound}");
        }
    }

    #[test]
    fn seeds_give_other_orders() {
        let (one, other) = (Permutation::new(1_000, 1), Permutation::new(1_000, 2));
        let same = (0..1_000).filter(|&place| one.at(place) == other.at(place));
        assert!(same.count() < 20);
    }
}
