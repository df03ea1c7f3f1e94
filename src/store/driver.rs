//! Who does the background work: threads of the store, or its caller.

use super::core::{Core, Live, Writer, lock};
use crate::compact::MAX_RUNS;
use crate::error::{Error, Result};
use crate::options::{Driver, Durability};
use crate::sync::MutexGuard;
use crate::sync::atomic::Ordering;
use crate::sync::thread::{self, JoinHandle};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long background work that failed waits before it is tried again, unless
/// somebody asks for it: twice as long each time, up to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(64);
/// How long threads wait for work at a time.
const IDLE: Duration = Duration::from_secs(60);

/// One kind of background work.
struct Background {
    step: fn(&Core, &Writer) -> Result<bool>,
    /// Whether there is something to do.
    ready: fn(&Core, &Writer) -> bool,
    /// Whether somebody waits for another attempt after one that failed.
    wanted: fn(&Live) -> bool,
    /// A damaged input stays damaged: it is not read again and again.
    ends_at_damage: bool,
}

impl Core {
    /// Starts the threads that the options ask for.
    pub(super) fn start_threads(self: &Arc<Core>) -> Result<Vec<JoinHandle<()>>> {
        let mut threads = Vec::new();
        if self.options.driver == Driver::Manual {
            return Ok(threads);
        }
        self.spawn(&mut threads, "seen-flush", Core::run_flushes)?;
        self.spawn(&mut threads, "seen-merge", Core::run_merges)?;
        if let Durability::Interval(_) = self.options.durability {
            self.spawn(&mut threads, "seen-sync", Core::run_syncs)?;
        }
        Ok(threads)
    }

    fn spawn(
        self: &Arc<Core>,
        threads: &mut Vec<JoinHandle<()>>,
        name: &str,
        work: fn(&Core, &Writer),
    ) -> Result<()> {
        let core = self.clone();
        let thread = thread::Builder::new()
            .name(name.to_string())
            .spawn(move || {
                let Ok(writer) = core.writer() else {
                    return;
                };
                let worked = catch_unwind(AssertUnwindSafe(|| work(&core, writer)));
                if worked.is_err() {
                    // A bug; but writers must not wait for ever for what is not done.
                    let cause = std::io::Error::other("a background thread panicked");
                    writer
                        .syncer
                        .poison(Error::io("go on with", &core.dir, cause));
                    writer.changed.notify_all();
                }
            });
        match thread {
            Ok(thread) => {
                threads.push(thread);
                Ok(())
            }
            Err(error) => {
                // Those that were started must not outlive the opening.
                if let Ok(writer) = self.writer() {
                    writer.stop();
                }
                for thread in threads.drain(..) {
                    let _ = thread.join();
                }
                Err(Error::io("start a thread for", &self.dir, error))
            }
        }
    }

    fn run_flushes(&self, writer: &Writer) {
        let work = Background {
            step: Core::flush_step,
            ready: |core, _| !core.view.load().frozen.is_empty(),
            wanted: |live| live.flush_wanted,
            ends_at_damage: false,
        };
        self.run(writer, &work);
    }

    fn run_merges(&self, writer: &Writer) {
        let work = Background {
            step: Core::merge_step,
            // While somebody drains merges none is begun: looking again and again would
            // keep the lock from who does.
            ready: |core, writer| core.view.load().runs.len() > MAX_RUNS && !writer.is_draining(),
            wanted: |_| false,
            ends_at_damage: true,
        };
        self.run(writer, &work);
    }

    /// Takes steps while there are any, then waits for more.
    fn run(&self, writer: &Writer, work: &Background) {
        let mut pause = FIRST_PAUSE;
        while !writer.live().closing {
            let outcome = (work.step)(self, writer);
            let live = writer.live();
            match outcome {
                Ok(true) => pause = FIRST_PAUSE,
                Ok(false) => self.wait_until(writer, live, IDLE, |_| (work.ready)(self, writer)),
                // Nothing can be done any more but wait for the end.
                Err(_) if writer.syncer.check().is_err() => {
                    self.wait_until(writer, live, IDLE, |_| false);
                }
                Err(Error::Corrupt(_) | Error::UnsupportedFormat { .. }) if work.ends_at_damage => {
                    return;
                }
                Err(_) => {
                    self.wait_until(writer, live, pause, work.wanted);
                    pause = (pause * 2).min(LAST_PAUSE);
                }
            }
        }
    }

    /// Waits until `ready` holds, the handle is closing, or the time is over.
    fn wait_until(
        &self,
        writer: &Writer,
        live: MutexGuard<'_, Live>,
        time: Duration,
        mut ready: impl FnMut(&Live) -> bool,
    ) {
        drop(
            writer
                .changed
                .wait_timeout_while(live, time, |live| !live.closing && !ready(live))
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn run_syncs(&self, writer: &Writer) {
        let Durability::Interval(interval) = self.options.durability else {
            return;
        };
        loop {
            let live = writer.live();
            if live.closing {
                return;
            }
            self.wait_until(writer, live, interval, |_| false);
            // A failure poisons the handle: the next write tells its caller.
            let _ = self.sync_appended(writer);
        }
    }

    /// Makes everything appended so far durable.
    pub(super) fn sync_appended(&self, writer: &Writer) -> Result<()> {
        writer.syncer.check()?;
        let point = lock(&writer.commit).point();
        point.map_or(Ok(()), |point| writer.syncer.sync_to(&point))
    }

    /// Makes everything recorded durable.
    pub(super) fn sync_all(&self) -> Result<()> {
        let writer = self.writer()?;
        self.check_writable(writer)?;
        self.sync_appended(writer)
    }

    /// One bounded step of background work, in the caller's thread; false if there
    /// is none to do.
    pub(super) fn step(&self) -> Result<bool> {
        let writer = self.writer()?;
        if let Durability::Interval(interval) = self.options.durability
            && self.has_unsynced(writer)
        {
            let now = self.options.env.clock.elapsed();
            let mut last = lock(&writer.last_sync);
            if now.saturating_sub(*last) >= interval {
                self.sync_appended(writer)?;
                *last = now;
                return Ok(true);
            }
        }
        Ok(self.flush_step(writer)? || self.merge_step(writer)?)
    }

    fn has_unsynced(&self, writer: &Writer) -> bool {
        let commit = lock(&writer.commit);
        commit.log.is_some() && commit.next_sequence > writer.syncer.synced() + 1
    }
}

impl Writer {
    /// Whether somebody waits for the merges in progress to end.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire) > 0
    }

    /// Tells the threads to end.
    pub(super) fn stop(&self) {
        self.live().closing = true;
        self.changed.notify_all();
    }
}
