//! When what is known of a key no longer counts.

use super::state::StateKind;
use super::stored::Stored;

/// The age in seconds at which records expire, by state; `None`: never. Claims run out,
/// and do not expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Expiry {
    pub(crate) seen: Option<u64>,
    pub(crate) fetched: Option<u64>,
    pub(crate) failed: Option<u64>,
}

impl Expiry {
    /// Whether nothing ever expires.
    #[inline]
    pub(crate) fn is_never(&self) -> bool {
        self.seen.is_none() && self.fetched.is_none() && self.failed.is_none()
    }

    /// Whether a record has expired at `now`. A tombstone has not: it never counts.
    pub(crate) fn has_expired(&self, stored: &Stored, now: u64) -> bool {
        let after = match stored.kind() {
            Some(StateKind::Seen) => self.seen,
            Some(StateKind::Fetched) => self.fetched,
            Some(StateKind::Failed) => self.failed,
            Some(StateKind::Claimed) | None => None,
        };
        let (Some(after), Some(changed)) = (after, stored.changed()) else {
            return false;
        };
        // A record of the future is not old.
        now.checked_sub(changed).is_some_and(|age| age >= after)
    }

    /// Whether a record counts at the time that `now` tells.
    #[inline]
    pub(crate) fn is_live(&self, stored: &Stored, now: impl FnOnce() -> u64) -> bool {
        match stored {
            Stored::Forgotten => false,
            _ if self.is_never() => true,
            _ => !self.has_expired(stored, now()),
        }
    }
}
