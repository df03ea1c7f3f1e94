//! Measures the same work on seendb and on the stores that people would take instead; see
//! README.md.

mod args;
mod cold;
mod corpus;
mod figure;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "../../src/cli/bench/generator.rs"]
mod generator;
mod job;
mod load;
mod lookups;
mod machine;
mod meter;
mod permutation;
mod picture;
mod process;
mod report;
mod rivals;
mod run;
mod table;

use anyhow::{Context, Result};
use args::Args;
use clap::Parser;
use report::Report;
use rustix::process::Signal;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("seendb-compare: {e:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if let Some(text) = &args.child {
        // It ends with the process that started it.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        let job: job::Job = serde_json::from_str(text).context("--child has no job")?;
        return job.run();
    }
    let report = match &args.redraw {
        Some(path) => Report::load(path)?,
        None => run::run(args)?,
    };
    if let Some(path) = &args.json {
        job::save(path, &report)?;
    }
    print!("{}", table::text(&report, args.markdown));
    if let Some(path) = &args.svg {
        let drawing = picture::svg(&report)?;
        std::fs::write(path, drawing)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
