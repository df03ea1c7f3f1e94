//! The kinds of filters.

use std::fmt;
use std::str::FromStr;

/// How filters of new segments are built. Each has its price: `docs/filters.md` has the
/// figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
#[repr(u16)]
pub enum FilterKind {
    /// No filter: every lookup reads a block of each run whose range holds the key. To
    /// measure what filters save.
    None = 4,
    /// A classic Bloom filter: as many cache lines as hashes, at worst.
    Bloom = 2,
    /// A Bloom filter whose bits for a key all lie in one cache line; a little larger.
    #[default]
    Blocked = 1,
    /// A binary fuse filter: the smallest, in three cache lines; the slowest to build.
    Fuse = 3,
}

impl FilterKind {
    /// All kinds that filter.
    pub const FILTERS: [FilterKind; 3] = [FilterKind::Bloom, FilterKind::Blocked, FilterKind::Fuse];

    /// The kinds that this build reads, for messages.
    pub(crate) const KNOWN: &str = "filter kinds 1 (blocked), 2 (bloom), 3 (fuse) and 4 (none)";

    /// The number on disk.
    pub(crate) fn number(self) -> u16 {
        self as u16
    }

    pub(crate) fn from_number(number: u16) -> Option<FilterKind> {
        match number {
            1 => Some(FilterKind::Blocked),
            2 => Some(FilterKind::Bloom),
            3 => Some(FilterKind::Fuse),
            4 => Some(FilterKind::None),
            _ => None,
        }
    }

    /// The name, as [`FromStr`] reads it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FilterKind::None => "none",
            FilterKind::Bloom => "bloom",
            FilterKind::Blocked => "blocked",
            FilterKind::Fuse => "fuse",
        }
    }
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is the name of no kind of filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no kind of filter has this name: it is bloom, blocked, fuse or none")]
#[non_exhaustive]
pub struct UnknownFilter;

impl FromStr for FilterKind {
    type Err = UnknownFilter;

    fn from_str(name: &str) -> Result<FilterKind, UnknownFilter> {
        let mut kinds = FilterKind::FILTERS.into_iter().chain([FilterKind::None]);
        kinds.find(|kind| kind.name() == name).ok_or(UnknownFilter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_of_one_kind_each() {
        for kind in FilterKind::FILTERS.into_iter().chain([FilterKind::None]) {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(FilterKind::from_number(kind.number()), Some(kind));
        }
        assert_eq!("Bloom".parse::<FilterKind>(), Err(UnknownFilter));
        assert_eq!(FilterKind::from_number(0), None);
        assert_eq!(FilterKind::from_number(5), None);
    }
}
