//! What is known of a key.

mod code;
mod expiry;
mod state;
mod stored;
mod token;

pub use state::{Outcome, Record, State, StateKind};
pub use token::{InvalidToken, Token};

pub(crate) use code::{
    Head, KNOWN_STATES, MAX_WORKER, STATE_BITS, Unreadable, number, plain, read, read_payload, tag,
    write, write_payload,
};
pub(crate) use expiry::Expiry;
pub(crate) use state::{Counts, cut_reason};
pub(crate) use stored::{Detail, Details, Last, Stored};

use std::time::{Duration, SystemTime};

/// The largest time that a record can hold, in seconds since 1970: 40 bits, which
/// reach into the year 36812.
pub(crate) const MAX_SECONDS: u64 = (1 << 40) - 1;

/// Seconds since 1970, cut to what a record can hold. Times before 1970 count as
/// 1970.
pub(crate) fn seconds_of(time: SystemTime) -> u64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    since.as_secs().min(MAX_SECONDS)
}

/// The time that is `seconds` after 1970.
pub(crate) fn time_of(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Whole seconds, of which a part counts as one: a lease of half a second is not over
/// at once.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    let part = u64::from(duration.subsec_nanos() > 0);
    duration.as_secs().saturating_add(part).min(MAX_SECONDS)
}
