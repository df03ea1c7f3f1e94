//! What codes the keys of a run.

use super::dictionary::{Dictionary, Encoder, Sample, train};
use super::packed::common;
use crate::codec::Codec;
use std::sync::Arc;

/// Bytes of suffixes from which on a dictionary pays.
const ENOUGH: u128 = 16 << 10;
/// So few keys have less.
const FEW: u64 = 200;
/// Bytes of a sample for each key there is to be, about an eighth of what is coded: making a
/// dictionary takes some seven times as long as coding its sample.
const SAMPLE_OF_A_KEY: u64 = 3;
/// And about half of it for a dense run.
const DENSE_SAMPLE_OF_A_KEY: u64 = 12;
const LEAST_SAMPLE: usize = 16 << 10;
/// About what a key takes in a segment.
const BYTES_OF_A_KEY: u64 = 16;
/// Bytes of a sample for each string. A dictionary of more fits its sample, and little else.
const SAMPLE_OF_A_STRING: usize = 64;
const LEAST_BITS: u32 = 9;

/// The most bits of a code, and the most bytes of a sample, about. With more than 12 bits, a
/// dictionary no longer fits the nearest caches.
fn extent(codec: Codec) -> (u32, usize) {
    match codec {
        Codec::Plain => (8, 0),
        Codec::Standard => (12, 256 << 10),
        Codec::Dense => (16, 4 << 20),
    }
}

/// Bytes of a sample for so many keys, about.
fn sample_for(codec: Codec, keys: u64) -> usize {
    let of_a_key = match codec {
        Codec::Dense => DENSE_SAMPLE_OF_A_KEY,
        _ => SAMPLE_OF_A_KEY,
    };
    let bytes = keys.saturating_mul(of_a_key);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    bytes.max(LEAST_SAMPLE).min(extent(codec).1)
}

/// The bits of a code for a sample of so many bytes, or up to a fifth less: stretches are cut
/// where a key ends.
fn bits_for(codec: Codec, sample: usize) -> u32 {
    let strings = (sample / 4 * 5 / SAMPLE_OF_A_STRING).max(1);
    strings.ilog2().max(LEAST_BITS).min(extent(codec).0)
}

/// The most bytes of memory for the dictionary of a run of so many keys.
pub(crate) fn dictionary_memory(codec: Codec, keys: u64) -> u64 {
    16 << bits_for(codec, sample_for(codec, keys))
}

/// The codec that a memory for all allows: a dictionary takes at most a part in 128 of it, as
/// there may be one for each run.
pub(crate) fn allowed(codec: Codec, memory: Option<u64>) -> Codec {
    let takes = 16 << extent(codec).0;
    match memory {
        Some(memory) if codec == Codec::Dense && memory / 128 < takes => Codec::Standard,
        _ => codec,
    }
}

/// A dictionary, and what finds its codes.
pub(crate) struct Coder {
    dictionary: Arc<Dictionary>,
    encoder: Encoder,
}

impl Coder {
    /// One whose codes are the bytes.
    pub(crate) fn plain() -> Coder {
        Coder::new(Dictionary::plain())
    }

    pub(super) fn new(dictionary: Dictionary) -> Coder {
        Coder {
            encoder: Encoder::new(&dictionary),
            dictionary: Arc::new(dictionary),
        }
    }

    pub(super) fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    pub(super) fn bits(&self) -> u32 {
        self.dictionary.bits()
    }

    /// Appends the codes of a string.
    pub(super) fn encode(&self, bytes: &[u8], codes: &mut Vec<u16>) {
        self.encoder.encode(bytes, codes);
    }
}

impl std::fmt::Debug for Coder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Coder");
        out.field("dictionary", &self.dictionary)
            .finish_non_exhaustive()
    }
}

/// Collects a sample of keys, in stretches of neighbours: what is coded of a key depends on
/// the one before it.
#[derive(Debug)]
pub(crate) struct Sampler {
    sample: Sample,
    codec: Codec,
    /// Keys that there are to be, and those in the sample.
    keys: u64,
    sampled: u64,
    /// Bytes that a stretch gives, and those that this one has given.
    most: usize,
    given: usize,
    /// The last key of this stretch.
    last: Option<Vec<u8>>,
}

impl Sampler {
    /// For a run of so many keys, in segments of so many bytes.
    pub(crate) fn new(codec: Codec, keys: u64, segment_size: u64, stretches: u64) -> Sampler {
        let stretches = usize::try_from(stretches.max(1)).unwrap_or(usize::MAX);
        Sampler {
            sample: Sample::default(),
            codec,
            keys,
            sampled: 0,
            // Each segment of a run has its dictionary.
            most: sample_for(codec, keys.min(segment_size / BYTES_OF_A_KEY)) / stretches,
            given: 0,
            last: None,
        }
    }

    /// Whether there will be no dictionary, whatever the keys are.
    pub(crate) fn needs_none(&self) -> bool {
        self.codec == Codec::Plain || self.keys < FEW
    }

    /// Begins another stretch.
    pub(crate) fn begin(&mut self) {
        self.last = None;
        self.given = 0;
    }

    /// Takes the next key of a stretch; false if that has given enough.
    pub(crate) fn push(&mut self, key: &[u8]) -> bool {
        if let Some(last) = &mut self.last {
            let suffix = key.get(common(last, key) + 1..).unwrap_or_default();
            // A long one alone would be more than a sample.
            let suffix = suffix.get(..self.most - self.given).unwrap_or(suffix);
            self.sample.push(suffix);
            self.sampled += 1;
            self.given += suffix.len() + 1;
            last.clear();
            last.extend_from_slice(key);
        } else {
            self.last = Some(key.to_vec());
        }
        self.given < self.most
    }

    /// A coder for all the keys.
    pub(crate) fn coder(self) -> Coder {
        let bytes = self.sample.bytes() as u128 * u128::from(self.keys);
        let bytes = bytes / u128::from(self.sampled.max(1));
        if bytes < ENOUGH {
            return Coder::plain();
        }
        let bits = bits_for(self.codec, self.sample.bytes());
        Coder::new(train(&self.sample, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_long_keys_a_sample_has_a_part() {
        for codec in [Codec::Standard, Codec::Dense] {
            let stretches = 64;
            let mut sampler = Sampler::new(codec, 1 << 40, 128 << 20, stretches);
            for stretch in 0..stretches {
                sampler.begin();
                let key = |n| vec![(4 * stretch + n) as u8; 60_000];
                let _ = (0..4).all(|n| sampler.push(&key(n)));
            }
            assert!(sampler.sample.bytes() <= extent(codec).1, "{codec}");
        }
    }

    #[test]
    fn a_dictionary_is_small_beside_a_segment() {
        let stored = |segment_size| {
            let mut sampler = Sampler::new(Codec::Dense, 10_000_000, segment_size, 1);
            for n in 0..200_000u64 {
                let word = (n % 5000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                if !sampler.push(format!("{n:06}-{word:016x}").as_bytes()) {
                    break;
                }
            }
            let mut stored = Vec::new();
            sampler.coder().dictionary().encode(&mut stored);
            stored.len()
        };
        assert!(stored(64 << 10) < 8 << 10);
        assert!(stored(128 << 20) > 64 << 10);
    }
}
