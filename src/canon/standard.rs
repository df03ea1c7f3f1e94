//! The policy `standard/1`: parse and serialize as the WHATWG URL standard says,
//! without the fragment.

use crate::error::InvalidUrl;
use std::borrow::Cow;
use url::{ParseError, Url};

/// The key of a URL. The caller checks lengths.
pub(super) fn key(url: &[u8]) -> Result<Cow<'_, [u8]>, InvalidUrl> {
    let text = without_tabs_and_line_ends(text(url));
    let parsed = parse(&text, url)?;
    let key = if matches!(parsed.scheme(), "http" | "https") {
        String::from(parsed)
    } else {
        settle(parsed, url)?
    };
    Ok(Cow::Owned(key.into_bytes()))
}

fn parse(text: &str, url: &[u8]) -> Result<Url, InvalidUrl> {
    let mut parsed = Url::parse(text).map_err(|e| InvalidUrl::Unparsable(reason(e, url)))?;
    // Cutting the text at `#` before parsing would differ: spaces before the
    // fragment are inside the URL, and spaces at its end are not.
    parsed.set_fragment(None);
    Ok(parsed)
}

/// Parses until nothing changes any more: the parser drops the host of some file
/// URLs with a drive letter (`file://1//a:`) only at the second time, and a key
/// must be its own key.
fn settle(mut parsed: Url, url: &[u8]) -> Result<String, InvalidUrl> {
    for _ in 0..4 {
        let again = parse(parsed.as_str(), url)?;
        if again == parsed {
            return Ok(String::from(parsed));
        }
        parsed = again;
    }
    Err(InvalidUrl::Unparsable(
        "it has no stable canonical form".to_owned(),
    ))
}

