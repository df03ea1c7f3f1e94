//! What a store takes from its surroundings: files, time and randomness.
//!
//! All three are given when a store is opened; nothing else in this crate reads
//! a clock or asks for random bytes, so that a run can be repeated exactly.

use crate::record::{seconds_of, time_of};
use crate::vfs::{Os, Vfs};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Tells the time.
pub trait Clock: Debug + Send + Sync {
    /// The time of day, for stamps, claims and expiry. A store that is open never goes back
    /// in time with it.
    fn now(&self) -> SystemTime;
    /// Time since some fixed moment that never runs backwards. Under
    /// [`Driver::Manual`](crate::Driver::Manual) it decides when a step syncs; a
    /// store's own threads wait in real time.
    fn elapsed(&self) -> Duration;
}

/// Gives random bytes.
pub trait Entropy: Debug + Send + Sync {
    /// Fills `buf`, or says why it cannot.
    fn fill(&self, buf: &mut [u8]) -> std::io::Result<()>;
}

/// Files, time and randomness of one store.
#[derive(Debug, Clone)]
pub struct Env {
    /// The file system.
    pub vfs: Arc<dyn Vfs>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random bytes: the store's id, its hash seed, the logs' ids.
    pub entropy: Arc<dyn Entropy>,
}

impl Default for Env {
    /// The operating system's.
    fn default() -> Self {
        Env {
            vfs: Arc::new(Os),
            clock: Arc::new(OsClock {
                start: Instant::now(),
            }),
            entropy: Arc::new(OsEntropy),
        }
    }
}

impl Env {
    pub(crate) fn now_seconds(&self) -> u64 {
        seconds_of(self.clock.now())
    }

    /// The time in seconds, with a part of one counted as a whole one.
    pub(crate) fn ceiling_seconds(&self) -> u64 {
        let now = self.clock.now();
        let seconds = seconds_of(now);
        seconds + u64::from(time_of(seconds) < now)
    }

    pub(crate) fn random<const N: usize>(&self) -> std::io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.entropy.fill(&mut bytes)?;
        Ok(bytes)
    }
}

#[derive(Debug)]
struct OsClock {
    start: Instant,
}

impl Clock for OsClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock that is given")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

#[derive(Debug)]
struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, buf: &mut [u8]) -> std::io::Result<()> {
        getrandom::fill(buf).map_err(std::io::Error::from)
    }
}
