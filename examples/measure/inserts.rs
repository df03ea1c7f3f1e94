//! How long it takes to record all URLs.

use crate::goals::{Cell, Goal, Table};
use crate::{BATCH, Outcome, Plan, Set, kernel, median, progress, stores, time};
use std::hint::black_box;

/// What one load takes, in ns a URL.
struct Load {
    /// Until all is safe from a power loss.
    synced: f64,
    /// Until all flushes and merges are finished, too.
    settled: f64,
    /// Of all threads, until then.
    cpu: f64,
}

/// Each round makes a new set and new stores; only inserting is timed.
pub(crate) fn measure(plan: &Plan, table: &mut Table) -> Outcome<()> {
    let urls: Vec<&[u8]> = plan.urls.iter().collect();
    for (name, batch, goals) in [
        (
            "insert, batches of 1,000",
            BATCH,
            [Goal::AtMost(1.2), Goal::AtMost(2.5)],
        ),
        ("insert, one at a time", 1, [Goal::None, Goal::None]),
    ] {
        let mut rounds = Vec::new();
        for round in 0..plan.rounds.div_ceil(2) {
            progress(&format!("{name}, round {round}"));
            rounds.push((time_set(&urls)?, load(plan, &urls, batch)?));
        }
        let of_set = |part: fn(&Load) -> f64| median(rounds.iter().map(|(set, _)| part(set)));
        let cell = |part: fn(&Load) -> f64, goal| {
            let nanos = median(rounds.iter().map(|(_, store)| part(store)));
            let ratio = median(rounds.iter().map(|(set, store)| part(store) / part(set)));
            Cell::ratio(nanos, ratio, goal)
        };
        let [synced, settled] = goals;
        for (name, part, goal) in [
            (
                format!("{name}, to `sync()`"),
                (|load| load.synced) as fn(&Load) -> f64,
                synced,
            ),
            (
                "... to all flushes and merges finished".into(),
                |load| load.settled,
                settled,
            ),
            (
                "... processor time of all threads".into(),
                |load| load.cpu,
                Goal::None,
            ),
        ] {
            table.times(name, of_set(part), cell(part, goal), None);
        }
    }
    Ok(())
}

fn time_set(urls: &[&[u8]]) -> Outcome<Load> {
    let mut set = Set::new();
    let cpu = kernel::cpu()?;
    let nanos = time(urls.len(), || {
        let mut new = 0;
        for url in urls {
            new += usize::from(set.insert(Box::from(*url)));
        }
        assert_eq!(new, urls.len());
        Ok(())
    })?;
    let cpu = kernel::cpu()? - cpu;
    black_box(&set);
    Ok(Load {
        synced: nanos,
        settled: nanos,
        cpu: cpu as f64 / urls.len() as f64,
    })
}

fn load(plan: &Plan, urls: &[&[u8]], batch: usize) -> Outcome<Load> {
    let path = plan.dir.join("inserts");
    let seen = stores::builder(&path).create()?;
    let cpu = kernel::cpu()?;
    let synced = time(urls.len(), || {
        let mut new = 0;
        if batch == 1 {
            for url in urls {
                new += usize::from(seen.insert(url)?);
            }
        } else {
            for urls in urls.chunks(batch) {
                new += seen.insert_many(urls)?.iter().filter(|&&n| n).count();
            }
        }
        assert_eq!(new, urls.len());
        Ok(seen.sync()?)
    })?;
    let rest = time(urls.len(), || stores::settle(&seen))?;
    let cpu = kernel::cpu()? - cpu;
    assert_eq!(seen.len(), urls.len() as u64);
    seen.close()?;
    std::fs::remove_dir_all(path)?;
    Ok(Load {
        synced,
        settled: synced + rest,
        cpu: cpu as f64 / urls.len() as f64,
    })
}
