//! A region of front-coded keys (see `coded`) that is read: search and steps.
#![deny(clippy::indexing_slicing)]

use super::super::MAX_KEY;
use super::super::packed::common;
use super::coded::RESTART;
use crate::wire::{Malformed, Reader};
use std::cmp::Ordering;

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
    pub(super) fn entry(&self, at: usize) -> Result<Entry<'a>, Malformed> {
        // Nearly always the numbers take at most eight bytes, and those before
        // the values one each. Then one load tells them all, without a branch
        // that depends on them.
        const MORE: u64 = 0x8080_8080_8080_8080;
        const IN_VALUES: u64 = MORE << 16;
        let head = self.entries.get(at..).and_then(|rest| rest.first_chunk());
        if let Some(head) = head {
            let head = u64::from_le_bytes(*head);
            let ends = !head & IN_VALUES;
            let (fits, numbers) = match self.values {
                0 => (true, 2),
                1 => (ends != 0, ends.trailing_zeros() / 8 + 1),
                _ => {
                    let ends = ends & ends.wrapping_sub(1);
                    (ends != 0, ends.trailing_zeros() / 8 + 1)
                }
            };
            if fits && head & 0x8080 == 0 {
                let len = (head >> 8 & 0x7f) as usize;
                let start = at + numbers as usize;
                if let Some(suffix) = self.entries.get(start..start + len) {
                    return Ok(Entry {
                        shared: (head & 0x7f) as usize,
                        suffix,
                        values_at: at + 2,
                        next: start + len,
                    });
                }
            }
        }
        self.long_entry(at)
    }

    #[inline(never)]
    fn long_entry(&self, mut at: usize) -> Result<Entry<'a>, Malformed> {
        let start = at;
        let shared = length(self.entries, &mut at)?;
        let len = length(self.entries, &mut at)?;
        let values_at = at;
        for _ in 0..self.values {
            varint(self.entries, &mut at)?;
        }
        let next = at.saturating_add(len);
        let suffix = self.entries.get(at..next).ok_or(Malformed {
            at: start,
            expected: "an entry that ends within its block",
        })?;
        Ok(Entry {
            shared,
            suffix,
            values_at,
            next,
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
    fn restart_for(&self, key: &[u8]) -> Result<Option<usize>, Malformed> {
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
                values_at: entry.values_at,
                exact,
            });
            if exact {
                break;
            }
            at = entry.next;
        }
        Ok(found)
    }

    /// Reads the entry at `at`, turning `key` from the key before it into its own.
    #[inline]
    pub(super) fn step(&self, at: usize, key: &mut Vec<u8>) -> Result<Entry<'a>, Malformed> {
        let entry = self.entry(at)?;
        if entry.shared > key.len() || entry.shared + entry.suffix.len() > MAX_KEY {
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

/// Checks all of a region that a search takes for granted.
pub(super) fn check_region(region: &Region<'_>) -> Result<(), Malformed> {
    let (mut key, mut last) = (Vec::new(), Vec::new());
    let (mut at, mut count) = (0, 0);
    while at < region.end() {
        let malformed = |expected| Malformed { at, expected };
        let entry = region.step(at, &mut key)?;
        if count > 0 && key <= last {
            return Err(malformed("a key above the one before"));
        }
        let most = if count % RESTART == 0 {
            if region.restart(count / RESTART) != at {
                return Err(malformed("an entry that a restart points to"));
            }
            0
        } else {
            common(&last, &key)
        };
        if entry.shared != most {
            return Err(malformed("an entry that shares as much as it can"));
        }
        last.clone_from(&key);
        at = entry.next;
        count += 1;
    }
    if region.restarts() != count.div_ceil(RESTART) {
        return Err(Malformed {
            at,
            expected: "one restart for 16 entries",
        });
    }
    Ok(())
}

/// The length of the region that `bytes` begin with, told by its entries alone: behind
/// the last of them comes the first restart, which is zero, and no entry is without a
/// suffix, unless the first is the empty separator of an index. That it is a region is
/// for checksums and [`check_region`] to say.
pub(super) fn measure(bytes: &[u8], values: u8, empty_first: bool) -> Option<usize> {
    let (mut at, mut count, mut key) = (0_usize, 0_usize, 0_usize);
    loop {
        let mut next = at;
        let shared = length(bytes, &mut next).ok()?;
        let len = length(bytes, &mut next).ok()?;
        if len == 0 && !(empty_first && count == 0) {
            break;
        }
        for _ in 0..values {
            varint(bytes, &mut next).ok()?;
        }
        if shared > key || (count.is_multiple_of(RESTART) && shared != 0) {
            return None;
        }
        key = shared.checked_add(len).filter(|&len| len <= MAX_KEY)?;
        at = next.checked_add(len).filter(|&at| at <= bytes.len())?;
        count += 1;
    }
    let restarts = count.div_ceil(RESTART);
    let stored = at.checked_add(restarts.checked_mul(4)?)?;
    let end = stored.checked_add(4)?;
    let mut count = Reader::new(bytes.get(stored..end)?);
    (count.length_u32("restarts") == Ok(restarts)).then_some(end)
}
