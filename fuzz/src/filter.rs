//! Any bytes as a filter of any kind: it answers as its bits say, or is refused.

use super::bytes::{Source, edit};
use super::files::u64_at;
use super::memory_bound::bounded;
use seendb::{FilterKind, fuzz};

/// Kind number 1 and following.
const KINDS: [FilterKind; 4] = [
    FilterKind::Blocked,
    FilterKind::Bloom,
    FilterKind::Fuse,
    FilterKind::None,
];

/// A filter of the input's own bytes, or one that was built, whole or with bits changed.
pub fn filter(input: &[u8]) {
    let mut script = Source::new(input);
    let hashes: Vec<u64> = (0..script.below(200)).map(|_| hash(&mut script)).collect();
    let choice = script.u8();
    let place = usize::from(choice >> 1) % KINDS.len();
    if choice & 1 == 1 {
        built(&mut script, KINDS[place], &hashes);
    } else {
        given(&mut script, place as u16 + 1, &hashes);
    }
}

/// One that was built knows every key that was added; and what is changed in it is seen.
fn built(script: &mut Source<'_>, kind: FilterKind, hashes: &[u64]) {
    let rate = [0.5, 0.2, 0.01, 0.001, 1e-6][script.below(5)];
    let (mut bytes, mut parameters) = fuzz::build_filter(kind, rate, hashes).unwrap();
    let keys = hashes.len() as u64;
    let found = fuzz::filter(&bytes, &parameters, keys, hashes).unwrap();
    assert!(found.iter().all(|&found| found), "a key that was added");
    ask(&bytes, &parameters, keys, hashes);
    if !bytes.is_empty() {
        for _ in 0..script.below(8) {
            let at = script.below(bytes.len());
            bytes[at] ^= script.u8();
        }
    }
    if script.rarely(4) {
        edit(script, &mut parameters);
    }
    ask(&bytes, &parameters, keys, hashes);
}

/// One of the input's own bytes and parameters, which often fit each other.
fn given(script: &mut Source<'_>, kind: u16, hashes: &[u64]) {
    let keys = script.number(hashes.len() as u64);
    let mut parameters = kind.to_le_bytes().to_vec();
    let mut most = usize::MAX;
    match kind {
        3 => {
            let (width, segment) = (script.u8() % 34, script.u8() % 20);
            let segments = 3 + script.below(6) as u64;
            let slots = script.number(segments) << segment.min(10);
            parameters.extend([width, segment, script.u8()]);
            parameters.extend(slots.to_le_bytes());
            if script.flag() {
                most = fuse_bytes(slots, width).try_into().unwrap_or(usize::MAX);
            }
        }
        4 => most = script.below(3),
        _ => parameters.push(script.u8()),
    }
    if script.rarely(8) {
        edit(script, &mut parameters);
    }
    let times = 1 + script.below(4);
    let mut bytes = script.take(512).repeat(times);
    if most <= 64 << 10 {
        // Room for all slots, whatever is left of the input.
        bytes = bytes.iter().copied().cycle().take(most).collect();
        bytes.resize(most, 0xa5);
    } else if !script.rarely(4) {
        let unit = if kind == 2 { 8 } else { 64 };
        bytes.truncate(bytes.len() / unit * unit);
    }
    ask(&bytes, &parameters, keys, hashes);
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

fn ask(bytes: &[u8], parameters: &[u8], keys: u64, hashes: &[u64]) {
    let filter = Naive::read(bytes, parameters, keys);
    let said = bounded(bytes.len() + hashes.len(), || {
        fuzz::filter(bytes, parameters, keys, hashes)
    });
    assert_eq!(
        said.is_some(),
        filter.is_some(),
        "{} bytes, {parameters:?}, {keys} keys",
        bytes.len()
    );
    for (&hash, said) in hashes.iter().zip(said.into_iter().flatten()) {
        let may = filter.as_ref().is_some_and(|filter| filter.may(hash));
        assert_eq!(said, may, "{parameters:?} {hash:x}");
    }
}

/// A filter, read by the steps of docs/format.md.
enum Naive<'a> {
    /// Of a segment without keys.
    Empty,
    None,
    Blocked {
        bytes: &'a [u8],
        probes: u8,
    },
    Bloom {
        bytes: &'a [u8],
        hashes: u8,
    },
    Fuse {
        bytes: &'a [u8],
        width: u8,
        segment: u8,
        attempt: u8,
        slots: u64,
    },
}

