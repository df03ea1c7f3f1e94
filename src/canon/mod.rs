//! From a URL to its key: the bytes that identify it in a store.
//!
//! A store has one policy, chosen when it is created and recorded in it. Two URLs
//! are the same URL exactly if the policy gives them the same key.

mod host;
mod key;
mod standard;

pub(crate) use host::host_of;
pub use key::{Key, ToKey};

use crate::error::{Error, InvalidUrl, Result};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The most bytes that a URL or a key may have.
pub(crate) const MAX_KEY: usize = 65_535;

const RAW: &str = "raw/1";
const STANDARD: &str = "standard/1";

/// A canonicalization policy: how a URL becomes the key that identifies it.
///
/// The type is opaque. Its full text, such as `standard/1`, is what a store
/// records; [`Display`](fmt::Display) writes it and [`FromStr`] reads it.
///
/// | policy | URL | key |
/// |---|---|---|
/// | standard | `HTTP://Example.COM` | `http://example.com/` |
/// | standard | `https://example.com:443/a/./b/../c#top` | `https://example.com/a/c` |
/// | standard | `https://example.com/café?q=a b` | `https://example.com/caf%C3%A9?q=a%20b` |
/// | standard | `https://bücher.example/` | `https://xn--bcher-kva.example/` |
/// | standard | `  http://example.com/  ` | `http://example.com/` |
/// | standard | `http:\\example.com\a` | `http://example.com/a` |
/// | standard | `http://0x7f.1/` | `http://127.0.0.1/` |
/// | standard | `mailto:someone@example.com` | `mailto:someone@example.com` |
/// | standard | `/a/path` | rejected: not absolute |
/// | standard | `http://example.com/` + byte FF | `http://example.com/%FF` |
/// | raw | `HTTP://Example.COM` | `HTTP://Example.COM` |
/// | raw | `not a URL` | `not a URL` |
///
/// Under both policies a URL and its key have 1 to 65,535 bytes. A key given to
/// its policy again is its own key.
///
/// ```
/// use seendb::Canon;
///
/// fn key(canon: &Canon, url: impl AsRef<[u8]>) -> Option<String> {
///     let key = canon.apply(url.as_ref()).ok()?;
///     Some(String::from_utf8_lossy(&key).into_owned())
/// }
/// let standard = Canon::standard();
/// for (url, expected) in [
///     ("HTTP://Example.COM", "http://example.com/"),
///     ("https://example.com:443/a/./b/../c#top", "https://example.com/a/c"),
///     ("https://example.com/café?q=a b", "https://example.com/caf%C3%A9?q=a%20b"),
///     ("https://bücher.example/", "https://xn--bcher-kva.example/"),
///     ("  http://example.com/  ", "http://example.com/"),
///     ("http:\\\\example.com\\a", "http://example.com/a"),
///     ("http://0x7f.1/", "http://127.0.0.1/"),
///     ("mailto:someone@example.com", "mailto:someone@example.com"),
/// ] {
///     assert_eq!(key(&standard, url).as_deref(), Some(expected));
/// }
/// assert_eq!(key(&standard, "/a/path"), None);
/// assert_eq!(
///     key(&standard, b"http://example.com/\xFF").as_deref(),
///     Some("http://example.com/%FF"),
/// );
///
/// let raw = Canon::raw();
/// for url in ["HTTP://Example.COM", "not a URL"] {
///     assert_eq!(key(&raw, url).as_deref(), Some(url));
/// }
/// assert_eq!(key(&raw, ""), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canon(Policy);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Raw,
    Standard,
}

impl Canon {
    /// The bytes as they are. Keys need not be URLs.
    #[must_use]
    pub fn raw() -> Canon {
        Canon(Policy::Raw)
    }

