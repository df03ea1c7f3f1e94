//! From what is due in the store to turns.

use crate::Outcome;
use crate::sites::Sites;
use crate::stop::Stop;
use crate::turns::Turns;
use seendb::{Query, Seen, State, StateKind};
use std::time::{Duration, Instant, SystemTime};

/// Offers what is due until nothing is left that can become so.
pub(crate) fn feed(seen: &Seen, turns: &Turns, sites: &Sites, stop: &Stop) -> Outcome<()> {
    while !stop.is_wanted() {
        let began = Instant::now();
        // Asked before: a page in a worker's hands may yet bring links.
        let idle = turns.is_idle();
        let mut any = false;
        for entry in seen.due(SystemTime::now())? {
            let (key, _) = entry?;
            if let Some(url) = sites.url_of(&key) {
                any = true;
                turns.offer(url);
            }
            if stop.is_wanted() {
                return Ok(());
            }
        }
        if any || !idle {
            // Reading a large store takes its time, and is not to take all of it.
            stop.sleep(began.elapsed() * 9);
            turns.wait_for_a_dry_one(stop);
        } else if let Some(wait) = next_due(seen, sites)? {
            stop.sleep(wait);
        } else {
            return Ok(());
        }
    }
    Ok(())
}

/// How long until the first claim of a run that is no more runs out, or the first failure
/// is to be tried again; `None` if there are none.
fn next_due(seen: &Seen, sites: &Sites) -> Outcome<Option<Duration>> {
    let query = Query::new()
        .state(StateKind::Claimed)
        .state(StateKind::Failed);
    let mut first: Option<SystemTime> = None;
    for entry in seen.query(&query)? {
        let (key, record) = entry?;
        let at = match record.state {
            State::Claimed { until, .. } => Some(until),
            State::Failed { retry_at, .. } => retry_at,
            _ => None,
        };
        if let Some(at) = at
            && sites.url_of(&key).is_some()
        {
            first = Some(first.map_or(at, |first| first.min(at)));
        }
    }
    let wait = |at: SystemTime| at.duration_since(SystemTime::now()).unwrap_or_default();
    Ok(first.map(wait))
}
