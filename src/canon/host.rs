//! The host of a key.

/// The host of a key that is a URL with one: what lies between `://`, or the `@` behind a
/// user, and the port, path, query or fragment. `None` if the key is no such URL.
pub(crate) fn host_of(key: &[u8]) -> Option<&[u8]> {
    let colon = key.iter().position(|&byte| byte == b':')?;
    let scheme = key.get(..colon)?;
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    if !scheme.first()?.is_ascii_alphabetic() || !scheme.iter().all(is_scheme) {
        return None;
    }
    let rest = key.get(colon..)?.strip_prefix(b"://")?;
    let end = rest.iter().position(|byte| b"/?#".contains(byte));
    let authority = rest.get(..end.unwrap_or(rest.len()))?;
    let user = authority.iter().rposition(|&byte| byte == b'@');
    let address = authority.get(user.map_or(0, |at| at + 1)..)?;
    let host = if address.first() == Some(&b'[') {
        let close = address.iter().position(|&byte| byte == b']')?;
        address.get(..=close)?
    } else {
        let port = address.iter().position(|&byte| byte == b':');
        address.get(..port.unwrap_or(address.len()))?
    };
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn the_host_is_what_lies_between() {
        for (key, host) in [
            ("https://example.com/", Some("example.com")),
            ("http://example.com", Some("example.com")),
            ("https://example.com:8080/a", Some("example.com")),
            ("https://user:word@example.com/@b", Some("example.com")),
            ("https://a@b@example.com:1/", Some("example.com")),
            (
                "https://example.com?q=https://example.org/",
                Some("example.com"),
            ),
            ("https://example.com.au/", Some("example.com.au")),
            ("https://[::1]:8080/", Some("[::1]")),
            ("https://[::1", None),
            ("file:///tmp/a", None),
            ("mailto:someone@example.com", None),
            ("chunk 1", None),
            ("://example.com/", None),
            ("1a://example.com/", None),
            ("", None),
        ] {
            assert_eq!(host_of(key.as_bytes()), host.map(str::as_bytes), "{key}");
        }
    }
}
