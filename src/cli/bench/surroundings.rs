//! Clock and randomness of the stores that are built, so that a seed gives the same ones
//! every time.

use super::generator::Dice;
use crate::Env;
use crate::env::{Clock, Entropy};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// All entries are of this time, in seconds: the beginning of 2026.
const NOW: u64 = 1_767_225_600;

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// Random bytes that a seed repeats.
#[derive(Debug)]
struct Seeded(Mutex<u64>);

impl Entropy for Seeded {
    fn fill(&self, buf: &mut [u8]) -> std::io::Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut dice = Dice(*state);
        for part in buf.chunks_mut(8) {
            let bytes = dice.next().to_le_bytes();
            for (to, from) in part.iter_mut().zip(bytes) {
                *to = from;
            }
        }
        *state = dice.0;
        Ok(())
    }
}

/// The surroundings of a store that is built from `seed`.
pub(super) fn seeded(seed: u64) -> Env {
    Env {
        clock: Arc::new(Still),
        entropy: Arc::new(Seeded(Mutex::new(seed))),
        ..Env::default()
    }
}
