//! Front-coded keys: the form of the entries of a block, and of the index.
//!
//! ```text
//! entries         one after the other
//! restarts  u32 each: offsets of every 16th entry, beginning with the first
//! count     u32   of the restarts
//! ```
//!
//! An entry:
//!
//! ```text
//! shared    varint   bytes that the key has in common with the one before; as
//!                    many as it can be, but 0 at a restart
//! length    varint   of the suffix
//! values    varint   a fixed number of them, known from what the region is for
//! suffix    [u8; length]
//! ```
//!
//! Offsets count from the region's beginning. Keys ascend strictly. That `shared`
//! is the most that it can be is what lets a search decide most entries by two
//! numbers, without looking at their bytes.
#![deny(clippy::indexing_slicing)]

use crate::wire::{Malformed, Reader, put_varint};
use std::cmp::Ordering;

/// Every how many entries a key is stored whole.
pub(super) const RESTART: usize = 16;

/// The number of bytes that two keys have in common at their beginning.
#[inline]
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    let (wide_a, _) = a.as_chunks::<8>();
    let (wide_b, _) = b.as_chunks::<8>();
    let mut equal = 0;
    for (x, y) in wide_a.iter().zip(wide_b) {
        let differ = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differ != 0 {
            return equal + (differ.trailing_zeros() / 8) as usize;
        }
        equal += 8;
    }
    let rest = a.iter().zip(b).skip(equal);
    equal + rest.take_while(|(x, y)| x == y).count()
}

/// Writes a region.
#[derive(Debug, Default)]
pub(super) struct Builder {
    bytes: Vec<u8>,
    restarts: Vec<u8>,
    count: usize,
}

impl Builder {
    /// Adds a key that has `shared` bytes in common with the one before.
    pub(super) fn push(&mut self, key: &[u8], shared: usize, values: &[u64]) {
        let restart = self.count.is_multiple_of(RESTART);
        let shared = if restart { 0 } else { shared };
        if restart {
            // `finish` refuses a region in which this would have been cut.
            let offset = self.bytes.len() as u32;
            self.restarts.extend_from_slice(&offset.to_le_bytes());
        }
        let suffix = key.get(shared..).unwrap_or_default();
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, suffix.len() as u64);
        for &value in values {
            put_varint(&mut self.bytes, value);
        }
        self.bytes.extend_from_slice(suffix);
        self.count += 1;
    }

    /// The size of the region if it ended here.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.restarts.len() + 4
    }

    /// Appends the region to `out` and begins another. False if it is too large
    /// for its offsets; nothing was appended then.
    #[must_use]
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        if u32::try_from(self.len()).is_err() {
            return false;
        }
        let restarts = (self.restarts.len() / 4) as u32;
        out.extend_from_slice(&self.bytes);
        out.extend_from_slice(&self.restarts);
        out.extend_from_slice(&restarts.to_le_bytes());
        self.bytes.clear();
        self.restarts.clear();
        self.count = 0;
        true
    }
}

/// A varint at `at`, which is moved behind it. Most take one byte.
#[inline(always)]
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Result<u64, Malformed> {
    match bytes.get(*at) {
        Some(&byte) if byte < 0x80 => {
            *at += 1;
            Ok(u64::from(byte))
        }
        _ => long_varint(bytes, at),
    }
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: &mut usize) -> Result<u64, Malformed> {
    let mut reader = Reader::new(bytes.get(*at..).unwrap_or_default());
    let value = reader.varint("a number").map_err(|m| Malformed {
        at: *at + m.at,
        ..m
    })?;
    *at += reader.offset();
    Ok(value)
}

/// A varint that counts bytes of a key. Larger ones are left to the caller, who
/// compares with what there is: they are cut to a number that nothing reaches.
#[inline(always)]
fn length(bytes: &[u8], at: &mut usize) -> Result<usize, Malformed> {
    varint(bytes, at).map(|length| usize::try_from(length).unwrap_or(usize::MAX))
}

/// A region that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region<'a> {
    entries: &'a [u8],
    restarts: &'a [[u8; 4]],
    values: u8,
}

/// One entry, without what it shares with the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) shared: usize,
    pub(super) suffix: &'a [u8],
    /// The offset of its values.
    pub(super) values_at: usize,
    /// The offset of the next entry.
    pub(super) next: usize,
}

/// The last entry that is not above a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floor {
    /// Its place among the region's entries.
    pub(super) ordinal: usize,
    pub(super) values_at: usize,
    /// Whether it is the key itself.
    pub(super) exact: bool,
}

