//! Fills a store, batch by batch, and holds every answer against the truth.

use crate::corpus::{self, BATCH, Packed};
use crate::figure::{Figure, Figures, Value, alone};
use crate::job::{Job, save};
use crate::meter::Meter;
use crate::process;
use crate::rivals::{self, Rival, Set};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// Batches between looks at the memory that is taken.
const LOOK: u64 = 64;

/// How far a load has come.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Progress {
    /// The batch that comes next.
    batch: u64,
    /// URLs whose time was taken: those that were there again after a kill are not among
    /// them.
    urls: u64,
    wall: f64,
    cpu: f64,
    memory: u64,
}

impl Progress {
    fn path(job: &Job) -> PathBuf {
        job.out.with_extension("progress")
    }

    /// What was kept of a load that ended early. Without it, what is left of the store goes.
    fn take_up(job: &Job) -> Result<Progress> {
        let path = Progress::path(job);
        if let Ok(text) = fs::read(&path) {
            let progress: Progress = serde_json::from_slice(&text)
                .with_context(|| format!("{} is damaged; remove it", path.display()))?;
            eprintln!("{}: goes on at batch {}", job.name, progress.batch);
            return Ok(progress);
        }
        if job.store.exists() {
            let about = || format!("cannot remove {}", job.store.display());
            fs::remove_dir_all(&job.store).with_context(about)?;
        }
        Ok(Progress::default())
    }

    fn keep(self, job: &Job) -> Result<()> {
        save(&Progress::path(job), &self)
    }
}

/// Fills the job's store, and the set after it.
pub(crate) fn measure(job: &Job) -> Result<Figures> {
    let mut figures = if job.name.is_bulk() {
        build(job)?
    } else {
        fill(job)?
    };
    if job.name.is_stored() {
        let count = job.corpus.count() as f64;
        let (apparent, allocated) = process::disk(&job.store)?;
        figures.insert(Figure::DiskApparent, alone(apparent as f64 / count));
        figures.insert(Figure::DiskAllocated, alone(allocated as f64 / count));
    }
    if job.with_set {
        let (wall, cpu) = set_beside(job)?;
        for (figure, value) in &mut figures {
            value.set = match figure {
                Figure::InsertTime | Figure::RestTime => Some(wall),
                Figure::InsertCpu | Figure::RestCpu => Some(cpu),
                _ => None,
            };
        }
    }
    // Without it there would be nothing to go on with, and nothing to be done again.
    let _ = fs::remove_file(Progress::path(job));
    Ok(figures)
}