/// The URL as text. Bytes that are not UTF-8 become percent-encoded, each for
/// itself, so that no two of them become one.
fn text(url: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(url) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(url.len() + 32);
    for chunk in url.utf8_chunks() {
        text.push_str(chunk.valid());
        for &byte in chunk.invalid() {
            const HEX: &[u8; 16] = b"0123456789ABCDEF";
            text.push('%');
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    Cow::Owned(text)
}

/// The standard removes these before it parses. The parser skips them while it
/// parses, and does not see a dot segment behind them in every place.
fn without_tabs_and_line_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    let removed = |c: char| matches!(c, '\t' | '\n' | '\r');
    if text.contains(removed) {
        Cow::Owned(text.replace(removed, ""))
    } else {
        text
    }
}

/// The parser's reason in words that follow "invalid URL: ".
fn reason(error: ParseError, url: &[u8]) -> String {
    match error {
        ParseError::RelativeUrlWithoutBase => {
            "it is not absolute: it does not begin with a scheme such as https://"
        }
        ParseError::EmptyHost => "its host is empty",
        ParseError::InvalidDomainCharacter => "its host has a character that no host name may have",
        ParseError::IdnaError if url.is_ascii() => "its host is not a valid name",
        ParseError::IdnaError => "its host is not a valid international name",
        ParseError::InvalidPort => "its port is not a number from 0 to 65535",
        ParseError::InvalidIpv4Address => "its host is not a valid IPv4 address",
        ParseError::InvalidIpv6Address => "its host is not a valid IPv6 address",
        other => return other.to_string(),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::Canon;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn key(url: &[u8]) -> Option<Vec<u8>> {
        let key = Canon::standard().apply(url).ok()?;
        Some(key.into_owned())
    }

    fn check_idempotent(url: &[u8]) {
        let Some(once) = key(url) else { return };
        let twice = key(&once);
        assert_eq!(
            twice.as_deref().map(String::from_utf8_lossy),
            Some(String::from_utf8_lossy(&once)),
            "the key of {:?} has another key",
            String::from_utf8_lossy(url)
        );
    }

    fn data(name: &str) -> Option<Vec<u8>> {
        let dir = std::env::var_os("SEENDB_TEST_DATA").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")),
            PathBuf::from,
        );
        let path = dir.join(name);
        #[allow(clippy::disallowed_methods, reason = "test data is no file of a store")]
        let bytes = std::fs::read(&path);
        if bytes.is_err() {
            println!("skipped: no test data at {}", path.display());
        }
        bytes.ok()
    }

    fn unhex(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn keys_of_real_urls_are_their_own_keys() {
        let Some(bytes) = data("urls/sample_20k.txt") else {
            return;
        };
        let mut rejected = 0;
        for url in bytes.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
            check_idempotent(url);
            rejected += usize::from(key(url).is_none());
        }
        assert!(
            rejected < 100,
            "{rejected} of 20,000 real URLs are rejected"
        );
    }

    #[test]
    fn keys_of_hostile_lines_are_their_own_keys() {
        if let Some(bytes) = data("hostile/cases.jsonl") {
            for line in bytes.split(|&b| b == b'\n').filter(|l| !l.is_empty()) {
                let case: serde_json::Value = serde_json::from_slice(line).unwrap();
                match (case["text"].as_str(), case["hex"].as_str()) {
                    (Some(text), _) => check_idempotent(text.as_bytes()),
                    (None, Some(hex)) => check_idempotent(&unhex(hex)),
                    _ => panic!("a case with neither text nor hex: {case}"),
                }
            }
        }
        for name in ["stream_mixed.bin", "utf16le.txt", "crlf.txt", "cr_only.txt"] {
            if let Some(bytes) = data(&format!("hostile/{name}")) {
                bytes.split(|&b| b == b'\n').for_each(check_idempotent);
            }
        }
    }

    #[test]
    fn serialization_agrees_with_the_web_platform_tests() {
        let Some(bytes) = data("canon/wpt_urltestdata.json") else {
            return;
        };
        let cases: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
        let (mut agree, mut differ) = (0, 0);
        for case in cases.iter().filter(|c| c["base"].is_null()) {
            let Some(input) = case["input"].as_str().filter(|i| !i.is_empty()) else {
                continue;
            };
            check_idempotent(input.as_bytes());
            let expected = case["href"]
                .as_str()
                .map(|href| href.split('#').next().unwrap_or(href).as_bytes().to_vec());
            if key(input.as_bytes()) == expected {
                agree += 1;
            } else {
                println!("differs: {input:?}, expected {}", case["href"]);
                differ += 1;
            }
        }
        println!("{agree} cases agree with the standard's own tests, {differ} differ");
        assert!(differ <= 40 && agree > 500);
    }

    #[test]
    fn bytes_that_are_not_utf8_keep_urls_apart() {
        for (url, expected) in [
            (
                &b"http://example.com/\xFF"[..],
                &b"http://example.com/%FF"[..],
            ),
            (b"http://example.com/\xFE", b"http://example.com/%FE"),
            (
                b"http://example.com/?q=\xC3(",
                b"http://example.com/?q=%C3(",
            ),
            // A sequence cut short, next to a whole one.
            (
                b"http://example.com/\xE2\x82\xC3\xA9",
                b"http://example.com/%E2%82%C3%A9",
            ),
            // The replacement character itself is a character as any other.
            (
                b"http://example.com/\xEF\xBF\xBD",
                b"http://example.com/%EF%BF%BD",
            ),
            // The fragment is dropped, whatever it holds.
            (b"http://example.com/#\xFF", b"http://example.com/"),
        ] {
            assert_eq!(key(url).as_deref(), Some(expected));
        }
        assert_eq!(key(b"http://\xFF.example/"), None);
        assert_eq!(key(b"\xFFhttp://example.com/"), None);
    }

    #[test]
    fn absolute_urls_without_a_host_are_accepted() {
        for url in [
            "data:text/plain,hello",
            "mailto:someone@example.com",
            "javascript:void(0)",
            "about:blank",
            "urn:isbn:0451450523",
            "file:///etc/hosts",
        ] {
            assert_eq!(key(url.as_bytes()).as_deref(), Some(url.as_bytes()));
        }
    }

    #[test]
    fn what_the_parser_changes_only_at_the_second_time_is_settled() {
        for url in [
            "file:c:\t..",
            "file:c:\t%2e",
            "file://0x7f//a:",
            "data:x \t#f",
        ] {
            check_idempotent(url.as_bytes());
        }
        assert_eq!(
            key(b"ht\ntp://exam\tple.com/\r").as_deref(),
            key(b"http://example.com/").as_deref()
        );
    }

    #[test]
    fn reasons_are_in_plain_words() {
        for (url, reason) in [
            ("/path", "it is not absolute"),
            ("example.com/a", "it is not absolute"),
            ("https://", "its host is empty"),
            ("http://example.com:99999/", "its port is not a number"),
            ("http://[::g]/", "not a valid IPv6 address"),
            ("http://1.2.3.999/", "not a valid IPv4 address"),
            ("http://exa<mple.com/", "its host"),
        ] {
            let error = Canon::standard().apply(url.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(reason), "{url}: {error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        /// Made of the pieces at which URL parsers branch.
        #[test]
        fn keys_of_made_up_urls_are_their_own_keys(pieces in prop::collection::vec(
            prop::sample::select(&[
                "http:", "https:", "file:", "data:", "a:", "web+x:", "/", "//", "///", "\\",
                ".", "..", "/.", "/..", "%2e", "%2E%2e", "?", "#", "@", ":", ":80", ":443", "[",
                "]", "[::1]", " ", "\t", "\n", "%", "%20", "%zz", "c:", "C|", "localhost", "é",
                "ß", "\u{FF0F}", "\u{AD}", "xn--", "xn--a", "0x7f", "1", "256", "a", "B", "*", "'",
                "\"", "<", "^", "|", "`", "{", "\u{0}", "\u{7F}", "\u{FFFD}", "\u{10FFFF}", "+",
            ][..]), 1..12)
        ) {
            check_idempotent(pieces.concat().as_bytes());
            check_idempotent(format!("a:{}", pieces.concat()).as_bytes());
            check_idempotent(format!("http://{}", pieces.concat()).as_bytes());
            check_idempotent(format!("file:{}", pieces.concat()).as_bytes());
        }

        #[test]
        fn any_bytes_are_a_key_or_are_rejected(url in prop::collection::vec(any::<u8>(), 0..64)) {
            check_idempotent(&url);
            let mut url = url;
            url.splice(0..0, *b"http://example.com/");
            check_idempotent(&url);
        }
    }
}
