//! Which keys a scan gives.

use crate::canon::host_of;
use crate::record::{Expiry, StateKind, Stored, seconds_of};
use std::time::SystemTime;

/// Which keys to scan: all, narrowed by what is set.
///
/// ```
/// # use seendb::{Query, Seen, StateKind};
/// # let dir = tempfile::tempdir()?;
/// # let seen = Seen::open(dir.path().join("crawl.seen"))?;
/// seen.insert_many(&["https://example.com/a", "https://example.com:8080/b", "https://example.org/"])?;
/// let query = Query::new().host("example.com").state(StateKind::Seen);
/// let found = seen.query(&query)?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(found.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Query {
    pub(super) prefix: Vec<u8>,
    host: Option<Vec<u8>>,
    states: Option<Vec<StateKind>>,
    since: Option<u64>,
    /// Also what has expired.
    expired: bool,
    /// Only what a claim at this time would be granted.
    due: Option<u64>,
}

impl Query {
    /// All keys.
    pub fn new() -> Query {
        Query::default()
    }

    /// What a claim at `now` would be granted.
    pub(super) fn due(now: u64) -> Query {
        Query {
            due: Some(now),
            ..Query::default()
        }
    }

    /// Also keys whose record has expired, and that no merge has removed yet.
    pub fn with_expired(mut self) -> Query {
        self.expired = true;
        self
    }

    /// Only keys that begin with these bytes. They are compared with keys, that is, with
    /// canonical URLs.
    pub fn prefix(mut self, prefix: impl AsRef<[u8]>) -> Query {
        self.prefix = prefix.as_ref().to_vec();
        self
    }

    /// Only URLs of this host, whatever their scheme, user and port. Hosts are the same in
    /// upper and lower case, and in Unicode and ASCII (`xn--`). A scan of one host reads all
    /// keys.
    pub fn host(mut self, host: impl AsRef<[u8]>) -> Query {
        let host = host.as_ref();
        let parsed = std::str::from_utf8(host).ok().and_then(|text| {
            let host = url::Host::parse(text).ok()?;
            Some(host.to_string().into_bytes())
        });
        self.host = Some(parsed.unwrap_or_else(|| host.to_vec()));
        self
    }

    /// Only keys in this state; called again, in any of the states given.
    pub fn state(mut self, state: StateKind) -> Query {
        self.states.get_or_insert_default().push(state);
        self
    }

    /// Only keys whose record changed at this time or later. A key without times did not.
    pub fn since(mut self, since: SystemTime) -> Query {
        self.since = Some(seconds_of(since));
        self
    }

    /// Whether it asks for times.
    pub(super) fn needs_times(&self) -> bool {
        self.since.is_some()
    }

    /// Whether a key is wanted whose record is as given at `now`.
    pub(super) fn wants(&self, key: &[u8], stored: &Stored, expiry: &Expiry, now: u64) -> bool {
        match self.due {
            Some(due) if !super::decide::is_due(stored, expiry, due) => return false,
            None if !self.expired && !expiry.is_live(stored, || now) => return false,
            _ => {}
        }
        if let Some(host) = &self.host
            && !host_of(key).is_some_and(|of| of.eq_ignore_ascii_case(host))
        {
            return false;
        }
        if let Some(states) = &self.states
            && !stored.kind().is_some_and(|kind| states.contains(&kind))
        {
            return false;
        }
        match self.since {
            Some(since) => stored.changed().is_some_and(|changed| changed >= since),
            None => true,
        }
    }
}
