//! Looks at the directory and at memory while a load goes on.

use super::Shared;
use crate::{Outcome, kernel};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

const OFTEN: Duration = Duration::from_millis(100);

/// At one moment.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) inserted: u64,
    /// Bytes of all files.
    pub(super) disk: u64,
    /// Of them, those of segments.
    pub(super) segments: u64,
    /// Bytes of anonymous memory of the whole process.
    pub(super) anonymous: u64,
}

pub(super) struct Watch {
    pub(super) samples: Vec<Sample>,
    /// Processor time of this thread, in ns.
    pub(super) cpu: u64,
}

impl Watch {
    pub(super) fn until_ended(store: &Path, shared: &Shared) -> Outcome<Watch> {
        let mut samples = Vec::new();
        while !shared.ended.load(Ordering::Acquire) {
            let inserted = shared.inserted.load(Ordering::Acquire);
            samples.push(Sample {
                inserted,
                disk: kernel::allocated(store)?,
                segments: kernel::allocated_to(store, ".seg")?,
                anonymous: kernel::anonymous()?,
            });
            std::thread::sleep(OFTEN);
        }
        Ok(Watch {
            samples,
            cpu: kernel::cpu_of_this_thread()?,
        })
    }
}
