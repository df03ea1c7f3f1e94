//! Time that passes, and that processors work, while a store has something to do.

use crate::process;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Takes the time of calls. What this thread does between them is its own work, and its
/// processor time does not count; that of other threads does, as they work for the store.
pub(crate) struct Meter {
    /// Processor time of the process at the start.
    start: Duration,
    /// Processor time that this thread took for work of its own since.
    own: Duration,
    /// That of this thread when the last call ended.
    last: Duration,
}

impl Meter {
    pub(crate) fn start() -> Meter {
        Meter {
            start: process::cpu(),
            own: Duration::ZERO,
            last: process::own_cpu(),
        }
    }

    /// Does something, and gives the time that it took.
    pub(crate) fn time(&mut self, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
        self.own += process::own_cpu().saturating_sub(self.last);
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        self.last = process::own_cpu();
        done.map(|()| took)
    }

    /// The processor time of all calls, and of all other threads, up to now.
    pub(crate) fn cpu(&mut self) -> Duration {
        let now = process::own_cpu();
        self.own += now.saturating_sub(self.last);
        self.last = now;
        self.cpu_at(process::cpu())
    }

    /// The same, up to when the process had taken so much.
    pub(crate) fn cpu_at(&self, process: Duration) -> Duration {
        process.saturating_sub(self.start).saturating_sub(self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(time: Duration) {
        let start = process::own_cpu();
        while process::own_cpu() - start < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn work_between_calls_does_not_count_and_that_of_threads_does() {
        let unit = Duration::from_millis(60);
        let mut meter = Meter::start();
        work(unit);
        let took = meter.time(|| {
            work(unit);
            Ok(())
        });
        assert!(took.unwrap() >= unit);
        std::thread::spawn(move || work(unit)).join().unwrap();
        work(unit);
        let cpu = meter.cpu();
        // Other tests may have worked meanwhile, but not on this thread.
        assert!(cpu >= unit * 2, "{cpu:?}");
        assert!(meter.own >= unit * 2 && meter.own < unit * 3);
    }
}
