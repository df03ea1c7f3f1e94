//! What a dictionary is made from.

/// Byte strings, one after the other, that a dictionary is made from.
///
/// It should be of all of what is to be coded: many short stretches tell more than a few long
/// ones.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    bytes: Vec<u8>,
    /// Where each string ends.
    ends: Vec<usize>,
}

impl Sample {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.bytes.extend_from_slice(bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// Of all strings together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Where each string begins, and the string.
    pub(super) fn strings(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| (start, self.bytes.get(start..end).unwrap_or_default()))
    }
}
