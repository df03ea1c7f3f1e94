//! One line that settles a claim.

use super::fate::Fate;
use crate::Token;
use serde_json::Value;
use std::borrow::Cow;

/// A URL, the token of its claim, and what becomes of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settlement<'a> {
    pub(super) url: Cow<'a, [u8]>,
    /// Absent only if none is needed.
    pub(super) token: Option<Token>,
    pub(super) fate: Fate,
}

impl<'a> Settlement<'a> {
    /// Takes a line apart: a JSON object, or fields with tabs between them. `fate` is what
    /// holds where the line says nothing. The error says what the line lacks.
    pub(super) fn parse(line: &'a [u8], fate: &Fate, forced: bool) -> Result<Self, String> {
        let fate = fate.clone();
        let settlement = if line.starts_with(b"{") {
            Settlement::parse_object(line, fate, forced)
        } else {
            Settlement::parse_fields(line, fate, forced)
        }?;
        settlement.fate.check()?;
        Ok(settlement)
    }

    /// URLs may hold tabs themselves: the token is the first field that can be one.
    fn parse_fields(line: &'a [u8], mut fate: Fate, forced: bool) -> Result<Self, String> {
        let places = line.iter().enumerate();
        for (tab, _) in places.filter(|(_, byte)| **byte == b'\t') {
            let url = line.get(..tab).unwrap_or_default();
            let rest = line.get(tab + 1..).unwrap_or_default();
            let mut fields = rest.split(|byte| *byte == b'\t');
            let first = fields.next().unwrap_or_default();
            let token = std::str::from_utf8(first).ok().map(str::parse);
            let token = token.and_then(Result::ok);
            if token.is_some() || (forced && first.is_empty()) {
                fate.read_fields(fields)?;
                let url = Cow::Borrowed(url);
                return Ok(Settlement { url, token, fate });
            }
        }
        if forced && !line.contains(&b'\t') {
            return Ok(Settlement {
                url: Cow::Borrowed(line),
                token: None,
                fate,
            });
        }
        Err("it has no token such as 3-17 behind the URL and a tab".to_owned())
    }

    fn parse_object(line: &'a [u8], mut fate: Fate, forced: bool) -> Result<Self, String> {
        let value = serde_json::from_slice(line).map_err(|e| format!("it is no JSON: {e}"))?;
        let Value::Object(object) = value else {
            return Err("it is no JSON object".to_owned());
        };
        let Some(Value::String(url)) = object.get("url") else {
            return Err("it has no string `url`".to_owned());
        };
        let token = match object.get("token") {
            None | Some(Value::Null) if forced => None,
            Some(Value::String(text)) => Some(text.parse().map_err(|e| format!("{e}"))?),
            _ => return Err("it has no string `token`".to_owned()),
        };
        fate.read_object(&object)?;
        Ok(Settlement {
            url: Cow::Owned(url.clone().into_bytes()),
            token,
            fate,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const FETCHED: Fate = Fate::Fetched {
        status: 200,
        content: None,
    };
    const FAILED: Fate = Fate::Failed {
        reason: String::new(),
        retry: None,
    };

    fn parse(line: &str, fate: &Fate) -> Option<(String, Option<String>, Fate)> {
        let parsed = Settlement::parse(line.as_bytes(), fate, false).ok()?;
        let url = String::from_utf8_lossy(&parsed.url).into_owned();
        Some((
            url,
            parsed.token.map(|token| token.to_string()),
            parsed.fate,
        ))
    }

    fn is(url: &str, fate: Fate) -> Option<(String, Option<String>, Fate)> {
        Some((url.to_owned(), Some("3-17".to_owned()), fate))
    }

    fn fetched(status: u16, content: Option<u8>) -> Fate {
        Fate::Fetched {
            status,
            content: content.map(|byte| [byte; 16]),
        }
    }

    fn failed(reason: &str, retry: Option<u64>) -> Fate {
        Fate::Failed {
            reason: reason.to_owned(),
            retry: retry.map(Duration::from_secs),
        }
    }

    #[test]
    fn fields_are_url_token_and_what_the_command_reads() {
        let hash = "ab".repeat(16);
        assert_eq!(parse("u\t3-17", &FETCHED), is("u", FETCHED));
        assert_eq!(parse("u\t3-17\t404", &FETCHED), is("u", fetched(404, None)));
        let both = parse(&format!("u\t3-17\t\t{hash}"), &FETCHED);
        assert_eq!(both, is("u", fetched(200, Some(0xab))));
        assert_eq!(parse("u\t3-17\twhy", &FAILED), is("u", failed("why", None)));
        assert_eq!(parse("u\t3-17", &Fate::Released), is("u", Fate::Released));
        assert_eq!(parse("u\tv\t3-17", &FETCHED), is("u\tv", FETCHED));
    }

    #[test]
    fn an_object_names_them() {
        let line = r#"{"token":"3-17","url":"u","status":304,"title":"left alone"}"#;
        assert_eq!(parse(line, &FETCHED), is("u", fetched(304, None)));
        let line = r#"{"url":"u","token":"3-17","reason":"why","retry":"1h"}"#;
        assert_eq!(parse(line, &FAILED), is("u", failed("why", Some(3600))));
        let line = r#"{"url":"u","token":"3-17","retry":null}"#;
        let default = failed("why", Some(60));
        assert_eq!(parse(line, &default), is("u", failed("why", None)));
    }

    #[test]
    fn what_is_malformed_is_refused() {
        for line in [
            "",
            "u",
            "u\t",
            "u\t3",
            "u\t3-17\tok",
            "u\t3-17\t+200",
            "u\t3-17\t65536",
            "u\t3-17\t200\tabc",
            "u\t3-17\t200\t\tmore",
            "{",
            "{} {}",
            r#"{"url":"u"}"#,
            r#"{"token":"3-17"}"#,
            r#"{"url":"u","token":317}"#,
            r#"{"url":"u","token":"3-17","status":"200"}"#,
            r#"{"url":"u","token":"3-17","content":1}"#,
        ] {
            assert_eq!(parse(line, &FETCHED), None, "{line}");
        }
        assert_eq!(parse("u\t3-17", &FAILED), None, "no reason");
        assert_eq!(
            parse(r#"{"url":"u","token":"3-17","retry":60}"#, &FAILED),
            None
        );
    }

    #[test]
    fn without_a_claim_the_token_may_be_absent() {
        let forced = |line: &'static str| {
            let parsed = Settlement::parse(line.as_bytes(), &FETCHED, true).ok()?;
            Some((parsed.url.into_owned(), parsed.token, parsed.fate))
        };
        let plain = Some((b"u".to_vec(), None, FETCHED));
        assert_eq!(forced("u"), plain);
        assert_eq!(forced(r#"{"url":"u","token":null}"#), plain);
        let status = Some((b"u".to_vec(), None, fetched(404, None)));
        assert_eq!(forced("u\t\t404"), status);
        assert_eq!(forced("u\t404"), None, "the token's field stays");
    }
}