impl<'a> Region<'a> {
    /// A region whose entries have `values` values.
    #[inline]
    pub(super) fn parse(bytes: &'a [u8], values: u8) -> Result<Region<'a>, Malformed> {
        let malformed = Malformed {
            at: bytes.len().saturating_sub(4),
            expected: "the number of restarts that fits the region",
        };
        let (rest, count) = bytes.split_last_chunk::<4>().ok_or(malformed)?;
        let split = usize::try_from(u32::from_le_bytes(*count))
            .ok()
            .and_then(|count| count.checked_mul(4))
            .and_then(|len| rest.len().checked_sub(len))
            .ok_or(malformed)?;
        let (entries, restarts) = rest.split_at_checked(split).ok_or(malformed)?;
        let (restarts, _) = restarts.as_chunks();
        if entries.is_empty() != restarts.is_empty() {
            return Err(malformed);
        }
        Ok(Region {
            entries,
            restarts,
            values,
        })
    }

    /// The offset behind the last entry.
    pub(super) fn end(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn restarts(&self) -> usize {
        self.restarts.len()
    }

    /// The offset of the `which`th restart, or the entries' end.
    #[inline]
    pub(super) fn restart(&self, which: usize) -> usize {
        self.restarts.get(which).map_or(self.entries.len(), |at| {
            usize::try_from(u32::from_le_bytes(*at)).unwrap_or(usize::MAX)
        })
    }

    /// The entry at an offset.
    #[inline(always)]
    pub(super) fn entry(&self, mut at: usize) -> Result<Entry<'a>, Malformed> {
        let start = at;
        let shared = length(self.entries, &mut at)?;
        let len = length(self.entries, &mut at)?;
        let values_at = at;
        for _ in 0..self.values {
            varint(self.entries, &mut at)?;
        }
        let suffix = at
            .checked_add(len)
            .and_then(|next| self.entries.get(at..next))
            .ok_or(Malformed {
                at: start,
                expected: "an entry that ends within its block",
            })?;
        Ok(Entry {
            shared,
            suffix,
            values_at,
            next: at + len,
        })
    }

    /// A value, and the offset behind it.
    pub(super) fn value(&self, mut at: usize) -> Result<(u64, usize), Malformed> {
        let value = varint(self.entries, &mut at)?;
        Ok((value, at))
    }

    /// The key of a restart.
    #[inline]
    fn restart_key(&self, which: usize) -> Result<&'a [u8], Malformed> {
        let at = self.restart(which);
        let entry = self.entry(at)?;
        if entry.shared != 0 {
            return Err(Malformed {
                at,
                expected: "a whole key at a restart",
            });
        }
        Ok(entry.suffix)
    }

    /// The last restart whose key is not above `key`.
    #[inline]
    pub(super) fn restart_for(&self, key: &[u8]) -> Result<Option<usize>, Malformed> {
        let (mut low, mut high) = (0, self.restarts.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.restart_key(middle)? <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1))
    }

    /// The last entry whose key is not above `key`, found without building keys.
    #[inline]
    pub(super) fn floor(&self, key: &[u8]) -> Result<Option<Floor>, Malformed> {
        let Some(restart) = self.restart_for(key)? else {
            return Ok(None);
        };
        let mut at = self.restart(restart);
        let end = self.restart(restart + 1);
        let mut found = None;
        // How many bytes the last entry that was passed has in common with the
        // key. That entry is below the key.
        let mut matched = 0;
        let mut ordinal = restart * RESTART;
        while at < end {
            let entry = self.entry(at)?;
            let mut exact = false;
            match entry.shared.cmp(&matched) {
                // It differs from the key where the entry before did.
                Ordering::Greater => {}
                // It rose above the entry before within what that one has in
                // common with the key, so it is above the key.
                Ordering::Less => break,
                Ordering::Equal => {
                    let rest = key.get(matched..).unwrap_or_default();
                    let equal = common(entry.suffix, rest);
                    match (entry.suffix.get(equal), rest.get(equal)) {
                        (None, None) => exact = true,
                        (None, Some(_)) => {}
                        (Some(_), None) => break,
                        (Some(theirs), Some(ours)) if theirs > ours => break,
                        (Some(_), Some(_)) => {}
                    }
                    matched += equal;
                }
            }
            found = Some(Floor {
                ordinal,
                values_at: entry.values_at,
                exact,
            });
            if exact {
                break;
            }
            ordinal += 1;
            at = entry.next;
        }
        Ok(found)
    }

    /// Reads the entry at `at`, turning `key` from the key before it into its own.
    #[inline]
    pub(super) fn step(&self, at: usize, key: &mut Vec<u8>) -> Result<Entry<'a>, Malformed> {
        let entry = self.entry(at)?;
        if entry.shared > key.len() || entry.shared + entry.suffix.len() > super::MAX_KEY {
            return Err(Malformed {
                at,
                expected: "an entry that continues the one before",
            });
        }
        key.truncate(entry.shared);
        key.extend_from_slice(entry.suffix);
        Ok(entry)
    }
}
