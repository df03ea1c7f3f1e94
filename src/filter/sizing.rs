//! The theory of the classic Bloom filter: how large a filter is for so many keys at such
//! a rate, and the questions the other way round.
//!
//! A filter of `m` bits that sets `k` of them for each of its `n` keys says "maybe" to an
//! absent key with the probability
//!
//! ```text
//! p = (1 - e^(-k n / m))^k
//! ```
//!
//! which is least for `k = (m / n) ln 2`, half of the bits being set; and then
//! `m = -n ln p / (ln 2)^2`. The trade of bits against rate is Bloom's (Space/Time Trade-offs
//! in Hash Coding with Allowable Errors, CACM 13(7), 1970); in this form it is in Broder and
//! Mitzenmacher (Network Applications of Bloom Filters: A Survey, Internet Mathematics 1(4),
//! 2004, section 2.1).
//!
//! These are figures to plan with, and to compare with. A store's own filters are of several
//! kinds ([`FilterKind`](crate::FilterKind)), each with its own price.
//!
//! ```
//! use seendb::filter::sizing::{Sizing, capacity};
//!
//! // 50 million keys at 1 %: 9.6 bits a key and 7 hashes, 60 MB.
//! let sizing = Sizing::for_rate(50_000_000, 0.01)?;
//! assert_eq!(sizing.hashes(), 7);
//! assert_eq!(sizing.bytes() / 1_000_000, 59);
//! assert!((sizing.bits_per_key() - 9.585).abs() < 0.001);
//!
//! // If twice as many arrive, one absent key in six is called "maybe".
//! assert!((sizing.rate_with(100_000_000) - 0.157).abs() < 0.001);
//!
//! // What fits into 60 MB at 0.1 %?
//! assert_eq!(capacity(60_000_000, 0.001)? / 1_000_000, 33);
//! # Ok::<(), seendb::Error>(())
//! ```

use crate::error::{Error, Result};
use std::f64::consts::LN_2;

/// From here on one hash is best, and a filter needs more than `-ln p / (ln 2)^2` bits a key.
const ONE_HASH: f64 = 0.5;

/// A classic Bloom filter on paper: keys, bits, hashes, and what follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizing {
    keys: u64,
    bits: u64,
    hashes: u32,
}

impl Sizing {
    /// The smallest filter that says "maybe" to `rate` of absent keys when it holds `keys`:
    /// a share between 0 and 1, such as 0.01 for 1 %. No keys take no bits.
    ///
    /// The bits are those of the formula, which allows a fraction of a hash. With whole
    /// hashes [`rate`](Sizing::rate) is higher by less than a 25th of itself: 1.004 % for 1 %.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for a rate that is not within 0 and 1, both excluded, and for
    /// so many keys that the number of bits does not fit 64 bits.
    ///
    /// ```
    /// use seendb::filter::sizing::Sizing;
    ///
    /// assert_eq!(Sizing::for_rate(1_000, 0.001)?.hashes(), 10);
    /// assert!(Sizing::for_rate(1_000, 0.0).is_err());
    /// # Ok::<(), seendb::Error>(())
    /// ```
    pub fn for_rate(keys: u64, rate: f64) -> Result<Sizing> {
        let per_key = bits_for(rate)?;
        let most = u64::MAX as f64 / per_key;
        let bits = (keys as f64 * per_key).ceil();
        if bits >= u64::MAX as f64 {
            return Err(Error::InvalidOption {
                option: "keys",
                expected: format!(
                    "at most about {most:.1e} at this rate: more bits than 64 bits count"
                ),
                found: keys.to_string(),
            });
        }
        Ok(Sizing {
            keys,
            bits: whole(bits),
            hashes: best_hashes(per_key),
        })
    }

    /// The filter that uses `bytes` best for `keys`, as many hashes as that takes.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for no bytes, and for so many that the number of bits does not
    /// fit 64 bits.
    ///
    /// ```
    /// use seendb::filter::sizing::Sizing;
    ///
    /// // A billion keys in 1 GiB: 1.6 %.
    /// let sizing = Sizing::for_memory(1_000_000_000, 1 << 30)?;
    /// assert_eq!(sizing.hashes(), 6);
    /// assert!((sizing.rate() - 0.0161).abs() < 0.0001);
    /// # Ok::<(), seendb::Error>(())
    /// ```
    pub fn for_memory(keys: u64, bytes: u64) -> Result<Sizing> {
        let bits = bits_of(bytes)?;
        Ok(Sizing {
            keys,
            bits,
            // No keys are as well off with the hashes of one.
            hashes: best_hashes(bits as f64 / keys.max(1) as f64),
        })
    }

