//! Measures all stores by turns, each part in a process of its own, and keeps what was
//! finished.

use crate::args::Args;
use crate::corpus::{self, Corpus};
use crate::figure::Figures;
use crate::job::{Job, Phase, save};
use crate::report::{Measured, Report};
use crate::rivals::{Name, Settings};
use crate::{machine, process};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What the results in a directory are of: they are gone on with only if it is the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    source: Source,
    lookups: u64,
    cold: u64,
    settings: Settings,
    drop_caches: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Source {
    Generated(u64),
    /// A file, its size, and when it was changed, in nanoseconds since 1970.
    File(PathBuf, u64, u128),
}

impl Source {
    fn of(args: &Args) -> Result<Source> {
        match (&args.file, args.generate) {
            (None, Some(count)) => Ok(Source::Generated(count)),
            (Some(file), None) => {
                let about = || format!("cannot read {}", file.display());
                let path = file.canonicalize().with_context(about)?;
                let data = fs::metadata(&path).with_context(about)?;
                let changed = data.modified()?.duration_since(UNIX_EPOCH)?.as_nanos();
                Ok(Source::File(path, data.len(), changed))
            }
            _ => bail!("give a file of URLs, or --generate N; see --help"),
        }
    }

    fn describe(&self) -> String {
        match self {
            Source::Generated(_) => "generated".to_owned(),
            Source::File(path, ..) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                name.to_string_lossy().into_owned()
            }
        }
    }
}

/// Measures what the arguments ask for.
pub(crate) fn run(args: &Args) -> Result<Report> {
    let plan = Plan {
        source: Source::of(args)?,
        lookups: args.lookups,
        cold: args.cold,
        settings: Settings {
            cache: args.cache << 20,
            compact: args.compact,
        },
        drop_caches: args.drop_caches,
    };
    if let Some(dir) = &args.resume {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        return measure(args, &plan, dir);
    }
    let dir = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let dir = dir.context("cannot make a directory for the stores")?;
    eprintln!("stores are made in {}", dir.path().display());
    measure(args, &plan, dir.path())
}

fn measure(args: &Args, plan: &Plan, dir: &Path) -> Result<Report> {
    let corpus = prepare(plan, dir)?;
    ensure!(corpus.count() > 0, "there are no URLs");
    let mean_length = corpus.mean_length()?;
    let (names, with_set, skipped) = choose(args, &corpus, mean_length)?;
    for line in &skipped {
        eprintln!("left out: {line}");
    }
    let stores = args.dir.as_deref().filter(|_| args.resume.is_some());
    let stores = stores.unwrap_or(dir).join("stores");
    let mut rivals: Vec<Measured> = names
        .iter()
        .map(|&name| Measured {
            name,
            rounds: Vec::new(),
        })
        .collect();
    for round in 1..=args.rounds {
        for rival in &mut rivals {
            let name = rival.name;
            let store = stores.join(name.to_string());
            let mut figures = Figures::new();
            for &phase in Phase::of(name) {
                eprintln!("round {round} of {}: {name}, {}", args.rounds, phase.name());
                let job = Job {
                    phase,
                    name,
                    corpus: corpus.clone(),
                    store: store.clone(),
                    settings: plan.settings,
                    with_set: with_set && name != Name::Set,
                    stage: args.stage,
                    lookups: plan.lookups,
                    cold: plan.cold,
                    drop_caches: plan.drop_caches,
                    out: dir.join(format!("{round}-{name}-{}.json", phase.name())),
                };
                figures.extend(job.delegate()?);
            }
            if store.exists() {
                let about = || format!("cannot remove {}", store.display());
                fs::remove_dir_all(&store).with_context(about)?;
            }
            rival.rounds.push(figures);
        }
    }
    let versions = names.iter().filter_map(|name| {
        let version = machine::version(name.package())?;
        Some((*name, version))
    });
    Ok(Report {
        source: plan.source.describe(),
        count: corpus.count(),
        mean_length,
        lookups: plan.lookups.min(corpus.count()),
        cold: plan.cold.min(corpus.count()),
        settings: plan.settings,
        machine: machine::describe(),
        versions: versions.collect(),
        rivals,
        skipped,
    })
}

/// The URLs: those that were prepared before, if the plan is the same.
fn prepare(plan: &Plan, dir: &Path) -> Result<Corpus> {
    let path = dir.join("plan.json");
    if let Ok(text) = fs::read(&path) {
        let (kept, corpus): (Plan, Corpus) = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not this program's", path.display()))?;
        ensure!(
            kept == *plan,
            "{} has results of other URLs or options; give the same, or another directory",
            dir.display()
        );
        return Ok(corpus);
    }
    let corpus = match &plan.source {
        Source::Generated(count) => Corpus::Generated { count: *count },
        Source::File(path, ..) => {
            let dir = std::path::absolute(dir)?.join("corpus");
            corpus::prepare(path, &dir, plan.lookups.max(plan.cold))?
        }
    };
    save(&path, &(plan, &corpus))?;
    Ok(corpus)
}

/// The stores that are measured, whether a set is measured beside them, and what is left
/// out, with the reason.
fn choose(args: &Args, corpus: &Corpus, length: f64) -> Result<(Vec<Name>, bool, Vec<String>)> {
    let mut names: Vec<Name> = if args.only.is_empty() {
        Name::all().collect()
    } else {
        args.only.clone()
    };
    names.sort_unstable();
    names.dedup();
    let mut skipped = Vec::new();
    // A slice with its allocation, and its place in a table that is moved when it grows.
    let needed = corpus.count() as f64 * (length * 1.3 + 120.0);
    let available = process::available()? as f64;
    let with_set = needed <= available * 0.6;
    if !with_set {
        names.retain(|name| *name != Name::Set);
        let gib = f64::from(1 << 30);
        skipped.push(format!(
            "the set, and all ratios to it, as it would take about {:.0} GiB of the {:.0} that \
             are available",
            needed / gib,
            available / gib
        ));
    }
    if !corpus.fits() && names.contains(&Name::Fst) {
        names.retain(|name| !name.is_bulk());
        skipped.push("fst, as it is built of all URLs at once, and they are too many".into());
    }
    if args.only.is_empty() && !cfg!(feature = "rocksdb") {
        skipped.push("RocksDB, without which this program was built".into());
    }
    ensure!(!names.is_empty(), "there is nothing to measure");
    Ok((names, with_set, skipped))
}
