//! What becomes of a URL that was claimed: what the options say, and a line may say
//! otherwise.

use super::units::parse_duration;
use crate::{Batch, Lease, Record, Result, State};
use serde_json::{Map, Value};
use std::time::{Duration, SystemTime};

/// What is to be recorded of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Fetched {
        status: u16,
        content: Option<[u8; 16]>,
    },
    Failed {
        /// Empty as long as nobody said.
        reason: String,
        /// After what time to try again; `None`: never.
        retry: Option<Duration>,
    },
    Released,
}

impl Fate {
    /// Takes over what the fields behind a token say. Empty ones say nothing.
    pub(super) fn read_fields<'a>(
        &mut self,
        mut fields: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), String> {
        let mut next = || fields.next().map(String::from_utf8_lossy);
        match self {
            Fate::Fetched { status, content } => {
                if let Some(text) = next().filter(|text| !text.is_empty()) {
                    *status = parse_status(&text)?;
                }
                if let Some(text) = next().filter(|text| !text.is_empty()) {
                    *content = Some(parse_content(&text)?);
                }
            }
            Fate::Failed { reason, .. } => {
                if let Some(text) = next().filter(|text| !text.is_empty()) {
                    *reason = text.into_owned();
                }
            }
            Fate::Released => {}
        }
        match next() {
            None => Ok(()),
            Some(_) => Err("it has more fields than this command reads".to_owned()),
        }
    }

    /// Takes over what the fields of an object say. What is null or absent says nothing,
    /// but for `retry`: there null is never.
    pub(super) fn read_object(&mut self, object: &Map<String, Value>) -> Result<(), String> {
        let given = |name| object.get(name).filter(|value| !value.is_null());
        match self {
            Fate::Fetched { status, content } => {
                if let Some(value) = given("status") {
                    let number = value.as_u64().and_then(|n| u16::try_from(n).ok());
                    let number = number.filter(|n| STATUSES.contains(n));
                    *status = number.ok_or("its status is no number from 100 to 999")?;
                }
                if let Some(value) = given("content") {
                    *content = Some(parse_content(value.as_str().unwrap_or_default())?);
                }
            }
            Fate::Failed { reason, retry } => {
                if let Some(value) = given("reason") {
                    let text = value.as_str().ok_or("its reason is no string")?;
                    text.clone_into(reason);
                }
                match object.get("retry") {
                    None => {}
                    Some(Value::Null) => *retry = None,
                    Some(Value::String(text)) => *retry = Some(parse_duration(text)?),
                    Some(_) => return Err("its retry is no string such as \"1h\"".to_owned()),
                }
            }
            Fate::Released => {}
        }
        Ok(())
    }

    /// Whether everything was said that must be.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Fate::Failed { reason, .. } if reason.is_empty() => {
                Err("there is no reason: give one, or --reason for all".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Adds the settling of a claim to a batch.
    pub(super) fn add(&self, batch: &mut Batch, lease: &Lease) {
        match self {
            Fate::Fetched { status, content } => batch.fetched(lease, *status, *content),
            Fate::Failed { reason, retry } => batch.failed(lease, reason, *retry),
            Fate::Released => batch.release(lease),
        }
    }

    /// Settles a claim alone.
    pub(super) fn settle(&self, lease: &Lease) -> Result<()> {
        match self {
            Fate::Fetched { status, content } => lease.fetched(*status, *content),
            Fate::Failed { reason, retry } => lease.failed(reason, *retry),
            Fate::Released => lease.release(),
        }
    }

    /// The state that says the same without a claim, in the place of what is known.
    pub(super) fn state(&self, now: SystemTime, known: Option<&Record>) -> State {
        match self {
            Fate::Fetched { status, content } => State::Fetched {
                at: now,
                status: *status,
                content: *content,
            },
            Fate::Failed { reason, retry } => State::Failed {
                at: now,
                reason: reason.clone(),
                attempts: match known.map(|record| &record.state) {
                    Some(State::Claimed { attempts, .. }) => *attempts,
                    Some(State::Failed { attempts, .. }) => attempts.saturating_add(1),
                    _ => 1,
                },
                // Later than the clock can tell: never.
                retry_at: retry.and_then(|retry| now.checked_add(retry)),
            },
            Fate::Released => State::Seen,
        }
    }
}

/// Statuses of answers: a line that was cut in the middle of one is told.
const STATUSES: std::ops::RangeInclusive<u16> = 100..=999;

/// Reads the status of an answer.
pub(super) fn parse_status(text: &str) -> Result<u16, String> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let parsed = digits.then(|| text.parse().ok()).flatten();
    parsed
        .filter(|status| STATUSES.contains(status))
        .ok_or_else(|| "the status is a number from 100 to 999, such as 200".to_owned())
}

/// Reads the hash of a page.
pub(super) fn parse_content(text: &str) -> Result<[u8; 16], String> {
    let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let parsed = digits
        .then(|| u128::from_str_radix(text, 16).ok())
        .flatten();
    parsed
        .map(u128::to_be_bytes)
        .ok_or_else(|| "a content hash is 32 hexadecimal digits".to_owned())
}
