//! `seen bench`: measures, on the user's own URLs, the disk reads that filters skip.

mod absent;
mod args;
mod build;
mod disk;
mod ended;
#[allow(dead_code, reason = "tests and benches use all of it")]
mod generator;
mod json;
mod keys;
mod lookups;
mod machine;
mod outcome;
mod outlet;
mod questions;
mod report;
mod sample;
mod source;
mod surroundings;
mod table;
mod urls;
mod variant;

pub(super) use self::args::Args;
use self::build::Recipe;
use self::ended::{Ended, Stop};
use self::lookups::How;
use self::machine::Machine;
use self::outcome::{Outcome, Run, Store};
use self::outlet::Outlet;
use self::questions::Samples;
use self::source::{Gather, Source};
use self::variant::Variant;
use super::failure::Failure;
use super::input::Input;
use super::interrupt;
use super::output::print;
use super::progress::Progress;
use super::units::counted;
use super::{NOT_ALL, OK};
use crate::{Canon, FilterKind, Seen};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a second signal leaves.
const AT_ONCE: &str = "stopped at once; remove seen-bench-* in --dir or the temporary directory, and .seen-bench-* beside --json and --report";

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    // Before anything else: a mistyped name costs no time.
    let urls = one_input(args.from.urls.as_deref())?;
    let absent = one_input(args.absent.as_deref())?;
    if let (Some(Input::Stdin), Some(Input::Stdin)) = (&urls, &absent) {
        return Err(Failure::Usage(
            "--urls and --absent cannot both be standard input; give one as a file".to_owned(),
        ));
    }
    outlet::check(
        &[("--urls", &args.from.urls), ("--absent", &args.absent)],
        &[("--json", &args.json), ("--report", &args.report)],
    )?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(Outlet::open).transpose();
    let (json, report) = (open(&args.json)?, open(&args.report)?);
    if [&json, &report]
        .into_iter()
        .flatten()
        .filter(|o| o.is_stdout())
        .count()
        > 1
    {
        return Err(Failure::Usage(
            "--json and --report cannot both be standard output; give one a file".to_owned(),
        ));
    }
    let stop = Stop::new(interrupt::watch(AT_ONCE)?);
    let progress = Progress::alone(args.quiet);
    let result = Bench {
        args,
        stop: &stop,
        progress: &progress,
    }
    .run(urls, absent);
    progress.finish();
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(Ended::Failure(failure)) => return Err(failure),
        Err(Ended::Signal(signal)) => {
            if !args.quiet {
                super::note("interrupted; nothing was written, and temporary stores are removed");
            }
            return Ok(signal.status());
        }
    };
    publish(args, &outcome, json, report)?;
    Ok(if outcome.run.rejected > 0 {
        NOT_ALL
    } else {
        OK
    })
}

fn one_input(path: Option<&Path>) -> Result<Option<Input>, Failure> {
    let inputs = path
        .map(|path| Input::all(&[path.to_path_buf()]))
        .transpose()?;
    Ok(inputs.and_then(|inputs| inputs.into_iter().next()))
}

