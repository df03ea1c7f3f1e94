//! The life of one writer: it is started, watched, and killed or closed.

use crate::bounds::{Process, Room};
use crate::reader::Shared;
use crate::sequence::entries;
use crate::trial::Tally;
use crate::writer::Orders;
use crate::{Outcome, must};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Killed,
    Closed,
}

/// The last that a writer said of its work.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) flushes: u64,
    pub(crate) flushed: u64,
    pub(crate) merges: u64,
    pub(crate) merged: u64,
}

/// Runs a writer for this long.
pub(crate) fn live(
    path: &Path,
    orders: &Orders,
    long: Duration,
    ending: Ending,
    shared: &Shared,
    tally: &mut Tally,
) -> Outcome<Work> {
    let mut process = Command::new(std::env::current_exe()?)
        .arg("--child")
        .arg(path)
        .args(orders.to_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let lines = process.stdout.take().ok_or("no standard output")?;
    std::thread::scope(|scope| {
        let listening = scope.spawn(move || listen(lines, shared));
        let watched = watch(path, orders, long, &mut process, shared, tally);
        let closes = watched.is_ok() && ending == Ending::Closed;
        if closes {
            drop(process.stdin.take());
        } else {
            process.kill()?;
        }
        let heard = listening.join().map_err(|_| "a listener panicked")?;
        let status = process.wait()?;
        watched?;
        must!(status.success() == closes, "the writer ended with {status}");
        let (work, last) = heard?;
        must!(!closes || last == "closed", "{last} is the last it said");
        Ok(work)
    })
}

fn watch(
    path: &Path,
    orders: &Orders,
    long: Duration,
    process: &mut Child,
    shared: &Shared,
    tally: &mut Tally,
) -> Outcome<()> {
    let memory = orders.memory as u64;
    let end = Instant::now() + long;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(Duration::from_millis(100)));
        if let Some(status) = process.try_wait()? {
            return Err(format!("the writer ended by itself with {status}").into());
        }
        // Before and after, so that what was added meanwhile counts.
        let live = shared.live.load(Ordering::SeqCst);
        let room = Room::of(path)?;
        let live = live.max(shared.live.load(Ordering::SeqCst));
        let reported = entries(shared.reported());
        room.check(live, reported, memory)?;
        tally.see_room(&room, live);
        for (who, id) in [("writer", process.id()), ("this", std::process::id())] {
            let Some(process) = Process::of(id) else {
                continue;
            };
            process.check(who, &room, reported, memory)?;
            tally.see_process(who, &process);
        }
        tally.print_now_and_then(path, reported);
        if left.is_zero() {
            return Ok(());
        }
    }
}

/// Takes in all that the writer says; its work, and the last line.
fn listen(lines: ChildStdout, shared: &Shared) -> Outcome<(Work, String)> {
    let mut lines = BufReader::new(lines);
    let (mut work, mut last) = (Work::default(), String::new());
    loop {
        let mut line = String::new();
        // A line without an end was cut by the kill.
        if lines.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Ok((work, last));
        }
        last = line.trim_end().to_owned();
        let mut words = last.split(' ');
        let word = words.next().unwrap_or_default();
        let numbers: Vec<u64> = words.map(str::parse).collect::<Result<_, _>>()?;
        match (word, numbers.as_slice()) {
            ("open", []) => shared.exists.store(true, Ordering::SeqCst),
            ("work", &[flushes, flushed, merges, merged]) => {
                work = Work {
                    flushes,
                    flushed,
                    merges,
                    merged,
                }
            }
            (lane, &[end]) => {
                let lane = shared.reported.get(lane.parse::<usize>()?);
                lane.ok_or("no such lane")?.store(end, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}
