//! What the clones of a handle share, and how it ends.

use super::core::{Core, Mode, Writer, lock};
use super::flush::MAX_FROZEN;
use super::view::Frozen;
use crate::error::Result;
use crate::sync::Mutex;
use crate::sync::atomic::Ordering;
use crate::sync::thread::JoinHandle;
use std::sync::Arc;

/// What clones share; dropping the last of them closes the store.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Core {
    /// Freezes the active memtable, and flushes it and all before it.
    pub(super) fn flush_all(&self) -> Result<()> {
        let writer = self.writer()?;
        self.check_writable(writer)?;
        // As for writers: while a disk is full, memtables must not pile up.
        while self.view.load().frozen.len() >= MAX_FROZEN && self.flush_step(writer)? {}
        let last = {
            let mut commit = lock(&writer.commit);
            self.check_writable(writer)?;
            self.rotate(writer, &mut commit)?;
            commit.next_sequence
        };
        // In this thread: if the store's own is at it, this waits for its turn. What
        // others freeze meanwhile is theirs to flush.
        let is_before = |oldest: &Arc<Frozen>| oldest.sequences.0 < last;
        while self.view.load().frozen.last().is_some_and(is_before) {
            self.flush_step(writer)?;
        }
        Ok(())
    }
}

impl Handle {
    pub(super) fn start(core: Arc<Core>) -> Result<Handle> {
        let threads = match &core.mode {
            Mode::Write(_) => core.start_threads()?,
            Mode::Read(_) => Vec::new(),
        };
        Ok(Handle {
            core,
            threads: Mutex::new(threads),
        })
    }

    /// Does nothing the second time.
    pub(super) fn close(&self) -> Result<()> {
        let Mode::Write(writer) = &self.core.mode else {
            return Ok(());
        };
        // Held to the end: a second call returns when the store is closed.
        let mut threads = lock(&self.threads);
        writer.stop();
        for thread in threads.drain(..) {
            // A thread that panicked has nothing more to say.
            let _ = thread.join();
        }
        let was_closed = {
            // Under the lock: a commit on its way ends first, and none comes after.
            let _commit = lock(&writer.commit);
            writer.closed.swap(true, Ordering::AcqRel)
        };
        let outcome = if was_closed {
            Ok(())
        } else {
            self.core.settle(writer)
        };
        // Other clones may live on; the lock must not. Those that are flushing or
        // merging end their step first, and begin no other.
        let _turn = lock(&writer.flushing);
        let mut merging = lock(&writer.merging);
        for running in merging.drain(..) {
            self.core.abandon_merge(writer, running);
        }
        writer.live().released = true;
        lock(&writer.lock).take();
        outcome
    }
}

impl Core {
    /// Leaves a store that opens without reading a log, or at least one whose logs
    /// are synced and of known length.
    fn settle(&self, writer: &Writer) -> Result<()> {
        writer.syncer.check()?;
        self.rotate(writer, &mut lock(&writer.commit))?;
        let flushed = (|| {
            while self.flush_step(writer)? {}
            Ok(())
        })();
        if flushed.is_err() && writer.syncer.check().is_ok() {
            // The logs' lengths are known; if there is no room for a manifest
            // either, the next opening finds the ends by itself.
            let mut live = writer.live();
            let _ = self.edit(writer, &mut live, |_| {});
        }
        flushed
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Who wants to know calls `close`.
        let _ = self.close();
    }
}
