//! Any bytes as a filter: it answers as its bits say, or is refused.

use super::bytes::Source;
use super::memory_bound::bounded;
use seendb::fuzz;

/// A filter of the input's own bytes, or one that was built, whole or with bits changed.
pub fn filter(input: &[u8]) {
    let mut script = Source::new(input);
    let hashes: Vec<u64> = (0..script.below(200)).map(|_| hash(&mut script)).collect();
    if script.flag() {
        let rate = [0.5, 0.2, 0.01, 0.001, 1e-6][script.below(5)];
        let (mut bytes, probes) = fuzz::build_filter(rate, &hashes).unwrap();
        let keys = hashes.len() as u64;
        let found = fuzz::filter(&bytes, probes, keys, &hashes).unwrap();
        assert!(found.iter().all(|&found| found), "a key that was added");
        if !bytes.is_empty() {
            for _ in 0..script.below(8) {
                let at = script.below(bytes.len());
                bytes[at] ^= script.u8();
            }
        }
        return ask(&bytes, probes, keys, &hashes);
    }
    let probes = script.u8();
    let keys = script.number(hashes.len() as u64);
    let times = 1 + script.below(4);
    let bytes = script.take(512).repeat(times);
    let len = match script.below(4) {
        0 => bytes.len(),
        _ => bytes.len() / 64 * 64,
    };
    ask(&bytes[..len], probes, keys, &hashes);
}

/// Hashes of any kind: at the ends of the range, close together, spread.
fn hash(script: &mut Source<'_>) -> u64 {
    let number = script.number(1 << 32);
    if script.flag() {
        number
    } else {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

fn ask(bytes: &[u8], probes: u8, keys: u64, hashes: &[u64]) {
    let plausible = bytes.len().is_multiple_of(64)
        && bytes.is_empty() == (keys == 0)
        && (1..=32).contains(&probes);
    let said = bounded(bytes.len() + hashes.len(), || {
        fuzz::filter(bytes, probes, keys, hashes)
    });
    assert_eq!(
        said.is_some(),
        plausible,
        "{} bytes, {probes}, {keys}",
        bytes.len()
    );
    for (&hash, said) in hashes.iter().zip(said.into_iter().flatten()) {
        assert_eq!(said, naive(bytes, probes, hash), "{hash:x}");
    }
}

/// The steps of docs/format.md.
fn naive(bytes: &[u8], probes: u8, hash: u64) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let blocks = (bytes.len() / 64) as u64;
    let at = (((hash >> 32) * blocks) >> 32) as usize * 64;
    let block = &bytes[at..at + 64];
    let mix = |m: u64| (m ^ (m >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mut m = mix(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (0..probes).all(|probe| {
        let of_seven = u32::from(probe % 7);
        if probe > 0 && of_seven == 0 {
            m = mix(m);
        }
        let position = (m << (9 * of_seven)) >> 55;
        block[(position >> 3) as usize] >> (position & 7) & 1 == 1
    })
}