    /// The keys that the filter is made for.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Bits of the filter.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Bytes of the filter, a last one that is not full among them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// Bits for each of the keys that the filter is made for; 0 if there are none.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        if self.keys == 0 {
            return 0.0;
        }
        self.bits as f64 / self.keys as f64
    }

    /// Bits that are set, and tested, for each key.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The share of absent keys to which the filter says "maybe" when it holds the keys that
    /// it is made for, from 0 to 1.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate_with(self.keys)
    }

    /// The same when it holds so many keys instead. A filter that is filled beyond what it
    /// was made for gets worse fast.
    ///
    /// ```
    /// use seendb::filter::sizing::Sizing;
    ///
    /// let sizing = Sizing::for_rate(1_000_000, 0.01)?;
    /// assert!(sizing.rate_with(2_000_000) > 0.15);
    /// assert!(sizing.rate_with(4_000_000) > 0.67);
    /// # Ok::<(), seendb::Error>(())
    /// ```
    #[must_use]
    pub fn rate_with(&self, keys: u64) -> f64 {
        match (keys, self.bits) {
            (0, _) => 0.0,
            // No bit says no.
            (_, 0) => 1.0,
            _ => rate_of(self.bits as f64 / keys as f64, self.hashes),
        }
    }
}

/// The most keys for which a filter of so many bytes keeps to `rate`: a share between 0 and 1,
/// such as 0.01 for 1 %. The bits are those of [`Sizing::for_rate`]; `u64::MAX` if it is more.
///
/// # Errors
///
/// [`Error::InvalidOption`] for a rate that is not within 0 and 1, both excluded, for no
/// bytes, and for so many that the number of bits does not fit 64 bits.
///
/// ```
/// // 1 GiB at 1 %: 896 million keys.
/// let keys = seendb::filter::sizing::capacity(1 << 30, 0.01)?;
/// assert_eq!(keys / 1_000_000, 896);
/// # Ok::<(), seendb::Error>(())
/// ```
pub fn capacity(bytes: u64, rate: f64) -> Result<u64> {
    let per_key = bits_for(rate)?;
    Ok(whole(bits_of(bytes)? as f64 / per_key))
}

/// Bits a key for a rate.
fn bits_for(rate: f64) -> Result<f64> {
    // Written so that what is not a number fails too.
    if !(rate > 0.0 && rate < 1.0) {
        return Err(Error::InvalidOption {
            option: "rate",
            expected: "more than 0 and less than 1, such as 0.01 for 1 %".into(),
            found: rate.to_string(),
        });
    }
    Ok(if rate <= ONE_HASH {
        -rate.ln() / (LN_2 * LN_2)
    } else {
        // p = 1 - e^(-n / m), for m.
        -1.0 / (-rate).ln_1p()
    })
}

/// Bits of so many bytes.
fn bits_of(bytes: u64) -> Result<u64> {
    bytes
        .checked_mul(8)
        .filter(|bits| *bits > 0)
        .ok_or_else(|| Error::InvalidOption {
            option: "memory",
            expected: format!("1 to {} bytes", u64::MAX / 8),
            found: bytes.to_string(),
        })
}

/// The whole number of hashes that gives the least rate: next to `(m / n) ln 2`, at least 1.
fn best_hashes(bits_per_key: f64) -> u32 {
    let best = bits_per_key * LN_2;
    let below = hashes(best.floor());
    let above = hashes(best.ceil());
    if rate_of(bits_per_key, below) < rate_of(bits_per_key, above) {
        below
    } else {
        above
    }
}

/// (1 - e^(-k n / m))^k
fn rate_of(bits_per_key: f64, hashes: u32) -> f64 {
    let hashes = f64::from(hashes);
    let set = -(-hashes / bits_per_key).exp_m1();
    set.powf(hashes)
}

/// At least one; what is more than fits is the most that fits.
fn hashes(number: f64) -> u32 {
    number.max(1.0) as u32
}

/// The whole part; what is more than fits is the most that fits.
fn whole(number: f64) -> u64 {
    number as u64
}
