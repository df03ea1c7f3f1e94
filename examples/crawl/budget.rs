//! The bound on pages fetched. A page that is being fetched has a place under it, which is
//! used up if it comes.

use crate::stop::{STEP, Stop};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) struct Budget {
    /// Pages that may still be fetched.
    left: AtomicU64,
    /// Of them, those for which nobody has a place.
    free: AtomicU64,
}

impl Budget {
    pub(crate) fn new(pages: u64) -> Budget {
        Budget {
            left: pages.into(),
            free: pages.into(),
        }
    }

    /// Takes a place; waits while others have them all, as one may be given back. False at
    /// the end: then all were used up, or it is to stop.
    pub(crate) fn take(&self, stop: &Stop) -> bool {
        let one_less = |free: u64| free.checked_sub(1);
        while !stop.is_wanted() {
            let taken = (self.free).fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
            if taken.is_ok() {
                return true;
            }
            if self.left.load(Ordering::SeqCst) == 0 {
                stop.want();
            }
            stop.sleep(STEP);
        }
        false
    }

    /// The page did not come.
    pub(crate) fn give_back(&self) {
        self.free.fetch_add(1, Ordering::SeqCst);
    }

    /// It came.
    pub(crate) fn use_up(&self) {
        self.left.fetch_sub(1, Ordering::SeqCst);
    }
}
