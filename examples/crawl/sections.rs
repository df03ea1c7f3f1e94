//! Sections of a site, each with a bound on its URLs, so that a calendar without an end
//! does not become the whole crawl.

use crate::Outcome;
use seendb::Seen;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use url::{Position, Url};

/// Counts kept in memory; the store has them all.
const MANY: usize = 100_000;

pub(crate) struct Sections<'a> {
    seen: &'a Seen,
    limit: u64,
    counts: Mutex<HashMap<String, u64>>,
}

impl<'a> Sections<'a> {
    pub(crate) fn new(seen: &'a Seen, limit: u64) -> Sections<'a> {
        Sections {
            seen,
            limit,
            counts: Mutex::default(),
        }
    }

    /// Whether a new URL may be recorded; then it counts.
    pub(crate) fn admit(&self, url: &Url) -> Outcome<bool> {
        let section = section_of(url);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MANY {
            counts.clear();
        }
        let count = match counts.get_mut(section) {
            Some(count) => count,
            None => {
                let recorded = self.count(section)?;
                counts.entry(section.to_owned()).or_insert(recorded)
            }
        };
        let admitted = *count < self.limit;
        *count += u64::from(admitted);
        Ok(admitted)
    }

    /// URLs of a section that are recorded, up to the limit.
    fn count(&self, section: &str) -> Outcome<u64> {
        let mut count = 0;
        for entry in self.seen.scan(section)? {
            let (key, _) = entry?;
            let rest = key.strip_prefix(section.as_bytes()).unwrap_or_default();
            // `/news` has `/news/today`, but not `/newsletter`.
            count += u64::from(matches!(rest.first(), None | Some(b'/' | b'?')));
            if count >= self.limit {
                break;
            }
        }
        Ok(count)
    }
}

/// A URL up to the end of the first step of its path.
fn section_of(url: &Url) -> &str {
    let root = &url[..Position::BeforePath];
    let rest = url.path().strip_prefix('/').unwrap_or_default();
    let end = root.len() + 1 + rest.find('/').unwrap_or(rest.len());
    url.as_str().get(..end).unwrap_or(url.as_str())
}