    /// The WHATWG URL standard: what a browser makes of the URL, without its
    /// fragment.
    ///
    /// Scheme and host are lower-cased, an international host name gets its
    /// ASCII form, a default port is dropped, dot segments are resolved,
    /// characters that the standard does not allow as they are become
    /// percent-encoded; spaces and control characters around the URL, and tabs
    /// and line ends within it, are removed. What the standard leaves alone stays:
    /// `%7E` and `~` differ, and so do two orders of query parameters. An empty
    /// query stays too.
    ///
    /// Only absolute URLs are accepted. That includes those without a host, such
    /// as `mailto:` and `data:`.
    ///
    /// Bytes that are not UTF-8 become percent-encoded one by one, as the standard
    /// does with every byte of a character beyond ASCII. They never become U+FFFD, the
    /// replacement character: URLs that differ only in such bytes keep different
    /// keys. In a host name such bytes are not allowed.
    ///
    /// The work is done by the crate `url`. It departs from the standard's newest
    /// text in `file:` URLs with empty segments or drive letters, and in a few
    /// characters in the paths of schemes that browsers do not load.
    #[must_use]
    pub fn standard() -> Canon {
        Canon(Policy::Standard)
    }

    /// The policy's full text, which a store records.
    #[must_use]
    pub fn text(&self) -> &str {
        match self.0 {
            Policy::Raw => RAW,
            Policy::Standard => STANDARD,
        }
    }

    /// The policy with this full text, or `None` if this build does not know it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Canon> {
        match text {
            RAW => Some(Canon::raw()),
            STANDARD => Some(Canon::standard()),
            _ => None,
        }
    }

    /// The key of a URL.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] says why the policy rejects the URL.
    #[inline]
    pub fn apply<'a>(&self, url: &'a [u8]) -> Result<Cow<'a, [u8]>, InvalidUrl> {
        check_length(url.len())?;
        match self.0 {
            Policy::Raw => Ok(Cow::Borrowed(url)),
            Policy::Standard => {
                let key = standard::key(url)?;
                check_length(key.len())?;
                Ok(key)
            }
        }
    }
}

#[inline]
fn check_length(length: usize) -> Result<(), InvalidUrl> {
    match length {
        0 => Err(InvalidUrl::Empty),
        1..=MAX_KEY => Ok(()),
        _ => Err(InvalidUrl::TooLong { length }),
    }
}

impl Default for Canon {
    /// The policy of a store that is created without naming one: standard.
    fn default() -> Self {
        Canon::standard()
    }
}

impl fmt::Display for Canon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl FromStr for Canon {
    type Err = Error;

    /// Reads the full text; a policy that this build does not know is
    /// [`Error::InvalidOption`].
    fn from_str(text: &str) -> Result<Canon> {
        Canon::parse(text).ok_or_else(|| Error::InvalidOption {
            option: "canon",
            expected: format!("this build knows {RAW} and {STANDARD}"),
            found: format!("`{text}`"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_round_trips() {
        for canon in [Canon::raw(), Canon::standard()] {
            assert_eq!(canon.text().parse::<Canon>().unwrap(), canon);
            assert_eq!(canon.to_string(), canon.text());
        }
        let error = "raw/9".parse::<Canon>().unwrap_err().to_string();
        assert!(
            error.contains("`raw/9`") && error.contains("raw/1"),
            "{error}"
        );
    }

    #[test]
    fn lengths_are_bounded_before_and_after() {
        let raw = Canon::raw();
        assert_eq!(raw.apply(b""), Err(InvalidUrl::Empty));
        assert!(raw.apply(&[b'a'; MAX_KEY]).is_ok());
        let length = MAX_KEY + 1;
        let too_long = Err(InvalidUrl::TooLong { length });
        assert_eq!(raw.apply(&vec![b'a'; length]), too_long);

        let standard = Canon::standard();
        assert_eq!(standard.apply(b""), Err(InvalidUrl::Empty));
        let mut url = b"http://example.com/".to_vec();
        url.resize(MAX_KEY, b'a');
        assert!(standard.apply(&url).is_ok());
        // A space takes three bytes in the canonical form.
        url[MAX_KEY - 2] = b' ';
        let length = MAX_KEY + 2;
        assert_eq!(standard.apply(&url), Err(InvalidUrl::TooLong { length }));
    }
}
