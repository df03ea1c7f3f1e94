//! Measures a store against a set in memory, and prints the tables of
//! docs/performance.md.
//!
//! ```text
//! cargo run --release --example measure -- UNION             a file of URLs, see the example `union`
//! cargo run --release --example measure -- --generate 3000000
//!
//! --rounds N      rounds of lookups, 7 by default; of inserts, half as many
//! --lookups N     URLs looked up in a round, 500000 by default
//! --only PART     inserts, lookups, figures or records
//! --dir DIR       where stores are made; the directory for temporary files
//! ```
//!
//! The set is `hashbrown::HashSet<Box<[u8]>>` with its default hasher. Set and
//! store take turns, several times, in one process and on the same URLs in the
//! same order, and the table has medians and the ratio between them: times drift
//! with what else the machine does, ratios much less. URLs are inserted in random
//! order; lookups come in another random order that has nothing to do with any
//! hash; absent URLs are near misses, and known to be absent. Policy raw, options
//! as they are by default.
#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

mod child;
mod corpus;
mod figures;
mod inserts;
mod lookups;
mod records;
mod table;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../../tests/support/urls.rs"]
mod urls;

use corpus::Corpus;
use seendb::{Canon, Seen};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) type Set = hashbrown::HashSet<Box<[u8]>>;
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// URLs in a batch.
pub(crate) const BATCH: usize = 1_000;

/// What to measure, and how.
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) only: Option<String>,
    /// Where stores are made; removed at the end.
    pub(crate) dir: PathBuf,
    /// In the order of insertion.
    pub(crate) urls: Corpus,
    /// Absent, near misses of `urls`, in another order.
    pub(crate) absent: Corpus,
    /// In the order of lookups.
    pub(crate) lookups: Corpus,
    pub(crate) set: Set,
}

fn main() -> Outcome<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "--child") {
        return child::run(args.get(1..).unwrap_or_default());
    }
    let mut option = |name: &str| -> Outcome<Option<String>> {
        let Some(at) = args.iter().position(|arg| arg == name) else {
            return Ok(None);
        };
        if at + 1 >= args.len() {
            return Err(format!("{name} needs a value").into());
        }
        args.remove(at);
        Ok(Some(args.remove(at)))
    };
    let generate = option("--generate")?;
    let rounds = option("--rounds")?.map_or(Ok(7), |n| n.parse())?;
    let only = option("--only")?;
    let asked = option("--lookups")?.map_or(Ok(500_000), |n| n.parse())?;
    let dir = option("--dir")?;
    let (label, urls) = match (generate, args.as_slice()) {
        (Some(count), []) => (
            format!("{count} generated URLs"),
            Corpus::generate(count.parse()?),
        ),
        (None, [path]) => (path.clone(), Corpus::read(Path::new(path))?),
        _ => return Err("give a file of URLs, or --generate N".into()),
    };
    let dir = match dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    println!(
        "{label}: {} URLs, mean length {:.1} bytes",
        urls.len(),
        urls.mean_length()
    );
    let urls = urls.shuffled(1);
    let set: Set = urls.iter().map(Box::from).collect();
    let lookups = urls.shuffled(2).first(asked);
    let absent = urls.shuffled(3).first(asked).near_misses(&set);
    let plan = Plan {
        rounds,
        only,
        dir: dir.path().to_path_buf(),
        urls,
        absent,
        lookups,
        set,
    };
    if plan.wants("inserts") {
        inserts::measure(&plan)?;
    }
    if plan.wants("records") {
        records::measure(&plan)?;
    }
    if plan.wants("lookups") || plan.wants("figures") {
        let compacted = plan.dir.join("compacted");
        let eight = plan.dir.join("eight");
        fill(&plan, &compacted, 8, true)?.compact()?;
        fill(&plan, &eight, 8, true)?.close()?;
        if plan.wants("lookups") {
            lookups::measure(&plan, &compacted, &eight)?;
        }
        if plan.wants("figures") {
            figures::measure(&plan, &compacted)?;
        }
    }
    Ok(())
}

impl Plan {
    fn wants(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == part)
    }
}

/// Opens the store at `path` for writing.
pub(crate) fn open(path: &Path, stamps: bool) -> Outcome<Seen> {
    let builder = Seen::builder(path).canon(Canon::raw()).stamps(stamps);
    Ok(builder.open()?)
}

/// Makes a store of all URLs, in `runs` portions with a flush after each.
pub(crate) fn fill(plan: &Plan, path: &Path, runs: usize, stamps: bool) -> Outcome<Seen> {
    let seen = open(path, stamps)?;
    let all: Vec<&[u8]> = plan.urls.iter().collect();
    for portion in all.chunks(all.len().div_ceil(runs)) {
        for batch in portion.chunks(BATCH) {
            seen.insert_many(batch)?;
        }
        seen.flush()?;
    }
    Ok(seen)
}

/// The nanoseconds for each of `count` that `work` takes.
pub(crate) fn time(count: usize, work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_nanos() as f64 / count.max(1) as f64)
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
