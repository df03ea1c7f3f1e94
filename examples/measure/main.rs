//! Measures a store against a set in memory, and against its goals; prints the tables of
//! docs/performance.md.
//!
//! ```text
//! cargo run --release --example measure -- UNION             a file of URLs, see the example `union`
//! cargo run --release --example measure -- --generate 3000000
//! cargo run --release --example measure -- --generate 100000000 --only scale
//!
//! --rounds N      rounds of lookups, 7 by default; of inserts, half as many
//! --lookups N     URLs looked up in a round, 500000 by default
//! --only PART     inserts, lookups, figures, records, or scale: a load of URLs of which only
//!                 some are in memory at any time, with its own table
//! --dir DIR       where stores are made, on a disk; the directory for temporary files
//! ```
//!
//! The set is `hashbrown::HashSet<Box<[u8]>>` with its default hasher. Set and
//! store take turns, several times, in one process and on the same URLs in the
//! same order, and the table has medians and the ratio between them: times drift
//! with what else the machine does, ratios much less. URLs are inserted in random
//! order; lookups come in another random order that has nothing to do with any
//! hash; absent URLs are near misses, and known to be absent. Policy raw, options
//! as they are by default. What it is doing is told on standard error.
#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

mod answers;
mod child;
mod cold;
mod corpus;
mod dense;
mod disk;
mod goals;
mod inserts;
mod kernel;
mod lookups;
mod memory;
mod opening;
mod questions;
mod records;
mod scale;
mod stores;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../../tests/support/urls.rs"]
mod urls;

use corpus::Corpus;
use goals::Table;
use questions::Questions;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

pub(crate) type Set = hashbrown::HashSet<Box<[u8]>>;
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// URLs in a batch.
pub(crate) const BATCH: usize = 1_000;

const PARTS: [&str; 5] = ["inserts", "lookups", "figures", "records", "scale"];

/// URLs that are looked up with nothing in the page cache: those that are there, and others.
const COLD_HITS: usize = 1_000;
const COLD_MISSES: usize = 100_000;

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
    if let Some(part) = only.as_deref()
        && !PARTS.contains(&part)
    {
        return Err(format!("--only takes one of {}", PARTS.join(", ")).into());
    }
    let asked = option("--lookups")?.map_or(Ok(500_000), |n| n.parse())?;
    let dir = option("--dir")?;
    let dir = match dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let (label, urls) = match (generate, args.as_slice()) {
        (Some(count), []) if only.as_deref() == Some("scale") => {
            return scale::measure(count.parse()?, asked, dir.path());
        }
        (Some(count), []) => (
            format!("{count} generated URLs"),
            Corpus::generate(count.parse()?),
        ),
        _ if only.as_deref() == Some("scale") => return Err("scale needs --generate N".into()),
        (None, [path]) => (path.clone(), Corpus::read(Path::new(path))?),
        _ => return Err("give a file of URLs, or --generate N".into()),
    };
    println!(
        "{label}: {} URLs, mean length {:.1} bytes; {}",
        urls.len(),
        urls.mean_length(),
        kernel::surroundings()?
    );
    progress("the set");
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
    let mut table = Table::default();
    let measured = measure_goals(&plan, &mut table);
    // What was measured before a failure is told too.
    table.print();
    measured?;
    if plan.wants("records") {
        progress("records");
        records::measure(&plan)?;
    }
    Ok(())
}

fn measure_goals(plan: &Plan, table: &mut Table) -> Outcome<()> {
    if plan.wants("inserts") {
        inserts::measure(plan, table)?;
    }
    if plan.wants("lookups") || plan.wants("figures") {
        measure_at_rest(plan, table)?;
    }
    Ok(())
}

/// What is measured on a store after `compact()` and on one with several runs.
fn measure_at_rest(plan: &Plan, table: &mut Table) -> Outcome<()> {
    progress("loading");
    let compacted = plan.dir.join("compacted");
    let eight = plan.dir.join("eight");
    let seen = stores::load(plan, stores::builder(&compacted))?;
    seen.compact()?;
    seen.close()?;
    stores::load(plan, stores::builder(&eight))?.close()?;
    if plan.wants("lookups") {
        lookups::measure(plan, &compacted, &eight, table)?;
        dense::lookups(plan, &compacted, &dense::load(plan)?, table)?;
    }
    if plan.wants("figures") {
        let all = Questions::write(&plan.dir.join("all"), &plan.lookups, &plan.absent)?;
        // So few that hardly two are in the same block.
        let few = Questions::write(
            &plan.dir.join("few"),
            &plan.lookups.first(COLD_HITS),
            &plan.absent.first(COLD_MISSES),
        )?;
        disk::measure(plan, table)?;
        memory::measure(plan.urls.len(), &all, &compacted, &eight, table)?;
        let dense = plan.dir.join("dense");
        let dense = if dense.exists() {
            dense
        } else {
            dense::load(plan)?
        };
        dense::remembered(plan, &all, &dense, table)?;
        cold::measure(&few, &compacted, &eight, table)?;
        opening::measure(plan, &compacted, &eight, table)?;
        opening::measure_kills(plan, &compacted, table)?;
    }
    Ok(())
}

impl Plan {
    fn wants(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == part)
    }
}

/// Says on standard error what is going on.
pub(crate) fn progress(what: &str) {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    eprintln!("{:>6.1} s  {what}", start.elapsed().as_secs_f64());
}

/// The nanoseconds for each of `count` that `work` takes.
pub(crate) fn time(count: usize, work: impl FnOnce() -> Outcome<()>) -> Outcome<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_nanos() as f64 / count.max(1) as f64)
}

pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
