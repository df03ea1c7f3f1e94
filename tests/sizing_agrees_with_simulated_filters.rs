//! What the theory says of a classic Bloom filter, filled as planned and beyond, is what
//! happens to real bits.

#![allow(clippy::unwrap_used, reason = "a test")]

use seendb::filter::sizing::Sizing;

/// Bits, and positions in them that are independent of each other.
struct Filter {
    bits: Vec<u64>,
    len: u64,
    hashes: u32,
}

impl Filter {
    fn new(sizing: &Sizing) -> Filter {
        Filter {
            bits: vec![0; sizing.bits().div_ceil(64) as usize],
            len: sizing.bits(),
            hashes: sizing.hashes(),
        }
    }

    fn positions(&self, generator: &mut Generator) -> Vec<u64> {
        (0..self.hashes)
            .map(|_| ((u128::from(generator.next()) * u128::from(self.len)) >> 64) as u64)
            .collect()
    }

    /// Adds a key: any, since its positions are drawn.
    fn add(&mut self, generator: &mut Generator) {
        for position in self.positions(generator) {
            self.bits[(position / 64) as usize] |= 1 << (position % 64);
        }
    }

    /// Whether it says "maybe" to a key that is none of those that were added.
    fn maybe(&self, generator: &mut Generator) -> bool {
        let positions = self.positions(generator);
        positions
            .iter()
            .all(|position| self.bits[(position / 64) as usize] >> (position % 64) & 1 == 1)
    }
}

/// SplitMix64.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

const KEYS: u64 = 100_000;
const FILTERS: u64 = 10;
const QUESTIONS: u64 = 100_000;

/// The share of absent keys to which filters say "maybe", at each of the numbers of keys.
fn simulate(sizing: &Sizing, fillings: &[u64]) -> Vec<f64> {
    let mut wrong = vec![0_u64; fillings.len()];
    for seed in 0..FILTERS {
        let mut generator = Generator(seed << 32);
        let mut filter = Filter::new(sizing);
        let mut added = 0;
        for (keys, wrong) in fillings.iter().zip(&mut wrong) {
            for _ in added..*keys {
                filter.add(&mut generator);
            }
            added = *keys;
            let maybes = (0..QUESTIONS).filter(|_| filter.maybe(&mut generator));
            *wrong += maybes.count() as u64;
        }
    }
    let asked = (FILTERS * QUESTIONS) as f64;
    wrong.iter().map(|wrong| *wrong as f64 / asked).collect()
}

/// Four standard deviations of a share of so many questions.
fn chance(rate: f64) -> f64 {
    4.0 * (rate * (1.0 - rate) / (FILTERS * QUESTIONS) as f64).sqrt()
}

#[test]
fn a_filter_filled_beyond_its_design_is_as_wrong_as_the_theory_says() {
    let sizing = Sizing::for_rate(KEYS, 0.01).unwrap();
    let fillings = [KEYS, KEYS * 3 / 2, KEYS * 2, KEYS * 4];
    let rates = simulate(&sizing, &fillings);
    for ((keys, rate), known) in fillings
        .iter()
        .zip(&rates)
        .zip([0.010, 0.058, 0.157, 0.679])
    {
        println!("{keys} keys in a filter for {KEYS} at 1 %: {rate:.4}");
        let theory = sizing.rate_with(*keys);
        // The number of bits that are set is subject to chance, too: hence the part.
        assert!(
            (rate - theory).abs() < chance(theory) + theory / 200.0,
            "{rate}, not {theory}, with {keys}"
        );
        assert!((rate - known).abs() < 0.002, "{rate}, not {known}");
    }
}

#[test]
fn a_filter_that_is_filled_as_planned_keeps_to_its_rate() {
    for rate in [0.5, 0.3684, 0.1, 0.05, 0.001, 0.7] {
        let sizing = Sizing::for_rate(KEYS, rate).unwrap();
        let measured = simulate(&sizing, &[KEYS])[0];
        let theory = sizing.rate();
        println!(
            "{} hashes, {rate} asked, {theory:.4} expected: {measured:.4}",
            sizing.hashes()
        );
        assert!(
            (measured - theory).abs() < chance(theory) + theory / 200.0,
            "{measured}, not {theory}"
        );
    }
}
