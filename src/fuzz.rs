//! Doors to what is behind the checksums, for the fuzzers. No part of the interface.
#![allow(missing_docs, reason = "hidden, and of use to the fuzzers alone")]

use crate::error::Result;
use crate::filter::{Filter, FilterKind, Parameters};
use crate::vfs::{HugeBytes, Vfs};
use crate::{Env, Seen, VerifyReport};
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "cli")]
pub use crate::cli::fuzz::{InputLine, lines};
pub use crate::segment::fuzz::Block;

/// Checks a store on any file system, also one that cannot be opened.
pub fn verify(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<VerifyReport> {
    let env = Env {
        vfs: vfs.clone(),
        ..Env::default()
    };
    Seen::builder(dir).env(env).verify(&mut |_| {})
}

/// What a filter says of each hash; `None` if the bytes cannot be one.
pub fn filter(bytes: &[u8], probes: u8, keys: u64, hashes: &[u64]) -> Option<Vec<bool>> {
    let mut bits = HugeBytes::zeroed(bytes.len()).ok()?;
    bits.as_mut_slice()
        .get_mut(..bytes.len())?
        .copy_from_slice(bytes);
    let parameters = Parameters {
        kind: FilterKind::Blocked,
        probes,
    };
    let filter = Filter::decode(parameters, keys, bits, bytes.len())?;
    let ask = |&hash: &u64| {
        filter.prefetch(hash);
        filter.may_contain(hash)
    };
    Some(hashes.iter().map(ask).collect())
}

/// The bytes and the probes of a filter for keys with these hashes.
pub fn build_filter(rate: f64, hashes: &[u64]) -> Option<(Vec<u8>, u8)> {
    let mut builder = crate::filter::Builder::new(FilterKind::Blocked, rate);
    for &hash in hashes {
        builder.add(hash);
    }
    let filter = builder.finish().ok()?;
    Some((filter.bytes().to_vec(), filter.parameters().probes))
}
