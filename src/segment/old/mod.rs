//! Segments of format versions 1 to 3, which are read and no longer written.
#![deny(clippy::indexing_slicing)]

mod block;
mod coded;
mod index;
mod region;
#[cfg(test)]
mod tests;

pub(super) use block::{Block, measure};
pub(super) use index::{begins_index, convert, is_index_of};

/// The last version of these.
pub(super) const LAST: u32 = 3;

/// The form of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Keys alone.
    Bare,
    /// As version 1 has it: times, in milliseconds.
    Millis,
    /// Records, with times in seconds.
    Records,
}

impl Form {
    /// Of the segments of a version, with records or without; `None` of a later one.
    pub(super) fn of(version: u32, records: bool) -> Option<Form> {
        match (records, version) {
            (_, version) if version > LAST => None,
            (false, _) => Some(Form::Bare),
            (true, 1) => Some(Form::Millis),
            (true, _) => Some(Form::Records),
        }
    }

    /// Numbers that each entry has.
    #[inline]
    fn values(self) -> u8 {
        (self != Form::Bare).into()
    }
}
