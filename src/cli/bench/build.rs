//! A store with one kind of filter, the same every time for a seed.

use super::super::progress::Progress;
use super::ended::{Ended, Stop};
use super::surroundings;
use super::urls::Urls;
use super::variant::Variant;
use crate::{Canon, Driver, Durability, Seen};
use std::path::Path;
use std::time::{Duration, Instant};

/// What all stores of a run have in common.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) canon: Canon,
    pub(super) seed: u64,
    pub(super) memtable: Option<usize>,
    /// For the progress line.
    pub(super) keys: u64,
}

/// Fills a store at `path`, and closes it. The time that the store took, without that of
/// reading or making the URLs.
pub(super) fn build(
    path: &Path,
    recipe: &Recipe,
    variant: Variant,
    urls: &Urls,
    stop: &Stop,
    progress: &Progress,
) -> Result<Duration, Ended> {
    let mut builder = Seen::builder(path)
        .canon(recipe.canon.clone())
        .filter(variant.kind)
        // Steps in the order of the calls: threads would cut other runs each time.
        .driver(Driver::Manual)
        .durability(Durability::Manual)
        .env(surroundings::seeded(recipe.seed));
    if let Some(rate) = variant.rate {
        builder = builder.false_positive_rate(rate);
    }
    if let Some(bytes) = recipe.memtable {
        builder = builder.memtable_size(bytes);
    }
    let mut taken = Duration::ZERO;
    let start = Instant::now();
    let store = builder.create()?;
    taken += start.elapsed();
    let mut done = 0;
    urls.walk(stop, &mut |keys| {
        let keys = keys.ready();
        done += keys.len() as u64;
        let start = Instant::now();
        store.insert_many(&keys)?;
        work(&store, stop)?;
        taken += start.elapsed();
        progress.part("building", &variant.to_string(), done, recipe.keys);
        Ok(())
    })?;
    let start = Instant::now();
    store.flush()?;
    work(&store, stop)?;
    store.close()?;
    Ok(taken + start.elapsed())
}

/// All background work that is due.
fn work(store: &Seen, stop: &Stop) -> Result<(), Ended> {
    while store.step()? {
        stop.check()?;
    }
    Ok(())
}
