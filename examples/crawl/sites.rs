//! Sites: what is asked one request at a time, and may be crawled or not.

use std::collections::BTreeSet;
use url::{Position, Url};

/// Longer URLs are not followed.
const MAX_URL: usize = 2_000;

/// The host of a URL, and the port unless it is the scheme's own.
pub(crate) fn site_of(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// The sites to stay on.
#[derive(Default)]
pub(crate) struct Sites(BTreeSet<String>);

impl Sites {
    pub(crate) fn add(&mut self, url: &Url) {
        self.0.insert(site_of(url).to_owned());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a URL is one to fetch.
    pub(crate) fn has(&self, url: &Url) -> bool {
        matches!(url.scheme(), "http" | "https")
            && url.as_str().len() <= MAX_URL
            && self.0.contains(site_of(url))
    }

    /// The URL that is a store's key, if it is one to fetch.
    pub(crate) fn url_of(&self, key: &[u8]) -> Option<Url> {
        let url = Url::parse(std::str::from_utf8(key).ok()?).ok()?;
        self.has(&url).then_some(url)
    }
}
