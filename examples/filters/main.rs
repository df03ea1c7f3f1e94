//! Measures filters, and prints the tables of docs/filters.md.
//!
//! ```text
//! cargo run --release --example filters -- kinds [--keys N]    each kind of filter, alone
//! cargo run --release --example filters -- growth UNION        a store that grows; see the example `union`
//! cargo run --release --example filters -- growth --generate N
//!
//! --filter KIND,...   the kinds; all by default
//! --fpr RATE,...      the rates; 0.01, 0.001 and, of filters alone, 0.0001 by default
//! --memtable BYTES    of the store that grows; 1 MiB by default, the least
//! --absent N          absent URLs looked up after each flush, 1000000 by default
//! --dir DIR           where stores are made; the directory for temporary files
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../measure/corpus.rs"]
mod corpus;
mod growth;
mod kinds;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../../tests/support/urls.rs"]
mod urls;

use corpus::Corpus;
use seendb::FilterKind;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub(crate) type Set = hashbrown::HashSet<Box<[u8]>>;
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// What to measure.
pub(crate) struct Plan {
    pub(crate) kinds: Vec<FilterKind>,
    pub(crate) rates: Vec<f64>,
    pub(crate) keys: usize,
    pub(crate) memtable: usize,
    pub(crate) absent: usize,
    pub(crate) dir: PathBuf,
}

struct Args(Vec<String>);

impl Args {
    fn option<T: FromStr>(&mut self, name: &str) -> Outcome<Option<T>>
    where
        T::Err: Error + 'static,
    {
        let Some(at) = self.0.iter().position(|arg| arg == name) else {
            return Ok(None);
        };
        if at + 1 >= self.0.len() {
            return Err(format!("{name} needs a value").into());
        }
        self.0.remove(at);
        Ok(Some(self.0.remove(at).parse()?))
    }

    fn list<T: FromStr>(&mut self, name: &str) -> Outcome<Option<Vec<T>>>
    where
        T::Err: Error + 'static,
    {
        let Some(text) = self.option::<String>(name)? else {
            return Ok(None);
        };
        let list = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Some(list))
    }
}

fn main() -> Outcome<()> {
    let mut args = Args(std::env::args().skip(1).collect());
    let kinds = args.list("--filter")?;
    let rates = args.list("--fpr")?;
    let generate = args.option::<u64>("--generate")?;
    let dir = args.option::<PathBuf>("--dir")?;
    let mut plan = Plan {
        kinds: kinds.unwrap_or_else(|| FilterKind::FILTERS.to_vec()),
        keys: args.option("--keys")?.unwrap_or(8_000_000),
        memtable: args.option("--memtable")?.unwrap_or(1 << 20),
        absent: args.option("--absent")?.unwrap_or(1_000_000),
        dir: dir.unwrap_or_else(std::env::temp_dir),
        rates: Vec::new(),
    };
    let words: Vec<&str> = args.0.iter().map(String::as_str).collect();
    match (words.as_slice(), generate) {
        (["kinds"], None) => {
            plan.rates = rates.unwrap_or_else(|| vec![0.01, 0.001, 0.0001]);
            kinds::measure(&plan)
        }
        (["growth"], Some(count)) => {
            plan.rates = rates.unwrap_or_else(|| vec![0.01, 0.001]);
            growth::measure(&plan, Corpus::generate(count))
        }
        (["growth", path], None) => {
            plan.rates = rates.unwrap_or_else(|| vec![0.01, 0.001]);
            growth::measure(&plan, Corpus::read(Path::new(path))?)
        }
        _ => Err("give kinds, growth FILE, or growth --generate N".into()),
    }
}
