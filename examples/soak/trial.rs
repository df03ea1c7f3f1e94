//! Store after store, life after life.

use crate::bounds::{BYTES_A_URL_MERGED, Process, Room};
use crate::life::{Ending, Work, live};
use crate::reader::{self, Shared};
use crate::sequence::{Ends, Sequence, entries, position};
use crate::setting::{SETTINGS, Setting};
use crate::urls::Dice;
use crate::writer::Orders;
use crate::{Outcome, Plan, must};
use seendb::Seen;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Lives in a store that is as large as it gets: what is written then is known.
const MORE_LIVES: u64 = 3;

/// What all came to.
#[derive(Debug)]
pub(crate) struct Tally {
    start: Instant,
    printed: Instant,
    stores: u64,
    kills: u64,
    closings: u64,
    cuts: u64,
    leftovers: u64,
    entries: u64,
    refreshes: u64,
    /// The most of all that was seen.
    room: Room,
    ratio: f64,
    writer: Process,
    this: Process,
}

pub(crate) fn run(plan: &Plan, dir: &Path) -> Outcome<()> {
    let mut dice = Dice(plan.seed);
    let mut tally = Tally {
        start: Instant::now(),
        printed: Instant::now(),
        stores: 0,
        kills: 0,
        closings: 0,
        cuts: 0,
        leftovers: 0,
        entries: 0,
        refreshes: 0,
        room: Room::default(),
        ratio: 0.0,
        writer: Process::default(),
        this: Process::default(),
    };
    let mut outcome = Ok(());
    while outcome.is_ok() && Instant::now() < plan.until {
        let path = dir.join(format!("store{}", tally.stores));
        outcome = one_store(plan, &path, &mut dice, &mut tally);
    }
    tally.print_summary();
    outcome
}

/// Fills a store, writer after writer, then checks all of it.
fn one_store(plan: &Plan, path: &Path, dice: &mut Dice, tally: &mut Tally) -> Outcome<()> {
    let sequence = Sequence {
        seed: dice.next() >> 1,
    };
    let shared = Shared::default();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| reader::run(path, sequence, &shared));
        let lived = all_lives(plan, path, sequence, &shared, dice, tally);
        shared.done.store(true, Ordering::SeqCst);
        let read = reading.join().map_err(|_| "the reader panicked")?;
        read.map_err(|error| format!("a reader: {error}"))?;
        lived
    })?;
    tally.refreshes += shared.refreshes.load(Ordering::SeqCst);
    let ends = shared.reported();
    if ends.iter().all(|&end| end == plan.batches) {
        check_all(plan, path, sequence, ends, tally)?;
    }
    tally.stores += 1;
    tally.entries += entries(ends);
    if path.exists() {
        std::fs::remove_dir_all(path)?;
    }
    Ok(())
}

fn all_lives(
    plan: &Plan,
    path: &Path,
    sequence: Sequence,
    shared: &Shared,
    dice: &mut Dice,
    tally: &mut Tally,
) -> Outcome<()> {
    let mut sum = Work::default();
    let mut more = MORE_LIVES;
    while more > 0 && Instant::now() < plan.until {
        let ends = shared.reported();
        more -= u64::from(ends.iter().all(|&end| end == plan.batches));
        let orders = Orders {
            sequence,
            setting: Setting(dice.below(SETTINGS)),
            memory: plan.memory,
            batches: plan.batches,
            compact: dice.below(10) == 0,
            ends,
        };
        let (ending, long) = match dice.below(8) {
            0 => (Ending::Closed, 3_000),
            1 | 2 => (Ending::Killed, 60),
            3 | 4 => (Ending::Killed, 600),
            _ => (Ending::Killed, 6_000),
        };
        let long = Duration::from_millis(dice.below(long));
        let work = live(path, &orders, long, ending, shared, tally)?;
        match ending {
            Ending::Killed => tally.kills += 1,
            Ending::Closed => tally.closings += 1,
        }
        if !orders.compact {
            sum.flushes += work.flushes;
            sum.flushed += work.flushed;
            sum.merges += work.merges;
            sum.merged += work.merged;
        }
        if shared.exists.load(Ordering::SeqCst) {
            let ends = look(path, sequence, shared.reported(), dice, tally)?;
            for (reported, end) in shared.reported.iter().zip(ends) {
                reported.store(end, Ordering::SeqCst);
            }
        }
    }
    check_work(&sum)
}

