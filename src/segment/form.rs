//! How a segment has its keys, and what it has beside them.

use super::old;

/// The form of a segment's blocks: one of the format's version, and of whether it has
/// records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As versions 1 to 3 have it.
    Old(old::Form),
    Packed {
        records: bool,
    },
}

impl Form {
    /// The forms that a block may have of which no more is known.
    pub(crate) const ALL: [Form; 5] = [
        Form::Packed { records: true },
        Form::Packed { records: false },
        Form::Old(old::Form::Records),
        Form::Old(old::Form::Millis),
        Form::Old(old::Form::Bare),
    ];

    /// Of the segments of a version, with records or without.
    pub(crate) fn of(version: u32, records: bool) -> Form {
        match old::Form::of(version, records) {
            Some(form) => Form::Old(form),
            None => Form::Packed { records },
        }
    }

    /// Whether entries have no records.
    pub(super) fn is_bare(self) -> bool {
        matches!(
            self,
            Form::Packed { records: false } | Form::Old(old::Form::Bare)
        )
    }
}
