//! What is known of a key.

use std::time::{Duration, SystemTime};

/// The largest time that a record can hold, in milliseconds since 1970: 48 bits,
/// which reach into the year 10889.
pub(crate) const MAX_MILLIS: u64 = (1 << 48) - 1;

/// What the store knows of a URL.
///
/// The struct is non-exhaustive: later versions record more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Record {
    /// When the URL was first inserted, to the millisecond; absent in a store
    /// that was created with [`stamps(false)`](crate::Builder::stamps).
    pub first_seen: Option<SystemTime>,
}

impl Record {
    /// The record of a key that was inserted at `millis` since 1970.
    pub(crate) fn seen_at(millis: Option<u64>) -> Record {
        Record {
            first_seen: millis.map(|m| SystemTime::UNIX_EPOCH + Duration::from_millis(m)),
        }
    }

    /// The time first seen, in milliseconds since 1970.
    pub(crate) fn millis(&self) -> Option<u64> {
        self.first_seen.map(millis_of)
    }
}

/// Milliseconds since 1970, cut to what a record can hold. Times before 1970
/// count as 1970.
pub(crate) fn millis_of(time: SystemTime) -> u64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).map_or(MAX_MILLIS, |m| m.min(MAX_MILLIS))
}
