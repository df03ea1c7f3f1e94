//! Opens stores, and asks those whose files are on the disk alone.

use crate::figure::{Figure, Figures, alone};
use crate::job::Job;
use crate::process;
use crate::rivals;
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::time::Instant;

/// Asks for present URLs, or for absent ones.
pub(crate) fn measure(job: &Job, present: bool) -> Result<Figures> {
    let urls = if present {
        job.corpus.hits(job.cold)?
    } else {
        job.corpus.misses(job.cold)?
    };
    process::forget(&job.store, job.drop_caches)?;
    let first = process::bytes_read()?;
    let start = Instant::now();
    let rival = rivals::open(job.name, &job.store, job.settings)?;
    let mut reader = rival.reader()?;
    let opening = start.elapsed();
    let opened = process::bytes_read()?;

    let start = Instant::now();
    let mut found = 0;
    for url in urls.iter() {
        found += usize::from(black_box(reader.has(url)?));
    }
    let took = start.elapsed();
    let last = process::bytes_read()?;
    drop(reader);
    let truth = if present { urls.len() } else { 0 };
    ensure!(
        found == truth,
        "wrong answer: of {} URLs it has {truth}, and it said that it has {found}",
        urls.len()
    );
    rival.close().context("cannot close it")?;

    let mut figures = Figures::new();
    if last == first {
        eprintln!(
            "{}: nothing was read from the disk: its files stayed in memory",
            job.name
        );
        return Ok(figures);
    }
    let count = urls.len().max(1) as f64;
    let (time, read) = if present {
        (Figure::ColdHit, Figure::ColdHitRead)
    } else {
        (Figure::ColdMiss, Figure::ColdMissRead)
    };
    figures.insert(time, alone(took.as_secs_f64() * 1e6 / count));
    figures.insert(read, alone((last - opened) as f64 / count));
    if present {
        figures.insert(Figure::OpenCold, alone(opening.as_secs_f64() * 1e3));
    }
    Ok(figures)
}

/// Opens a store that was closed, and asks it once.
pub(crate) fn open(job: &Job) -> Result<Figures> {
    let urls = job.corpus.hits(1)?;
    let start = Instant::now();
    let rival = rivals::open(job.name, &job.store, job.settings)?;
    let mut reader = rival.reader()?;
    for url in urls.iter() {
        ensure!(reader.has(url)?, "wrong answer: it has the URL");
    }
    let took = start.elapsed();
    drop(reader);
    rival.close().context("cannot close it")?;
    let millis = alone(took.as_secs_f64() * 1e3);
    Ok(Figures::from([(Figure::Open, millis)]))
}
