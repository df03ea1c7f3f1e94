//! The stores that are measured.

use crate::{BATCH, Outcome, Plan};
use seendb::{Builder, Canon, Codec, Seen};
use std::path::Path;

/// A way to store entries. Rows of sizes are printed for each.
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    /// Bytes a URL, without stamps, that are wanted at most.
    pub(crate) most: f64,
    pub(crate) options: fn(Builder) -> Builder,
}

pub(crate) const LAYOUTS: [Layout; 2] = [
    Layout {
        name: "disk",
        most: 18.5,
        options: |builder| builder,
    },
    Layout {
        name: "disk, `Codec::Dense`",
        most: 13.5,
        options: |builder| builder.codec(Codec::Dense),
    },
];

/// Runs of the store that is not compacted: the most that stay unmerged.
pub(crate) const RUNS: usize = 8;

/// Options as they are by default, but for the policy.
pub(crate) fn builder(path: &Path) -> Builder {
    Seen::builder(path).canon(Canon::raw())
}

/// Records all URLs, in [`RUNS`] portions with a flush after each.
pub(crate) fn load(plan: &Plan, builder: Builder) -> Outcome<Seen> {
    let seen = builder.create()?;
    let all: Vec<&[u8]> = plan.urls.iter().collect();
    for portion in all.chunks(all.len().div_ceil(RUNS)) {
        for batch in portion.chunks(BATCH) {
            seen.insert_many(batch)?;
        }
        seen.flush()?;
    }
    assert_eq!(
        (seen.len(), seen.stats().runs),
        (all.len() as u64, RUNS as u64)
    );
    Ok(seen)
}

/// Lets all flushes and merges come to their end.
pub(crate) fn settle(seen: &Seen) -> Outcome<()> {
    seen.flush()?;
    while seen.step()? {}
    Ok(())
}
