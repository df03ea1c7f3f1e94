//! Writes the columns of packed keys.

use super::rows::MOST_SHARED;

/// The columns of a list that is being filled.
#[derive(Debug, Default)]
pub(in crate::segment) struct Builder {
    shared: Vec<u16>,
    first: Vec<u8>,
    pieces: Vec<u16>,
}

impl Builder {
    /// Adds an entry. The numbers are parts of a key's length.
    pub(in crate::segment) fn push(&mut self, shared: usize, first: u8, pieces: usize) {
        debug_assert!(shared <= super::MAX_KEY && pieces <= super::MAX_KEY);
        self.shared.push(shared as u16);
        self.first.push(first);
        self.pieces.push(pieces as u16);
    }

    pub(in crate::segment) fn entries(&self) -> usize {
        self.first.len()
    }

    /// Whether a narrow list has no room for its numbers.
    pub(in crate::segment) fn is_wide(&self) -> bool {
        self.shared
            .iter()
            .any(|&shared| shared > MOST_SHARED.into())
            || self.pieces.iter().any(|&pieces| pieces > u8::MAX.into())
    }

    /// Appends the columns, and begins another list.
    pub(in crate::segment) fn finish(&mut self, out: &mut Vec<u8>) {
        let wide = self.is_wide();
        let put = |out: &mut Vec<u8>, numbers: &[u16]| {
            for number in numbers {
                let bytes = number.to_le_bytes();
                out.extend_from_slice(if wide { &bytes } else { &bytes[..1] });
            }
        };
        put(out, &self.shared);
        out.extend_from_slice(&self.first);
        put(out, &self.pieces);
        self.shared.clear();
        self.first.clear();
        self.pieces.clear();
    }
}