/// Checks what a writer left; where each lane ends in it.
fn look(
    path: &Path,
    sequence: Sequence,
    reported: Ends,
    dice: &mut Dice,
    tally: &mut Tally,
) -> Outcome<Ends> {
    let report = seendb::verify(path, &mut |_| {
        tally.print_now_and_then(path, entries(reported));
    })?;
    must!(report.damage.is_empty(), "{:?}", report.damage);
    must!(report.unknown_files.is_empty(), "{report:?}");
    tally.cuts += u64::from(!report.cuts.is_empty());
    tally.leftovers += u64::from(!report.leftovers.is_empty());
    let seen = Seen::open_read_only(path)?;
    let mut ends = reported;
    for (lane, end) in ends.iter_mut().enumerate() {
        // Each lane has at most one batch on its way.
        let found = seen.get_many(&sequence.batch(lane, *end))?;
        *end += u64::from(found.iter().all(Option::is_some));
    }
    let (len, expected) = (seen.len(), entries(ends));
    must!(len == expected, "{len} entries, {expected} expected");
    must!(
        report.entries == expected,
        "{report:?}, {expected} expected"
    );
    must!(seen.position() == position(ends), "{:?}", seen.position());
    reader::check(&seen, sequence, ends, dice)?;
    Ok(ends)
}

/// Merges everything, and looks every URL up.
fn check_all(
    plan: &Plan,
    path: &Path,
    sequence: Sequence,
    ends: Ends,
    tally: &mut Tally,
) -> Outcome<()> {
    let orders = Orders {
        sequence,
        setting: Setting(0),
        memory: plan.memory,
        batches: plan.batches,
        compact: true,
        ends,
    };
    let seen = orders.open(path)?;
    seen.compact()?;
    must!(seen.stats().runs <= 1, "compact left several runs");
    for (lane, &end) in ends.iter().enumerate() {
        for n in 0..end {
            let found = seen.get_many(&sequence.batch(lane, n))?;
            must!(found.iter().all(Option::is_some), "{n} of {lane} is lost");
        }
    }
    let count = seen
        .scan("")?
        .try_fold(0, |n, entry| entry.map(|_| n + 1))?;
    must!(count == entries(ends), "{count} entries in a scan");
    seen.close()?;
    let room = Room::of(path)?;
    let bytes = room.segments as f64 / entries(ends) as f64;
    let small = entries(ends) < 500_000;
    must!(
        small || bytes <= BYTES_A_URL_MERGED,
        "{bytes:.1} bytes a URL when merged"
    );
    must!(room.logs == 0, "a closed store has logs: {room:?}");
    println!(
        "store {}: {} entries, all there; {bytes:.1} bytes each",
        tally.stores,
        entries(ends)
    );
    Ok(())
}

/// Bytes written for each byte flushed, against the policy's simulation (the bounds of
/// its tests, for as many flushes).
fn check_work(sum: &Work) -> Outcome<()> {
    if sum.flushed == 0 {
        return Ok(());
    }
    let amplification = (sum.flushed + sum.merged) as f64 / sum.flushed as f64;
    let most = match sum.flushes {
        0..=100 => 3.6,
        101..=1_000 => 6.0,
        _ => 9.0,
    };
    println!(
        "{} flushes, {} merges: each byte written {amplification:.2} times",
        sum.flushes, sum.merges
    );
    must!(amplification <= most, "at most {most} times was expected");
    Ok(())
}

impl Tally {
    pub(crate) fn see_room(&mut self, room: &Room, live: u64) {
        self.room.files = self.room.files.max(room.files);
        self.room.segments = self.room.segments.max(room.segments);
        self.room.logs = self.room.logs.max(room.logs);
        // While there is little, what was flushed since readers looked counts too much.
        if live > 32 << 20 {
            self.ratio = self.ratio.max(room.segments as f64 / live as f64);
        }
    }

    pub(crate) fn see_process(&mut self, who: &str, process: &Process) {
        let most = match who {
            "writer" => &mut self.writer,
            _ => &mut self.this,
        };
        most.open = most.open.max(process.open);
        most.memory = most.memory.max(process.memory);
    }

    pub(crate) fn print_now_and_then(&mut self, store: &Path, reported: u64) {
        if self.printed.elapsed() < Duration::from_secs(10) {
            return;
        }
        self.printed = Instant::now();
        let room = Room::of(store).unwrap_or_default();
        println!(
            "{:>5} s  store {:>3}: {reported:>9} entries in {:>4} MiB, logs {:>3} MiB, {:>3} files; {} kills, {} closings",
            self.start.elapsed().as_secs(),
            self.stores,
            room.segments >> 20,
            room.logs >> 20,
            room.files,
            self.kills,
            self.closings
        );
    }

    fn print_summary(&self) {
        println!(
            "{} s, {} stores, {} entries, {} kills ({} cut a frame, {} left files), {} closings, {} refreshes",
            self.start.elapsed().as_secs(),
            self.stores,
            self.entries,
            self.kills,
            self.cuts,
            self.leftovers,
            self.closings,
            self.refreshes
        );
        println!(
            "at most: {} files, {} MiB of segments, {:.2} times what was live, {} MiB of logs",
            self.room.files,
            self.room.segments >> 20,
            self.ratio,
            self.room.logs >> 20
        );
        for (who, most) in [("a writer", self.writer), ("readers and checks", self.this)] {
            println!(
                "at most: {} open files and {} MiB of memory in {who}",
                most.open,
                most.memory >> 20
            );
        }
    }
}
