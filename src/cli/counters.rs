//! `--counters`: what the lookups of one run did.

use super::json::Object;
use crate::{LookupStats, Seen};
use std::io::{Write, stderr};

/// The counters as a JSON object.
pub(super) fn object(lookups: &LookupStats) -> Object {
    lookups.iter().fold(Object::new(), |object, (name, value)| {
        object.field(name, value)
    })
}

/// Writes the counters of this run to standard error, as one line of JSON. A dry
/// run without a store has none, so all are zero.
pub(super) fn print(store: Option<&Seen>) {
    let lookups = store.map_or_else(LookupStats::default, |store| store.stats().lookup);
    let line = format!("{}\n", object(&lookups).finish());
    // If standard error is closed, nobody asked.
    let _ = stderr().write_all(line.as_bytes());
}