fn publish(
    args: &Args,
    outcome: &Outcome,
    json: Option<Outlet>,
    report: Option<Outlet>,
) -> Result<(), Failure> {
    let taken = [&json, &report]
        .into_iter()
        .flatten()
        .any(Outlet::is_stdout);
    if let Some(json) = json {
        json.write(&json::text(outcome))?;
    }
    if let Some(report) = report {
        report.write(&report::text(outcome)?)?;
    }
    if !taken {
        print(&table::text(outcome))?;
    } else if let (Some(note), false) = (outcome.not_cold(), args.quiet) {
        super::note(note);
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    stop: &'a Stop,
    progress: &'a Progress,
}

impl Bench<'_> {
    fn run(&self, urls: Option<Input>, absent: Option<Input>) -> Result<Outcome, Ended> {
        match &self.args.from.store {
            Some(path) => self.ask_a_store(path, absent),
            None => {
                let dir = self.temporary()?;
                let outcome = self.compare(dir.path(), urls, absent);
                let path = dir.path().to_path_buf();
                let removed = dir.close().map_err(|e| urls::failed(&path, e));
                let outcome = outcome?;
                removed?;
                Ok(outcome)
            }
        }
    }

    fn temporary(&self) -> Result<TempDir, Failure> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("seen-bench-");
        match &self.args.dir {
            Some(dir) => builder.tempdir_in(dir).map_err(|e| urls::failed(dir, e)),
            None => builder
                .tempdir()
                .map_err(|e| urls::failed(&std::env::temp_dir(), e)),
        }
    }

    fn gather(&self, canon: Canon) -> Gather<'_> {
        Gather {
            canon,
            size: usize::try_from(self.args.lookups).unwrap_or(usize::MAX),
            seed: self.args.seed,
            stop: self.stop,
            progress: self.progress,
        }
    }

    /// Asks a store that is there.
    fn ask_a_store(&self, path: &Path, absent: Option<Input>) -> Result<Outcome, Ended> {
        let absent_name = if absent.is_some() { "file" } else { "made" };
        let store = Seen::open_read_only(path)?;
        let canon = store.canon().clone();
        let source = self.gather(canon.clone()).store(store, absent)?;
        self.tell(&source);
        let (phases, stats) = self.phases(path, &source.samples, "the store")?;
        let kind = stats.filter.kind;
        let variant = Variant {
            kind,
            rate: (kind != FilterKind::None).then_some(stats.filter.asked),
        };
        let store = Store {
            variant,
            build: None,
            stats,
            phases,
        };
        Ok(Outcome {
            run: self.description("store", absent_name, &canon, &source, source.keys),
            machine: Machine::look(path),
            stores: vec![store],
        })
    }

    /// Builds a store of each kind, one after the other, and asks it.
    fn compare(
        &self,
        dir: &Path,
        urls: Option<Input>,
        absent: Option<Input>,
    ) -> Result<Outcome, Ended> {
        let canon = self.args.canon.clone().unwrap_or_default();
        let gather = self.gather(canon.clone());
        let absent_name = match (&absent, &urls) {
            (Some(_), _) => "file",
            (None, Some(_)) => "made",
            (None, None) => "generate",
        };
        let (name, source) = match urls {
            Some(input) => ("urls", gather.list(input, &dir.join("urls"), absent)?),
            None => {
                let count = self.args.from.generate.unwrap_or(1);
                ("generate", gather.generate(count, absent)?)
            }
        };
        self.tell(&source);
        let recipe = Recipe {
            canon,
            seed: self.args.seed,
            memtable: self.args.memtable,
            keys: source.keys,
        };
        let mut stores = Vec::new();
        for variant in variant::all(&self.args.filter, &self.args.fpr) {
            let place = tempfile::Builder::new()
                .prefix("store-")
                .tempdir_in(dir)
                .map_err(|e| urls::failed(dir, e))?;
            let path = place.path().join("s");
            let time = build::build(
                &path,
                &recipe,
                variant,
                &source.urls,
                self.stop,
                self.progress,
            )?;
            let (phases, stats) = self.phases(&path, &source.samples, &variant.to_string())?;
            stores.push(Store {
                variant,
                build: Some(time),
                stats,
                phases,
            });
            place.close().map_err(|e| urls::failed(dir, e))?;
        }
        let distinct = stores
            .first()
            .map_or(source.keys, |store| store.stats.entries);
        Ok(Outcome {
            run: self.description(name, absent_name, &recipe.canon, &source, distinct),
            machine: Machine::look(dir),
            stores,
        })
    }

    /// The phases of one store, and its sizes.
    fn phases(
        &self,
        path: &Path,
        samples: &Samples,
        name: &str,
    ) -> Result<(Vec<outcome::Phase>, crate::Stats), Ended> {
        let lookups = usize::try_from(self.args.lookups).unwrap_or(usize::MAX);
        let how = How {
            threads: usize::from(self.args.threads),
            cold: self.args.cold,
            stop: self.stop,
            progress: self.progress,
            name,
        };
        let mut phases = Vec::new();
        let mut stats = crate::Stats::default();
        for &ratio in &self.args.hit_ratio {
            let questions = samples.questions(lookups, ratio, self.args.seed);
            let (phase, after) = lookups::run(path, &questions, ratio, &how)?;
            phases.push(phase);
            stats = after;
        }
        Ok((phases, stats))
    }

    /// Notes on what was read.
    fn tell(&self, source: &Source) {
        source.rejects.finish(self.progress);
        if source.dropped > 0 && !self.args.quiet {
            self.progress.note(format_args!(
                "{} of --absent left out: not absent",
                counted(source.dropped, "URL", "URLs")
            ));
        }
    }

    fn description(
        &self,
        source: &'static str,
        absent: &'static str,
        canon: &Canon,
        gathered: &Source,
        urls: u64,
    ) -> Run {
        let args = self.args;
        let path = args.from.urls.as_ref().or(args.from.store.as_ref());
        Run {
            source,
            path: path.map(|path| path.display().to_string()),
            rejected: gathered.rejects.count(),
            urls,
            absent,
            absent_urls: gathered.samples.absent.len() as u64,
            absent_dropped: gathered.dropped,
            policy: canon.text().to_owned(),
            lookups: args.lookups,
            hit_ratios: args.hit_ratio.clone(),
            threads: u64::from(args.threads),
            cold: args.cold,
            seed: args.seed,
            memtable: args.memtable.map(|bytes| bytes as u64),
        }
    }
}
