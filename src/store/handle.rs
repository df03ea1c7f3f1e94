//! What the clones of a handle share, and how it ends.

use super::core::{Core, Mode, Writer, lock};
use super::flush::MAX_FROZEN;
use crate::error::{Error, Result};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What clones share; dropping the last of them closes the store.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Core {
    /// Freezes the active memtable and flushes all.
    pub(super) fn flush_all(&self) -> Result<()> {
        let writer = self.writer()?;
        self.check_open(&lock(&writer.commit))?;
        // As for writers: while a disk is full, memtables must not pile up.
        while self.view.load().frozen.len() >= MAX_FROZEN && self.flush_step(writer)? {}
        {
            let mut commit = lock(&writer.commit);
            self.check_open(&commit)?;
            self.rotate(writer, &mut commit)?;
        }
        // In this thread: if the store's own is at it, this waits for its turn.
        while self.flush_step(writer)? {}
        Ok(())
    }

    fn check_open(&self, commit: &super::commit::Commit) -> Result<()> {
        if commit.closed {
            return Err(Error::Closed {
                path: self.dir.clone(),
            });
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
        let was_closed = std::mem::replace(&mut lock(&writer.commit).closed, true);
        let outcome = if was_closed {
            Ok(())
        } else {
            self.core.settle(writer)
        };
        // Other clones may live on; the lock must not. Those that are flushing or
        // merging end their step first, and begin no other.
        let _turn = lock(&writer.flushing);
        let mut running = lock(&writer.merging);
        self.core.abandon_merge(writer, &mut running);
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
