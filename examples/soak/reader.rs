//! A reader beside the writers of a store.

use crate::sequence::{BATCH, Ends, LANES, Sequence, entries, position};
use crate::urls::Dice;
use crate::{Outcome, must};
use seendb::{Reads, Seen};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What the reader is told, and tells, while writers come and go.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Batches of each lane that were reported.
    pub(crate) reported: [AtomicU64; LANES],
    /// A writer said that it had opened the store.
    pub(crate) exists: AtomicBool,
    pub(crate) done: AtomicBool,
    /// Bytes of segments in the reader's view.
    pub(crate) live: AtomicU64,
    pub(crate) refreshes: AtomicU64,
}

impl Shared {
    pub(crate) fn reported(&self) -> Ends {
        std::array::from_fn(|lane| self.reported[lane].load(Ordering::SeqCst))
    }
}

/// Looks every now and then until it is done.
pub(crate) fn run(path: &Path, sequence: Sequence, shared: &Shared) -> Outcome<()> {
    let mut dice = Dice(sequence.seed ^ 0x5ea1);
    let mut reader: Option<Seen> = None;
    let mut len = 0;
    while !shared.done.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(20 + dice.below(100)));
        if !shared.exists.load(Ordering::SeqCst) {
            continue;
        }
        let reported = shared.reported();
        let seen = match reader.take() {
            Some(seen) if dice.below(50) > 0 => {
                seen.refresh()?;
                seen
            }
            _ => {
                let reads = [Reads::Map, Reads::Pread][dice.below(2) as usize];
                Seen::builder(path).reads(reads).open_read_only()?
            }
        };
        check(&seen, sequence, reported, &mut dice)?;
        must!(seen.len() >= len, "{} entries, {len} before", seen.len());
        len = seen.len();
        let live = seen.stats().segment_bytes;
        shared.live.store(live, Ordering::SeqCst);
        shared.refreshes.fetch_add(1, Ordering::SeqCst);
        reader = Some(seen);
    }
    Ok(())
}

/// Checks a store that holds all of `ends` at least.
pub(crate) fn check(seen: &Seen, sequence: Sequence, ends: Ends, dice: &mut Dice) -> Outcome<()> {
    let len = seen.len();
    must!(len >= entries(ends), "{len} entries, {ends:?} reported");
    must!(
        len.is_multiple_of(BATCH),
        "{len} entries: a part of a batch"
    );
    must!(seen.position() >= position(ends), "the position went back");
    for (lane, end) in ends.into_iter().enumerate().filter(|(_, end)| *end > 0) {
        for n in [end - 1, dice.below(end)] {
            let found = seen.get_many(&sequence.batch(lane, n))?;
            must!(found.iter().all(Option::is_some), "{n} of {lane} is lost");
        }
        for _ in 0..50 {
            let (there, absent) = sequence.pair(lane, dice.below(end), dice.next());
            must!(seen.contains(&there)?, "{there} is lost");
            must!(!seen.contains(&absent)?, "{absent} was never inserted");
        }
    }
    let site = format!("https://www.n{}.", 1 + dice.below(20));
    let mut last = Vec::new();
    for entry in seen.scan(&site)?.take(2_000) {
        let key = entry?.0;
        must!(key > last && key.starts_with(site.as_bytes()), "{key:?}");
        last = key;
    }
    Ok(())
}
