//! Doors to what is behind the checksums, for the fuzzers. No part of the interface.
#![allow(missing_docs, reason = "hidden, and of use to the fuzzers alone")]

use crate::error::Result;
use crate::filter::{Filter, FilterKind, Parameters, Size};
use crate::vfs::{HugeBytes, Vfs};
use crate::wire::Reader;
use crate::{Env, Seen, VerifyReport};
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "cli")]
pub use crate::cli::fuzz::{InputLine, lines};
pub use crate::segment::fuzz::{At, Block, BlockPlace, Codes, Index, Led};

/// Checks a store on any file system, also one that cannot be opened.
pub fn verify(vfs: &Arc<dyn Vfs>, dir: &Path) -> Result<VerifyReport> {
    let env = Env {
        vfs: vfs.clone(),
        ..Env::default()
    };
    Seen::builder(dir).env(env).verify(&mut |_| {})
}

/// What a filter says of each hash; `None` if the bytes cannot be one. `parameters` are those
/// of a footer.
pub fn filter(bytes: &[u8], parameters: &[u8], keys: u64, hashes: &[u64]) -> Option<Vec<bool>> {
    let mut bits = HugeBytes::zeroed(bytes.len()).ok()?;
    bits.as_mut_slice()
        .get_mut(..bytes.len())?
        .copy_from_slice(bytes);
    let mut reader = Reader::new(parameters);
    let kind = FilterKind::from_number(reader.u16("a kind").ok()?)?;
    let parameters = Parameters::decode(kind, &mut reader).ok()?;
    let filter = Filter::decode(parameters, keys, bits, bytes.len())?;
    let ask = |&hash: &u64| {
        filter.prefetch(hash);
        filter.may_contain(hash)
    };
    Some(hashes.iter().map(ask).collect())
}

/// The bytes and the parameters of a filter for keys with these hashes.
pub fn build_filter(kind: FilterKind, rate: f64, hashes: &[u64]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut builder = crate::filter::Builder::new(kind, Size::for_rate(kind, rate));
    for &hash in hashes {
        builder.add(hash);
    }
    let filter = builder.finish().ok()?;
    Some((filter.bytes().to_vec(), filter.parameters().encode()))
}

/// A filter to be measured.
#[derive(Debug)]
pub struct Probed(Filter);

impl Probed {
    /// A filter of a kind and a rate for keys with these hashes.
    pub fn build(kind: FilterKind, rate: f64, hashes: &[u64]) -> std::io::Result<Probed> {
        let mut builder = crate::filter::Builder::new(kind, Size::for_rate(kind, rate));
        for &hash in hashes {
            builder.add(hash);
        }
        builder.finish().map(Probed)
    }

    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.0.prefetch(hash);
    }

    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        self.0.may_contain(hash)
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.0.memory()
    }

    /// The rate to be expected.
    pub fn rate(&self) -> f64 {
        self.0.rate()
    }
}

/// The bytes of a filter of a kind and a rate for that many keys.
pub fn filter_size(kind: FilterKind, rate: f64, keys: u64) -> u64 {
    kind.bytes(keys, Size::for_rate(kind, rate))
}

/// The hash that filters take.
pub fn hash(seed: u64, key: &[u8]) -> u64 {
    crate::filter::hash(seed, key)
}