fn fill(job: &Job) -> Result<Figures> {
    let mut progress = Progress::take_up(job)?;
    let mut portions = job.corpus.portions(progress.batch);
    let mut portion = portions.next().transpose()?;
    let before = process::anonymous()?;
    let mut rival = rivals::open(job.name, &job.store, job.settings)?;
    let mut meter = Meter::start();
    let mut found_again = progress.batch > 0;
    let look = |progress: &mut Progress| -> Result<()> {
        let now = process::anonymous()?.saturating_sub(before);
        progress.memory = progress.memory.max(now);
        Ok(())
    };
    while let Some(urls) = portion {
        for start in (0..urls.len()).step_by(BATCH as usize) {
            let turn = progress.batch * BATCH;
            let batch: Vec<&[u8]> = (start..urls.len().min(start + BATCH as usize))
                .map(|index| urls.get(index))
                .collect();
            let mut new = Vec::with_capacity(batch.len());
            let wall = meter.time(|| rival.insert(&batch, &mut new));
            let wall = wall.with_context(|| format!("batch {}", progress.batch))?;
            ensure!(new.len() == batch.len(), "it did not answer for all URLs");
            // After a kill, some of the batches that were not counted may be there. Each is
            // there as a whole, and none after one that is not.
            found_again &= !new.contains(&true);
            if !found_again {
                check(&new, turn)?;
                progress.urls += batch.len() as u64;
                progress.wall += wall.as_secs_f64();
            }
            progress.batch += 1;
            if progress.batch.is_multiple_of(LOOK) {
                look(&mut progress)?;
            }
            if progress.batch.is_multiple_of(job.stage) && job.name.is_stored() {
                let wall = meter.time(|| rival.sync())?;
                let kept = Progress {
                    wall: progress.wall + wall.as_secs_f64(),
                    cpu: progress.cpu + meter.cpu().as_secs_f64(),
                    ..progress
                };
                kept.keep(job)?;
                progress.wall = kept.wall;
            }
        }
        drop(urls);
        portion = portions.next().transpose()?;
    }
    let urls = progress.urls.max(1) as f64;
    let each = |seconds: f64| alone(seconds * 1e9 / urls);
    let mut figures = Figures::new();

    progress.wall += meter.time(|| rival.sync())?.as_secs_f64();
    figures.insert(Figure::InsertTime, each(progress.wall));
    let cpu = progress.cpu + meter.cpu().as_secs_f64();
    figures.insert(Figure::InsertCpu, each(cpu));
    look(&mut progress)?;

    let (wall, cpu) = settle(&mut meter, || rival.rest())?;
    progress.wall += wall;
    figures.insert(Figure::RestTime, each(progress.wall));
    figures.insert(Figure::RestCpu, each(progress.cpu + cpu));
    if job.settings.compact {
        let mut can = false;
        let (wall, _) = settle(&mut meter, || {
            can = rival.compact()?;
            Ok(())
        })?;
        if can {
            figures.insert(Figure::CompactTime, each(wall));
        }
    }
    look(&mut progress)?;
    let count = job.corpus.count() as f64;
    figures.insert(Figure::MemoryLoad, alone(progress.memory as f64 / count));
    rival.close().context("cannot close it")?;
    Ok(figures)
}

/// Does something, and waits until no thread works any more. Gives the seconds that it took,
/// and all processor time until then.
fn settle(meter: &mut Meter, work: impl FnOnce() -> Result<()>) -> Result<(f64, f64)> {
    let start = std::time::Instant::now();
    meter.time(work)?;
    let done = start.elapsed();
    let (since, cpu) = process::until_idle();
    // What was done before this thread waited counts in any case.
    let wall = (since - start).max(done);
    Ok((wall.as_secs_f64(), meter.cpu_at(cpu).as_secs_f64()))
}

/// Builds a store of all URLs at once.
fn build(job: &Job) -> Result<Figures> {
    ensure!(
        job.corpus.fits(),
        "it is built of all URLs at once, and there are too many for that"
    );
    Progress::take_up(job)?;
    let urls = job.corpus.portions(0).next();
    let urls = urls.context("there are no URLs")??;
    let before = process::anonymous()?;
    let mut meter = Meter::start();
    let mut built = 0;
    let wall = meter.time(|| {
        built = rivals::build(&job.store, &urls)?;
        Ok(())
    })?;
    ensure!(
        built as u64 == job.corpus.count(),
        "wrong answer: it found {built} different URLs of {}",
        job.corpus.count()
    );
    let memory = process::anonymous()?.saturating_sub(before);
    let each = |seconds: f64| Value {
        otherwise: true,
        ..alone(seconds * 1e9 / urls.len() as f64)
    };
    let (wall, cpu) = (each(wall.as_secs_f64()), each(meter.cpu().as_secs_f64()));
    Ok(Figures::from([
        (Figure::InsertTime, wall),
        (Figure::RestTime, wall),
        (Figure::InsertCpu, cpu),
        (Figure::RestCpu, cpu),
        (
            Figure::MemoryLoad,
            alone(memory as f64 / job.corpus.count() as f64),
        ),
    ]))
}

/// The nanoseconds that a set takes for each URL, as they pass and of the processor.
fn set_beside(job: &Job) -> Result<(f64, f64)> {
    let mut set = Set::default();
    let mut meter = Meter::start();
    let mut turn = 0;
    let mut wall = 0.0;
    for urls in job.corpus.portions(0) {
        wall += into_set(&mut set, &urls?, &mut turn, &mut meter)?;
    }
    let each = |seconds: f64| seconds * 1e9 / turn.max(1) as f64;
    Ok((each(wall), each(meter.cpu().as_secs_f64())))
}

