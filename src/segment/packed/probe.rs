//! A key that is searched for.
#![deny(clippy::indexing_slicing)]

/// Bytes that are compared at once.
const WORD: usize = 16;

/// A key, and its end with zeros behind it, so that 16 bytes can be taken anywhere.
#[derive(Debug)]
pub(in crate::segment) struct Probe<'a> {
    key: &'a [u8],
    end: [u8; 2 * WORD],
    /// Where `end` begins in the key.
    end_at: usize,
}

impl<'a> Probe<'a> {
    #[inline]
    pub(in crate::segment) fn new(key: &'a [u8]) -> Probe<'a> {
        let mut end = [0; 2 * WORD];
        let (halves, _) = end.as_chunks_mut::<WORD>();
        match (key.last_chunk::<WORD>(), halves.first_mut()) {
            (Some(last), Some(half)) => *half = *last,
            (_, _) => end.iter_mut().zip(key).for_each(|(to, byte)| *to = *byte),
        }
        Probe {
            key,
            end,
            end_at: key.len().saturating_sub(WORD),
        }
    }

    #[inline]
    pub(in crate::segment) fn key(&self) -> &'a [u8] {
        self.key
    }

    #[inline]
    pub(in crate::segment) fn len(&self) -> usize {
        self.key.len()
    }

    #[inline]
    pub(in crate::segment) fn byte(&self, at: usize) -> Option<u8> {
        self.key.get(at).copied()
    }

    /// The 16 bytes from `at` on, the first of them lowest; zeros behind the key.
    #[inline(always)]
    pub(in crate::segment) fn word(&self, at: usize) -> u128 {
        let bytes = match self.key.get(at..).and_then(<[u8]>::first_chunk::<WORD>) {
            Some(bytes) => Some(bytes),
            None => self.near_end(at),
        };
        bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes))
    }

    #[inline(always)]
    fn near_end(&self, at: usize) -> Option<&[u8; WORD]> {
        let at = at.checked_sub(self.end_at)?;
        self.end.get(at..)?.first_chunk()
    }
}
