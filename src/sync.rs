//! Locks, atomics and threads: the standard library's.
//!
//! Built with `--cfg shuttle` they are those of a scheduler, which decides at each
//! of their operations which thread goes on. So a test can try many schedules, and
//! repeat the one that failed; docs/testing.md says how. What threads share and
//! wait for in the store comes from here. Three exceptions: the memtable's slots lie in
//! zeroed memory, the counters of `stats` belong to a thread each, and the first
//! failure, which is set once, is in a cell of the standard library.

#[cfg(not(shuttle))]
mod chosen {
    pub(crate) use arc_swap::ArcSwap;
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use std::{thread, thread_local};
}

#[cfg(shuttle)]
mod chosen {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
    pub(crate) use shuttle::{thread, thread_local};
    use std::sync::Arc;

    /// As `arc_swap`'s, but the scheduler knows of each load and store.
    #[derive(Debug)]
    pub(crate) struct ArcSwap<T>(Mutex<Arc<T>>);

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(value: T) -> ArcSwap<T> {
            ArcSwap(Mutex::new(Arc::new(value)))
        }

        pub(crate) fn load(&self) -> Arc<T> {
            self.load_full()
        }

        pub(crate) fn load_full(&self) -> Arc<T> {
            self.guard().clone()
        }

        pub(crate) fn store(&self, value: Arc<T>) {
            // The old value goes when the lock is free again.
            let _old = std::mem::replace(&mut *self.guard(), value);
        }

        fn guard(&self) -> MutexGuard<'_, Arc<T>> {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }
}

pub(crate) use chosen::{ArcSwap, Condvar, Mutex, MutexGuard, atomic, thread, thread_local};