impl Naive<'_> {
    /// `None` if it cannot be a filter for that many keys.
    fn read<'a>(bytes: &'a [u8], parameters: &[u8], keys: u64) -> Option<Naive<'a>> {
        let (number, rest) = parameters.split_at_checked(2)?;
        let has_keys = keys > 0;
        let (fits, filter) = match (u16::from_le_bytes([number[0], number[1]]), rest) {
            (1, &[probes, ..]) => {
                let fits = bytes.len().is_multiple_of(64) && (1..=32).contains(&probes);
                (
                    fits && has_keys != bytes.is_empty(),
                    Naive::Blocked { bytes, probes },
                )
            }
            (2, &[hashes, ..]) => {
                let fits = bytes.len().is_multiple_of(8) && (1..=64).contains(&hashes);
                (
                    fits && has_keys != bytes.is_empty(),
                    Naive::Bloom { bytes, hashes },
                )
            }
            (3, &[width, segment, attempt, ref slots @ ..]) if slots.len() >= 8 => {
                let slots = u64_at(slots, 0);
                let fits = (1..=32).contains(&width)
                    && segment <= 18
                    && attempt < 100
                    && slots.is_multiple_of(1 << segment)
                    && slots >= 3 << segment;
                let len = if has_keys {
                    fuse_bytes(slots, width)
                } else {
                    0
                };
                let filter = Naive::Fuse {
                    bytes,
                    width,
                    segment,
                    attempt,
                    slots,
                };
                (fits && bytes.len() as u128 == len, filter)
            }
            (4, _) => (bytes.is_empty(), Naive::None),
            _ => return None,
        };
        let is_empty = bytes.is_empty() && !matches!(filter, Naive::None);
        fits.then_some(if is_empty { Naive::Empty } else { filter })
    }

    /// False if no key with this hash is in the segment.
    fn may(&self, hash: u64) -> bool {
        match *self {
            Naive::Empty => false,
            Naive::None => true,
            Naive::Blocked { bytes, probes } => blocked(bytes, probes, hash),
            Naive::Bloom { bytes, hashes } => bloom(bytes, hashes, hash),
            Naive::Fuse {
                bytes,
                width,
                segment,
                attempt,
                slots,
            } => {
                let m =
                    (0..=attempt).fold(hash, |m, _| remix(m.wrapping_add(0x9e37_79b9_7f4a_7c15)));
                let length = 1u64 << segment;
                let first = scale(m, slots - 2 * length);
                let second = (first + length) ^ ((m >> 18) % length);
                let third = (first + 2 * length) ^ (m % length);
                let fingerprint = m.wrapping_mul(0xd6e8_feb8_6659_fd93) >> (64 - width);
                let slot = |slot: u64| {
                    (0..width.into()).fold(0, |value, place| {
                        value | bit(bytes, slot * u64::from(width) + place) << place
                    })
                };
                slot(first) ^ slot(second) ^ slot(third) == fingerprint
            }
        }
    }
}

/// The bytes of a fuse filter for a segment that has keys.
fn fuse_bytes(slots: u64, width: u8) -> u128 {
    (u128::from(slots) * u128::from(width)).div_ceil(8) + 7
}

fn blocked(bytes: &[u8], probes: u8, hash: u64) -> bool {
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
        bit(block, (m << (9 * of_seven)) >> 55) == 1
    })
}

fn bloom(bytes: &[u8], hashes: u8, hash: u64) -> bool {
    let bits = bytes.len() as u64 * 8;
    let mut position = scale(hash, bits);
    let mut step = scale(remix(hash), bits);
    (0..u64::from(hashes)).all(|number| {
        let is_set = bit(bytes, position) == 1;
        position = (position + step) % bits;
        step = (step + number) % bits;
        is_set
    })
}

fn bit(bytes: &[u8], place: u64) -> u64 {
    u64::from(bytes[(place / 8) as usize] >> (place % 8) & 1)
}

fn scale(hash: u64, bound: u64) -> u64 {
    ((u128::from(hash) * u128::from(bound)) >> 64) as u64
}

fn remix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
