//! What a process of its own is asked to measure.

use crate::corpus::Corpus;
use crate::figure::Figures;
use crate::rivals::{Name, Settings};
use crate::{cold, load, lookups};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A part of a store's measurements, in a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Fills the store, and tells its size.
    Load,
    /// Looks URLs up that are in memory.
    Lookups,
    /// Looks URLs up that are on the disk alone.
    Hits,
    Misses,
    /// Opens a store whose files are in memory.
    Open,
}

impl Phase {
    /// What is measured of a store, in this order.
    pub(crate) fn of(name: Name) -> &'static [Phase] {
        if name.is_stored() {
            &[
                Phase::Load,
                Phase::Lookups,
                Phase::Open,
                Phase::Hits,
                Phase::Misses,
            ]
        } else {
            &[Phase::Load, Phase::Lookups]
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Phase::Load => "load",
            Phase::Lookups => "lookups",
            Phase::Hits => "hits",
            Phase::Misses => "misses",
            Phase::Open => "open",
        }
    }

    /// How often it is measured in a round, each time in a new process.
    fn times(self) -> usize {
        if self == Phase::Open { 5 } else { 1 }
    }
}

/// All that the process has to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) phase: Phase,
    pub(crate) name: Name,
    pub(crate) corpus: Corpus,
    /// The store's own directory.
    pub(crate) store: PathBuf,
    pub(crate) settings: Settings,
    /// Whether a set is measured beside it.
    pub(crate) with_set: bool,
    /// Batches after which a load is synced, so that it can be gone on with.
    pub(crate) stage: u64,
    /// URLs that are looked up of each kind.
    pub(crate) lookups: u64,
    /// The same, of those on the disk alone.
    pub(crate) cold: u64,
    /// Whether the kernel is told to forget all files, not the store's alone.
    pub(crate) drop_caches: bool,
    /// Where the figures are written to.
    pub(crate) out: PathBuf,
}

impl Job {
    /// Does it in this process.
    pub(crate) fn run(&self) -> Result<()> {
        let figures = match self.phase {
            Phase::Load => load::measure(self),
            Phase::Lookups => lookups::measure(self),
            Phase::Hits => cold::measure(self, true),
            Phase::Misses => cold::measure(self, false),
            Phase::Open => cold::open(self),
        };
        let figures = figures.with_context(|| format!("{}, {}", self.name, self.phase.name()))?;
        save(&self.out, &figures)
    }

    /// Does it in new processes, unless its figures are there already.
    pub(crate) fn delegate(&self) -> Result<Figures> {
        if !self.out.exists() {
            let mut all = Vec::new();
            for _ in 0..self.phase.times() {
                let part = self.out.with_extension("part");
                let job = Job {
                    out: part.clone(),
                    ..self.clone()
                };
                let status = Command::new(std::env::current_exe()?)
                    .arg("--child")
                    .arg(serde_json::to_string(&job)?)
                    .status()
                    .context("cannot start a process of its own")?;
                ensure!(
                    status.success(),
                    "{}, {}: {status}",
                    self.name,
                    self.phase.name()
                );
                all.push(load_figures(&part)?);
                fs::remove_file(&part)?;
            }
            save(&self.out, &middle(&all))?;
        }
        load_figures(&self.out)
    }
}

/// The median of each figure.
fn middle(all: &[Figures]) -> Figures {
    let mut figures = all.first().cloned().unwrap_or_default();
    for (figure, value) in &mut figures {
        let values = all.iter().filter_map(|one| one.get(figure));
        let values = values.map(|value| value.value).collect();
        value.value = crate::figure::median(values).unwrap_or(value.value);
    }
    figures
}

fn load_figures(path: &Path) -> Result<Figures> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} has no figures", path.display()))
}

/// Writes a file whole or not at all.
pub(crate) fn save(path: &Path, value: &impl Serialize) -> Result<()> {
    let about = || format!("cannot write {}", path.display());
    let draft = path.with_extension("draft");
    fs::write(&draft, serde_json::to_vec_pretty(value)?).with_context(about)?;
    fs::rename(&draft, path).with_context(about)
}
