//! How long it takes to record all URLs.

use crate::table::{self, Row};
use crate::{BATCH, Outcome, Plan, Set, open, time};
use seendb::Seen;
use std::hint::black_box;
use std::path::PathBuf;

/// Each round makes a new set and new stores; only inserting is timed.
pub(crate) fn measure(plan: &Plan) -> Outcome<()> {
    let urls: Vec<&[u8]> = plan.urls.iter().collect();
    let count = urls.len();
    let mut batches = Row::new("insert, batches of 1,000, sync at the end", Some(4.0));
    let mut at_rest = Row::new("  ... until all is flushed too", None);
    let mut single = Row::new("insert, one at a time, sync at the end", None);
    let mut single_at_rest = Row::new("  ... until all is flushed too", None);
    for round in 0..plan.rounds.div_ceil(2) {
        let set = time_set(&urls)?;
        let (seen, path) = fresh(plan, round)?;
        let synced = time(count, || {
            let mut new = 0;
            for batch in urls.chunks(BATCH) {
                new += seen.insert_many(batch)?.iter().filter(|&&n| n).count();
            }
            assert_eq!(new, count);
            Ok(seen.sync()?)
        })?;
        let flushed = time(count, || Ok(seen.flush()?))?;
        for (row, store) in [(&mut batches, synced), (&mut at_rest, synced + flushed)] {
            row.note(0, set);
            row.note(1, store);
        }
        seen.close()?;
        std::fs::remove_dir_all(path)?;

        let set = time_set(&urls)?;
        let (seen, path) = fresh(plan, round)?;
        let synced = time(count, || {
            let mut new = 0;
            for url in &urls {
                new += usize::from(seen.insert(url)?);
            }
            assert_eq!(new, count);
            Ok(seen.sync()?)
        })?;
        let flushed = time(count, || Ok(seen.flush()?))?;
        for (row, store) in [
            (&mut single, synced),
            (&mut single_at_rest, synced + flushed),
        ] {
            row.note(0, set);
            row.note(1, store);
        }
        seen.close()?;
        std::fs::remove_dir_all(path)?;
    }
    let rows = [batches, at_rest, single, single_at_rest];
    table::print("Inserts", &["  store"], &rows);
    Ok(())
}

fn time_set(urls: &[&[u8]]) -> Outcome<f64> {
    let mut set = Set::new();
    let nanos = time(urls.len(), || {
        let mut new = 0;
        for url in urls {
            new += usize::from(set.insert(Box::from(*url)));
        }
        assert_eq!(new, urls.len());
        Ok(())
    })?;
    black_box(&set);
    Ok(nanos)
}

fn fresh(plan: &Plan, round: usize) -> Outcome<(Seen, PathBuf)> {
    let path = plan.dir.join(format!("insert-{round}"));
    Ok((open(&path, true)?, path))
}
