//! What entries of a segment have beside their keys.

/// The form of a segment's blocks: one of the format's version, and of whether it has
/// records.
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
    pub(crate) const ALL: [Form; 3] = [Form::Records, Form::Millis, Form::Bare];

    /// Of the segments of a version, with records or without.
    pub(crate) fn of(version: u32, records: bool) -> Form {
        match (records, version) {
            (false, _) => Form::Bare,
            (true, 1) => Form::Millis,
            (true, _) => Form::Records,
        }
    }

    /// Numbers that each entry has.
    #[inline]
    pub(super) fn values(self) -> u8 {
        (self != Form::Bare).into()
    }
}
