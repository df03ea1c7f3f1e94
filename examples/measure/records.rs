//! Bytes on disk by kind of record: what a crawl leaves when every URL was inserted, and
//! perhaps claimed and settled an hour later.

use crate::{BATCH, Outcome, Plan};
use seendb::env::Clock;
use seendb::{Canon, Claim, Env, Seen};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Seconds that pass between batches: 100 URLs a second.
const STEP: u64 = 10;
/// Batches between a URL's insertion and its claim: an hour.
const LATER: usize = 360;
/// When the crawl begins, in seconds since 1970.
const START: u64 = 1_767_225_600;

/// What becomes of every URL.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bare,
    Stamped,
    Claimed,
    Status,
    Content,
    Failed,
}

#[derive(Debug)]
struct Moving(AtomicU64);

impl Clock for Moving {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) fn measure(plan: &Plan) -> Outcome<()> {
    println!("\nBytes a URL on disk by kind of record, compacted\n");
    println!("| record | bytes a URL | above bare | wanted |\n|---|---|---|---|");
    let mut bare = 0.0;
    for (name, kind, most) in [
        ("none (`stamps(false)`)", Kind::Bare, None),
        ("seen: a time", Kind::Stamped, Some(5.0)),
        (
            "claimed: worker, time it runs out, token, attempts",
            Kind::Claimed,
            None,
        ),
        ("fetched: times, status", Kind::Status, None),
        (
            "fetched: times, status, content hash",
            Kind::Content,
            Some(24.0),
        ),
        (
            "failed: times, reason of 18 bytes, retry",
            Kind::Failed,
            None,
        ),
    ] {
        let dir = plan.dir.join("records");
        crawl(plan, &dir, kind)?;
        let mut bytes = 0;
        for entry in std::fs::read_dir(&dir)? {
            bytes += entry?.metadata()?.len();
        }
        std::fs::remove_dir_all(&dir)?;
        let each = bytes as f64 / plan.urls.len() as f64;
        if kind == Kind::Bare {
            bare = each;
        }
        let above = each - bare;
        let verdict = match most {
            Some(most) if above <= most => format!("at most {most}: holds"),
            Some(most) => format!("at most {most}: MISSED"),
            None => String::new(),
        };
        println!("| {name} | {each:.2} | {above:.2} | {verdict} |");
    }
    Ok(())
}

fn crawl(plan: &Plan, dir: &Path, kind: Kind) -> Outcome<()> {
    let clock = Arc::new(Moving(AtomicU64::new(START)));
    let seen = Seen::builder(dir)
        .canon(Canon::raw())
        .stamps(kind != Kind::Bare)
        .env(Env {
            clock: clock.clone(),
            ..Env::default()
        })
        .create()?;
    let urls: Vec<&[u8]> = plan.urls.iter().collect();
    let batches: Vec<&[&[u8]]> = urls.chunks(BATCH).collect();
    for step in 0..batches.len() + LATER {
        clock.0.fetch_add(STEP, Ordering::Relaxed);
        if let Some(batch) = batches.get(step) {
            seen.insert_many(batch)?;
        }
        let due = step.checked_sub(LATER).and_then(|place| batches.get(place));
        if let Some(batch) = due.filter(|_| !matches!(kind, Kind::Bare | Kind::Stamped)) {
            settle(&seen, batch, kind)?;
        }
    }
    seen.compact()?;
    seen.close()?;
    Ok(())
}

fn settle(seen: &Seen, urls: &[&[u8]], kind: Kind) -> Outcome<()> {
    let claims = seen.claim_many(urls, "crawler-7", Duration::from_secs(600))?;
    if kind == Kind::Claimed {
        return Ok(());
    }
    let mut batch = seen.batch();
    for (claim, url) in claims.iter().zip(urls) {
        let Claim::Granted(lease) = claim else {
            return Err("a claim was not granted".into());
        };
        match kind {
            Kind::Failed => {
                batch.failed(lease, "connection refused", Duration::from_secs(3600));
            }
            Kind::Status => batch.fetched(lease, 200, None),
            // Of some length that does not compress; which hash it is does not matter.
            _ => batch.fetched(
                lease,
                200,
                Some(xxhash_rust::xxh3::xxh3_128(url).to_le_bytes()),
            ),
        }
    }
    seen.apply(batch)?;
    Ok(())
}
