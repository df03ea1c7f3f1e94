//! Keys, and what can be turned into one.

use super::Canon;
use crate::error::InvalidUrl;
use std::borrow::Cow;
use std::fmt;

/// A URL's key, computed once: every call that takes a URL takes a `Key` as well,
/// and uses it as it is.
///
/// A key belongs to the policy of the store that made it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<[u8]>);

impl Key {
    /// A key from bytes that a policy gave.
    pub(crate) fn new(bytes: Cow<'_, [u8]>) -> Key {
        Key(bytes.into())
    }

    /// The key's bytes, 1 to 65,535 of them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Key {
    /// Bytes that are not UTF-8 show as the replacement character.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

/// What a store takes as a URL: bytes or text of any kind, or a [`Key`].
pub trait ToKey {
    /// The key under a policy.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] says why the policy rejects the URL. A [`Key`] is never
    /// rejected.
    fn to_key<'a>(&'a self, canon: &Canon) -> Result<Cow<'a, [u8]>, InvalidUrl>;
}

impl<T: AsRef<[u8]> + ?Sized> ToKey for T {
    #[inline]
    fn to_key<'a>(&'a self, canon: &Canon) -> Result<Cow<'a, [u8]>, InvalidUrl> {
        canon.apply(self.as_ref())
    }
}

// `Key` does not implement `AsRef<[u8]>`: it would be canonicalized again.
impl ToKey for Key {
    #[inline]
    fn to_key<'a>(&'a self, _: &Canon) -> Result<Cow<'a, [u8]>, InvalidUrl> {
        Ok(Cow::Borrowed(&self.0))
    }
}

impl ToKey for &Key {
    #[inline]
    fn to_key<'a>(&'a self, _: &Canon) -> Result<Cow<'a, [u8]>, InvalidUrl> {
        Ok(Cow::Borrowed(&self.0))
    }
}