fn into_set(set: &mut Set, urls: &Packed, turn: &mut u64, meter: &mut Meter) -> Result<f64> {
    let mut wall = 0.0;
    for start in (0..urls.len()).step_by(BATCH as usize) {
        let batch: Vec<&[u8]> = (start..urls.len().min(start + BATCH as usize))
            .map(|index| urls.get(index))
            .collect();
        let mut new = Vec::with_capacity(batch.len());
        wall += meter.time(|| set.insert(&batch, &mut new))?.as_secs_f64();
        check(&new, *turn).context("the set")?;
        *turn += batch.len() as u64;
    }
    Ok(wall)
}

/// Whether the answers about URLs, from a turn on, are right.
fn check(new: &[bool], turn: u64) -> Result<()> {
    for (turn, &answer) in (turn..).zip(new) {
        let truth = corpus::is_new(turn);
        ensure!(
            answer == truth,
            "wrong answer: the URL inserted at place {turn} was {}new, and it said that it was {}",
            if truth { "" } else { "not " },
            if answer { "new" } else { "known" }
        );
    }
    Ok(())
}

/// A set of all URLs, to be asked.
pub(crate) fn set_of(job: &Job) -> Result<Set> {
    let mut set = Set::default();
    let mut turn = 0;
    for urls in job.corpus.portions(0) {
        into_set(&mut set, &urls?, &mut turn, &mut Meter::start())?;
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(dir: &std::path::Path) -> Job {
        Job {
            phase: crate::job::Phase::Load,
            name: rivals::Name::Seendb,
            corpus: corpus::Corpus::Generated { count: 9_000 },
            store: dir.join("seendb"),
            settings: rivals::Settings {
                cache: 1 << 20,
                compact: true,
            },
            with_set: false,
            stage: 4,
            lookups: 1,
            cold: 1,
            drop_caches: false,
            out: dir.join("figures.json"),
        }
    }

    /// Puts the first batches into the job's store.
    fn put(job: &Job, batches: usize) {
        let mut store = rivals::open(job.name, &job.store, job.settings).unwrap();
        let urls = job.corpus.portions(0).next().unwrap().unwrap();
        let all: Vec<&[u8]> = urls.iter().collect();
        for batch in all.chunks(BATCH as usize).take(batches) {
            store.insert(batch, &mut Vec::new()).unwrap();
        }
        store.close().unwrap();
    }

    #[test]
    fn a_load_goes_on_behind_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let job = job(dir.path());
        put(&job, 6);
        let kept = Progress {
            batch: 4,
            urls: 4_000,
            wall: 1e3,
            ..Progress::default()
        };
        kept.keep(&job).unwrap();
        let figures = measure(&job).unwrap();
        // Batches 4 and 5 were there, and do not count: of 9,090 URLs, 7,090 do.
        let each = figures[&Figure::InsertTime].value;
        let known = 1e12 / 7_090.0;
        assert!((known..known * 1.1).contains(&each), "{each}");
        assert!(figures.contains_key(&Figure::CompactTime));
        assert!(!Progress::path(&job).exists());
    }

    #[test]
    fn what_is_left_without_any_progress_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let job = job(dir.path());
        put(&job, 6);
        measure(&job).unwrap();
    }

    #[test]
    fn what_is_missing_of_a_store_is_a_wrong_answer() {
        let dir = tempfile::tempdir().unwrap();
        let job = job(dir.path());
        put(&job, 2);
        let kept = Progress {
            batch: 4,
            ..Progress::default()
        };
        kept.keep(&job).unwrap();
        let error = measure(&job).unwrap_err();
        assert!(format!("{error:#}").contains("wrong answer"), "{error:#}");
    }

    #[test]
    fn a_wrong_answer_is_an_error() {
        let right: Vec<bool> = (0..250).map(corpus::is_new).collect();
        check(&right, 0).unwrap();
        for place in [0, 99, 249] {
            let mut wrong = right.clone();
            wrong[place] = !wrong[place];
            let error = check(&wrong, 0).unwrap_err().to_string();
            assert!(error.contains(&format!("at place {place} ")), "{error}");
        }
        assert!(check(&right, 1).is_err());
    }
}
