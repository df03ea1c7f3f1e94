//! What needs the processor's own instructions: prefetching, and a scan over packed keys
//! in vectors, which has a portable twin.
#![allow(
    unsafe_code,
    reason = "prefetching and vector loads are not expressible in safe code"
)]

/// Asks the processor to bring the cache line of `place` closer. Only a hint.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address, and SSE is part of
    // the x86_64 baseline.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Asks for the cache lines of `bytes`, up to so many.
#[inline]
pub(crate) fn prefetch_lines(bytes: &[u8], most: usize) {
    const LINE: usize = 64;
    let lines = bytes.len().div_ceil(LINE).min(most);
    let start = bytes.as_ptr();
    for line in 0..lines {
        prefetch(start.wrapping_add(line * LINE));
    }
}

/// Three columns of a list of keys, with a byte an entry in each: how many bytes it shares
/// with the entry before, the first byte behind these, and how many pieces follow that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// The columns one behind the other; there may be more bytes behind them.
    bytes: &'a [u8],
    entries: usize,
}

/// Where a scan came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The entry, or the number of entries.
    pub(crate) entry: usize,
    /// The sum of the pieces of those that were passed.
    pub(crate) pieces: usize,
}

impl<'a> Columns<'a> {
    /// Bytes that an entry takes.
    pub(crate) const WIDTH: usize = 3;

    /// `None` if there are fewer bytes.
    #[inline]
    pub(crate) fn new(bytes: &'a [u8], entries: usize) -> Option<Columns<'a>> {
        (entries.checked_mul(Self::WIDTH)? <= bytes.len()).then_some(Columns { bytes, entries })
    }

    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    #[inline]
    pub(crate) fn shared(&self, entry: usize) -> u8 {
        self.byte(entry)
    }

    #[inline]
    pub(crate) fn first(&self, entry: usize) -> u8 {
        self.byte(self.entries + entry)
    }

    #[inline]
    pub(crate) fn pieces(&self, entry: usize) -> u8 {
        self.byte(2 * self.entries + entry)
    }

    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The first entry, from `from` on, that may not be below a key. The entry before
    /// `from` is below it and has `matched` bytes in common with it; `byte` is the key's
    /// next. What shares more with the entry before it than that has in common with the
    /// key is below the key as that is; what shares less is above it; what shares as much
    /// is below it if its first byte is.
    #[inline]
    pub(crate) fn scan(&self, from: usize, matched: u8, byte: u8) -> Stop {
        #[cfg(target_arch = "x86_64")]
        return self.scan_sse2(from, matched, byte);
        #[cfg(not(target_arch = "x86_64"))]
        self.scan_portable(from, matched, byte)
    }

    #[cfg_attr(target_arch = "x86_64", cold)]
    fn scan_portable(&self, from: usize, matched: u8, byte: u8) -> Stop {
        let mut pieces = 0;
        for entry in from..self.entries {
            let shared = self.shared(entry);
            if shared < matched || (shared == matched && self.first(entry) >= byte) {
                return Stop { entry, pieces };
            }
            pieces += usize::from(self.pieces(entry));
        }
        Stop {
            entry: self.entries.max(from),
            pieces,
        }
    }

    /// The same 16 entries at a time. SSE2 is part of the x86_64 baseline.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn scan_sse2(&self, from: usize, matched: u8, byte: u8) -> Stop {
        use std::arch::x86_64::*;
        const LANES: usize = 16;
        /// Its 16 bytes from `LANES - n` on keep the first `n` lanes.
        static KEEP: [u8; 2 * LANES] = {
            let mut keep = [0; 2 * LANES];
            let mut lane = 0;
            while lane < LANES {
                keep[lane] = 0xff;
                lane += 1;
            }
            keep
        };
        // Checked once, so that no load has to be: the last of them begins at or before the
        // last entry of the last column.
        if self.bytes.len() < self.entries * Self::WIDTH + LANES {
            return self.scan_portable(from, matched, byte);
        }
        let load = |at: usize| {
            debug_assert!(at + LANES <= self.bytes.len());
            // SAFETY: `at` is below `entries * WIDTH`, behind which there are 16 bytes; the
            // load needs no alignment.
            unsafe { _mm_loadu_si128(self.bytes.as_ptr().add(at).cast()) }
        };
        let mut entry = from;
        // SAFETY: SSE2 is there on every x86_64, and `keep` reads 16 of 32 bytes, from 0 to 16
        // on.
        unsafe {
            let matched = _mm_set1_epi8(matched.cast_signed());
            let byte = _mm_set1_epi8(byte.cast_signed());
            let zero = _mm_setzero_si128();
            let mut pieces = zero;
            while entry < self.entries {
                let shared = load(entry);
                let first = load(self.entries + entry);
                let counts = load(2 * self.entries + entry);
                let not_more = _mm_cmpeq_epi8(_mm_min_epu8(shared, matched), shared);
                let as_much = _mm_cmpeq_epi8(shared, matched);
                let not_below = _mm_cmpeq_epi8(_mm_max_epu8(first, byte), first);
                let passes = _mm_andnot_si128(not_below, as_much);
                let stops = _mm_andnot_si128(passes, not_more);
                let mask = _mm_movemask_epi8(stops).cast_unsigned();
                let left = self.entries - entry;
                if mask == 0 && left >= LANES {
                    pieces = _mm_add_epi64(pieces, _mm_sad_epu8(counts, zero));
                    entry += LANES;
                    continue;
                }
                let passed = ((mask | 1 << LANES).trailing_zeros() as usize).min(left);
                let keep = _mm_loadu_si128(KEEP.as_ptr().add(LANES - passed).cast());
                let counts = _mm_and_si128(counts, keep);
                pieces = _mm_add_epi64(pieces, _mm_sad_epu8(counts, zero));
                entry += passed;
                break;
            }
            let high = _mm_srli_si128::<8>(pieces);
            // At most 255 for each of 65,535 entries.
            let pieces = _mm_cvtsi128_si32(_mm_add_epi64(pieces, high)).cast_unsigned() as usize;
            Stop { entry, pieces }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn vectors_stop_where_the_portable_twin_does(
            entries in proptest::collection::vec((0u8..6, any::<u8>(), any::<u8>()), 0..90),
            behind in 0usize..20,
            from in 0usize..95,
            matched in 0u8..7,
            byte in any::<u8>(),
            wide in any::<bool>(),
        ) {
            let scale = if wide { 50 } else { 1 };
            let mut bytes: Vec<u8> = entries.iter().map(|e| e.0 * scale).collect();
            bytes.extend(entries.iter().map(|e| e.1));
            bytes.extend(entries.iter().map(|e| e.2));
            bytes.resize(bytes.len() + behind, 0xa5);
            let columns = Columns::new(&bytes, entries.len()).unwrap();
            let matched = matched.saturating_mul(scale);
            prop_assert_eq!(
                columns.scan(from, matched, byte),
                columns.scan_portable(from, matched, byte)
            );
        }
    }

    #[test]
    fn columns_beyond_their_bytes_are_none() {
        assert!(Columns::new(&[0; 5], 2).is_none());
        assert!(Columns::new(&[0; 6], 2).is_some());
        assert!(Columns::new(&[], usize::MAX).is_none());
    }
}
