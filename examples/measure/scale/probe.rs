//! Looks URLs up beside a load: a known sample, again and again, in groups with pauses between
//! them, so that the load has its processors almost to itself.

use super::{SEED, SEED_OF_QUESTIONS, Shared, stores};
use crate::corpus::Corpus;
use crate::urls::{self, Dice};
use crate::{Outcome, kernel, time};
use seendb::Seen;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const GROUPS: usize = 20;
/// URLs of a group.
const GROUP: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(50);
/// What is going on is asked for this often: the answer walks over memtables.
const ASK: Duration = Duration::from_millis(500);
/// Times that each group is looked up at rest.
const ROUNDS: usize = 5;

/// URLs of the first half of a load.
pub(super) struct Probe {
    groups: Vec<Corpus>,
    half: u64,
}

/// Times of groups in the second half of a load, in ns a lookup.
#[derive(Default)]
pub(super) struct Probes {
    /// While there were more runs than stay unmerged: while something was merged.
    pub(super) merging: Vec<f64>,
    pub(super) otherwise: Vec<f64>,
    /// Processor time of this thread, in ns.
    pub(super) cpu: u64,
}

impl Probe {
    pub(super) fn new(count: u64) -> Probe {
        let mut dice = Dice(SEED_OF_QUESTIONS);
        let half = count.div_ceil(2);
        let mut group = || {
            let mut urls = Corpus::default();
            for _ in 0..GROUP {
                urls.push(urls::url(SEED, dice.below(half)).as_bytes());
            }
            urls
        };
        let groups = (0..GROUPS).map(|_| group()).collect();
        Probe { groups, half }
    }

    pub(super) fn while_loading(&self, seen: &Seen, shared: &Shared) -> Outcome<Probes> {
        let mut probes = Probes::default();
        while shared.inserted.load(Ordering::Acquire) < self.half {
            if shared.ended.load(Ordering::Acquire) {
                return Ok(probes);
            }
            std::thread::sleep(PAUSE);
        }
        let merging = || seen.stats().runs > stores::RUNS as u64;
        let mut before = merging();
        let mut asked = Instant::now();
        let mut since = Vec::new();
        for group in self.groups.iter().cycle() {
            if shared.ended.load(Ordering::Acquire) {
                break;
            }
            since.push(look_up(seen, group)?);
            if asked.elapsed() >= ASK {
                let now = merging();
                let times = if before && now {
                    &mut probes.merging
                } else {
                    &mut probes.otherwise
                };
                times.append(&mut since);
                before = now;
                asked = Instant::now();
            }
            std::thread::sleep(PAUSE);
        }
        probes.cpu = kernel::cpu_of_this_thread()?;
        Ok(probes)
    }

    /// The same when nothing else goes on, and every block was in use before.
    pub(super) fn at_rest(&self, seen: &Seen) -> Outcome<Vec<f64>> {
        let mut times = Vec::new();
        for round in 0..=ROUNDS {
            for group in &self.groups {
                let nanos = look_up(seen, group)?;
                if round > 0 {
                    times.push(nanos);
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(times)
    }
}

/// The nanoseconds of each lookup.
fn look_up(seen: &Seen, group: &Corpus) -> Outcome<f64> {
    time(group.len(), || {
        for url in group.iter() {
            assert!(seen.contains(url)?, "a URL was missed");
        }
        Ok(())
    })
}
