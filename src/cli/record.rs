//! What is known of a key, as JSON.

use super::json::Object;
use super::times;
use crate::{Outcome, Record, State};
use serde_json::Value;
use std::time::SystemTime;

/// Adds what is known of a key to an object. What a state has not is left out; what it
/// could have and has not is null.
pub(super) fn fields(object: Object, record: &Record) -> Object {
    let object = object
        .field("first_seen", time(record.first_seen))
        .field("changed", time(record.changed))
        .field("state", record.state.kind().name());
    match &record.state {
        State::Seen => object,
        State::Claimed {
            worker,
            until,
            token,
            attempts,
            last,
        } => {
            let object = object
                .field("worker", worker.as_str())
                .field("until", times::json(*until))
                .field("token", token.to_string())
                .field("attempts", *attempts);
            match last {
                Some(last) => object.object("last", outcome(last)),
                None => object.field("last", Value::Null),
            }
        }
        State::Fetched {
            at,
            status,
            content,
        } => fetched(object, *at, *status, *content),
        State::Failed {
            at,
            reason,
            attempts,
            retry_at,
        } => object
            .field("at", times::json(*at))
            .field("reason", reason.as_str())
            .field("attempts", *attempts)
            .field("retry_at", time(*retry_at)),
    }
}

/// Bytes as text: JSON is nothing else.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn outcome(outcome: &Outcome) -> Object {
    match outcome {
        Outcome::Fetched {
            at,
            status,
            content,
        } => {
            let object = Object::new().field("state", "fetched");
            fetched(object, *at, *status, *content)
        }
        Outcome::Failed { at, reason } => Object::new()
            .field("state", "failed")
            .field("at", times::json(*at))
            .field("reason", reason.as_str()),
    }
}

fn fetched(object: Object, at: SystemTime, status: u16, content: Option<[u8; 16]>) -> Object {
    let content = content.map(|hash| format!("{:032x}", u128::from_be_bytes(hash)));
    object
        .field("at", times::json(at))
        .field("status", status)
        .field("content", content.map_or(Value::Null, Value::from))
}

fn time(at: Option<SystemTime>) -> Value {
    at.map_or(Value::Null, times::json)
}
