//! The writer, in a process of its own until it is killed, or its standard input ends.

use crate::sequence::{Ends, LANES, Sequence};
use crate::setting::Setting;
use crate::urls::Dice;
use crate::{Outcome, must};
use seendb::{Canon, Seen};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the writer is told.
#[derive(Debug, Clone)]
pub(crate) struct Orders {
    pub(crate) sequence: Sequence,
    pub(crate) setting: Setting,
    pub(crate) memory: usize,
    /// Batches for each lane; what comes behind them is known URLs only.
    pub(crate) batches: u64,
    /// Whether to merge everything at first.
    pub(crate) compact: bool,
    pub(crate) ends: Ends,
}

impl Orders {
    pub(crate) fn to_args(&self) -> Vec<String> {
        let numbers = [
            self.sequence.seed,
            self.setting.0,
            self.memory as u64,
            self.batches,
            u64::from(self.compact),
        ];
        let numbers = numbers.iter().chain(&self.ends);
        numbers.map(u64::to_string).collect()
    }

    fn from_args(args: &[String]) -> Outcome<Orders> {
        let numbers: Vec<u64> = args.iter().map(|n| n.parse()).collect::<Result<_, _>>()?;
        let [seed, setting, memory, batches, compact, ends @ ..] = numbers.as_slice() else {
            return Err("a writer needs more orders".into());
        };
        Ok(Orders {
            sequence: Sequence { seed: *seed },
            setting: Setting(*setting),
            memory: *memory as usize,
            batches: *batches,
            compact: *compact != 0,
            ends: ends.try_into()?,
        })
    }

    pub(crate) fn open(&self, path: &Path) -> seendb::Result<Seen> {
        let builder = Seen::builder(path).canon(Canon::raw());
        // Small segments, so that there are many files.
        let builder = builder.memtable_size(self.memory).segment_size(4 << 20);
        self.setting.on(builder).open()
    }
}

/// `args`: the store, then the orders.
pub(crate) fn run(args: &[String]) -> Outcome<()> {
    let [path, orders @ ..] = args else {
        return Err("a writer needs a store".into());
    };
    let orders = Orders::from_args(orders)?;
    let seen = orders.open(Path::new(path))?;
    say("open")?;
    if orders.compact {
        seen.compact()?;
    }
    say("begin")?;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| -> Outcome<()> {
        scope.spawn(|| {
            // Ends when the one who started this process closes it, or dies.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            stop.store(true, Ordering::SeqCst);
        });
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let (seen, orders, stop) = (&seen, &orders, &stop);
                scope.spawn(move || {
                    let wrote = write(seen, orders, lane, stop);
                    if let Err(error) = &wrote {
                        // The other thread waits for standard input.
                        eprintln!("the writer: {error}");
                        std::process::exit(1);
                    }
                })
            })
            .collect();
        for lane in lanes {
            must!(lane.join().is_ok(), "a lane panicked");
        }
        Ok(())
    })?;
    say_work(&seen)?;
    seen.close()?;
    say("closed")
}

fn write(seen: &Seen, orders: &Orders, lane: usize, stop: &AtomicBool) -> Outcome<()> {
    let sequence = orders.sequence;
    let mut dice = Dice(sequence.seed ^ lane as u64);
    let mut n = orders.ends[lane];
    let mut turn = 0u64;
    while !stop.load(Ordering::SeqCst) {
        turn += 1;
        if turn.is_multiple_of(64) && lane == 0 {
            say_work(seen)?;
        }
        // What is known already is not new again; alone, or among new ones.
        let known = (n > 0).then(|| sequence.pair(lane, dice.below(n), dice.next()).0);
        if let Some(known) = &known
            && (n >= orders.batches || turn.is_multiple_of(8))
        {
            must!(!seen.insert(known)?, "new again: {known}");
        }
        if n >= orders.batches {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        }
        let urls = sequence.batch(lane, n);
        let mut batch = seen.batch();
        for url in urls.iter().chain(&known) {
            batch.insert(url)?;
        }
        if lane == 0 {
            batch.position(n + 1);
        }
        let mut new = seen.apply(batch)?.new;
        if known.is_some() {
            must!(new.pop() == Some(false), "new again: {known:?}");
        }
        must!(new.iter().all(|&new| new), "batch {n} of {lane} is not new");
        n += 1;
        say(&format!("{lane} {n}"))?;
    }
    Ok(())
}

/// Flushes and bytes flushed, merges and bytes merged, of this process.
fn say_work(seen: &Seen) -> Outcome<()> {
    let stats = seen.stats();
    say(&format!(
        "work {} {} {} {}",
        stats.flushes, stats.flushed_bytes, stats.merges, stats.merged_bytes
    ))
}

/// A line in one write: it is read even if this process is killed right after.
fn say(line: &str) -> Outcome<()> {
    Ok(std::io::stdout().write_all(format!("{line}\n").as_bytes())?)
}
