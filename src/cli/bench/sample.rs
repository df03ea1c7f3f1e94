//! Some of many keys, each as likely as any other, chosen in one pass.

use super::generator::Dice;
use super::keys::OwnedKey;

/// A sample of a fixed size (Vitter's algorithm R, 1985).
#[derive(Debug)]
pub(super) struct Sample {
    size: usize,
    offered: u64,
    keys: Vec<OwnedKey>,
    dice: Dice,
}

impl Sample {
    pub(super) fn new(size: usize, seed: u64) -> Sample {
        Sample {
            size,
            offered: 0,
            keys: Vec::new(),
            dice: Dice(seed),
        }
    }

    pub(super) fn offer(&mut self, key: &[u8]) {
        self.offered += 1;
        if self.keys.len() < self.size {
            self.keys.push(key.into());
            return;
        }
        let place = usize::try_from(self.dice.below(self.offered)).unwrap_or(usize::MAX);
        if let Some(kept) = self.keys.get_mut(place) {
            *kept = key.into();
        }
    }

    /// How many keys it was offered.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    pub(super) fn into_keys(self) -> Vec<OwnedKey> {
        self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_as_likely_as_any_other() {
        let mut chosen = [0_u32; 100];
        for seed in 0..1_000 {
            let mut sample = Sample::new(10, seed);
            for key in 0..100_u8 {
                sample.offer(&[key]);
            }
            assert_eq!(sample.offered(), 100);
            for key in sample.into_keys() {
                chosen[usize::from(key[0])] += 1;
            }
        }
        assert_eq!(chosen.iter().sum::<u32>(), 10_000);
        // 100 each; a standard deviation is below 10.
        assert!(chosen.iter().all(|n| (50..150).contains(n)), "{chosen:?}");
    }

    #[test]
    fn few_keys_are_all_taken() {
        let mut sample = Sample::new(10, 1);
        sample.offer(b"a");
        sample.offer(b"b");
        let keys = sample.into_keys();
        assert_eq!(keys, [Box::from(&b"a"[..]), Box::from(&b"b"[..])]);
    }
}
