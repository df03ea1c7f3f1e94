//! The write path: entries go to the log, then become visible.
//!
//! An operation looks its key up in a view first, without any lock: that may read a
//! segment. Then it takes the commit lock, and makes sure that the view's decisions still
//! hold: that no memtable was frozen since, and nothing was counted as expired. So the only
//! place where the key can have changed meanwhile is the active memtable, which the
//! appender checks. One lock for all writers keeps the order of frames, of entries and of
//! sequence numbers the same; what happens under it is a few memory accesses for each
//! entry.

use super::core::{Core, Writer, lock};
use super::expire::Expiring;
use super::syncer::Point;
use super::view::Frozen;
use super::view::View;
use crate::error::{Error, Result};
use crate::log::{AppendError, LogWriter, NewLog};
use crate::manifest::LogRef;
use crate::memtable::{Appender, Mark, Memtable};
use crate::options::Durability;
use crate::record::Token;
use std::sync::Arc;

/// What the holder of the commit lock may change.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) appender: Appender,
    /// The log behind the active memtable; made at the first append.
    pub(super) log: Option<LogWriter>,
    /// Equal to the view's, as long as the commit lock is held.
    pub(super) rotation: u64,
    /// The number of the next frame.
    pub(super) next_sequence: u64,
    /// The number of the first frame in the active memtable.
    pub(super) first_sequence: u64,
    /// The last position appended.
    pub(super) position: Option<u64>,
    /// Entries up to this frame become visible only when they are durable.
    pub(super) hidden: u64,
    /// The last token that was given; its epoch is the manifest's.
    pub(super) token: Token,
    /// Merges that have left out records which expired, and are not published yet.
    pub(super) expiring: Vec<Expiring>,
}

/// What all changes of one batch have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// Entries, at most.
    pub(super) count: usize,
    /// What they can take in a memtable.
    pub(super) size: usize,
    /// The time of the batch, in seconds, if the store keeps one.
    pub(super) seconds: Option<u64>,
    pub(super) position: Option<u64>,
    pub(super) immediate: bool,
}

/// A batch that is decided and appended under the commit lock.
pub(super) trait Changes {
    fn frame(&self) -> Frame;

    /// Decides, given what the active memtable has, and appends entries. `batch` is where
    /// they begin. An error takes them back.
    fn stage(&mut self, commit: &mut Commit, batch: Mark) -> Result<Staged>;

    /// What was appended is in the log.
    fn logged(&self, _: &mut Commit) {}
}

/// How a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Staged {
    Ready,
    /// It rests on an entry that is not visible yet: to be tried again when it is.
    Blocked,
}

impl Core {
    /// Commits a batch, whose keys were looked up in a view of `rotation`. False if what
    /// was found there may not hold any more: look them up again.
    #[inline]
    pub(super) fn commit(&self, rotation: u64, changes: &mut impl Changes) -> Result<bool> {
        let writer = self.writer()?;
        let frame = changes.frame();
        let mut commit = lock(&writer.commit);
        self.check_writable(writer)?;
        if commit.rotation != rotation {
            return Ok(false);
        }
        if let (Some(given), Some(last)) = (frame.position, commit.position)
            && given <= last
        {
            return Err(Error::StalePosition { given, last });
        }
        if !self.has_room(&commit, &frame) {
            drop(commit);
            self.make_room(writer, &frame)?;
            return Ok(false);
        }

        let before = commit.appender.begin();
        let staged = changes.stage(&mut commit, before);
        let added = !commit.appender.mark().is_at(&before);
        let staged = staged.and_then(|staged| {
            if staged == Staged::Ready && (added || frame.position.is_some()) {
                self.append(writer, &mut commit, &frame, before)?;
                changes.logged(&mut commit);
            }
            Ok(staged)
        });
        if added && !matches!(staged, Ok(Staged::Ready)) {
            commit.appender.take_back(before, |key| self.hash(key));
        }
        if staged? == Staged::Blocked {
            let point = commit.point();
            drop(commit);
            match point {
                Some(point) => writer.syncer.sync_to(&point)?,
                None => writer.syncer.check()?,
            }
            return Ok(false);
        }

        // An answer rests on entries that are visible, or will be when they are
        // durable: then it waits for that. So does the answer that nothing is new.
        if frame.immediate || self.options.durability == Durability::Immediate {
            commit.hidden = commit.next_sequence - 1;
        }
        if writer.syncer.synced() >= commit.hidden {
            commit.appender.memtable().publish(commit.appender.mark());
            if let Some(position) = frame.position {
                writer.syncer.applied(position);
            }
            return Ok(true);
        }
        let point = commit.point();
        drop(commit);
        match point {
            Some(point) => writer.syncer.sync_to(&point)?,
            None => writer.syncer.check()?,
        }
        Ok(true)
    }

    /// Appends one frame with the entries since `before`.
    #[inline]
    fn append(
        &self,
        writer: &Writer,
        commit: &mut Commit,
        frame: &Frame,
        before: Mark,
    ) -> Result<()> {
        if commit.log.is_none() {
            self.start_log(writer, commit)?;
        }
        let Some(log) = &mut commit.log else {
            return Ok(());
        };
        let appended = log.append(frame.seconds, frame.position, |body| {
            for entry in commit.appender.since(before) {
                body.put(entry.key, entry.record);
            }
        });
        let sequence = match appended {
            Ok(sequence) => sequence,
            Err(AppendError::CutBack(error)) => return Err(error),
            Err(AppendError::Broken(error)) => return Err(writer.syncer.poison(error)),
        };
        commit.next_sequence = sequence + 1;
        commit.position = frame.position.or(commit.position);
        Ok(())
    }

    /// Makes the log of the active memtable: the file, then the manifest that
    /// names it, before it accepts a frame. The same manifest has the final length
    /// of the log before, which was synced when its memtable was frozen.
    #[cold]
    fn start_log(&self, writer: &Writer, commit: &mut Commit) -> Result<()> {
        let env = &self.options.env;
        self.check_lock(writer)?;
        let mut live = writer.live();
        let number = live.take_number();
        let id = env
            .random::<8>()
            .map_err(|e| Error::io("get random bytes for", &self.dir, e))?;
        let first_sequence = commit.next_sequence;
        let new = NewLog {
            number,
            id: u64::from_le_bytes(id),
            first_sequence,
            immediate: self.options.durability == Durability::Immediate,
            writes: self.options.writes,
        };
        let log = LogWriter::create(&*env.vfs, &self.dir, self.store, &new);
        let edited = log.and_then(|log| {
            self.sync_names(writer)?;
            self.edit(writer, &mut live, |manifest| {
                manifest.logs.push(LogRef {
                    number,
                    first_sequence,
                    length: None,
                });
            })?;
            Ok(log)
        });
        match edited {
            Ok(log) => {
                commit.first_sequence = first_sequence;
                commit.log = Some(log);
                Ok(())
            }
            Err(error) => {
                // No manifest names it, or nobody knows which one is in force.
                if !matches!(error, Error::Poisoned { .. }) {
                    let _ = env
                        .vfs
                        .remove(&self.dir.join(crate::log::file_name(number)));
                }
                Err(error)
            }
        }
    }

    /// Whether the active memtable and its log take another frame.
    #[inline]
    fn has_room(&self, commit: &Commit, frame: &Frame) -> bool {
        let mut log = commit.log.iter();
        log.all(|log| log.end() <= self.options.log_limit())
            && commit.appender.has_room(frame.count, frame.size)
    }

    /// Waits for room, then freezes the active memtable, if that was not done
    /// meanwhile.
    #[cold]
    fn make_room(&self, writer: &Writer, frame: &Frame) -> Result<()> {
        self.wait_for_room(writer)?;
        let mut commit = lock(&writer.commit);
        if !self.has_room(&commit, frame) {
            self.rotate(writer, &mut commit)?;
        }
        Ok(())
    }

    /// Freezes the active memtable and puts an empty one in its place. Its log is
    /// synced, and its length goes into the manifest before another log accepts a
    /// frame.
    pub(super) fn rotate(&self, writer: &Writer, commit: &mut Commit) -> Result<()> {
        writer.syncer.check()?;
        let (Some(point), Some(log)) = (commit.point(), &commit.log) else {
            return Ok(());
        };
        let (number, end) = (log.number(), log.end());
        let (memtable, appender) = Memtable::new(self.options.memtable_size())
            .map_err(|e| Error::io("get memory for", &self.dir, e))?;
        writer.syncer.sync_to(&point)?;

        let frozen = Arc::new(Frozen {
            memtable: commit.appender.memtable().clone(),
            log: number,
            sequences: (commit.first_sequence, commit.next_sequence - 1),
            position: commit.position,
        });
        commit.appender = appender;
        if let Some(log) = commit.log.take() {
            log.trim();
        }
        commit.rotation += 1;
        let rotation = commit.rotation;

        let mut live = writer.live();
        for log in &mut live.manifest.logs {
            if log.number == number {
                log.length = Some(end);
            }
        }
        self.change_view(|view| {
            let mut frozen_ones = vec![frozen];
            frozen_ones.extend(view.frozen.iter().cloned());
            View {
                rotation,
                active: memtable,
                frozen: frozen_ones,
                ..view.clone()
            }
        });
        writer.changed.notify_all();
        Ok(())
    }
}

impl Commit {
    /// The present end of the log, to be synced; `None` without a log.
    pub(super) fn point(&self) -> Option<Point> {
        let log = self.log.as_ref()?;
        Some(Point {
            sequence: self.next_sequence - 1,
            file: log.file().clone(),
            path: log.path().to_path_buf(),
            end: log.end(),
            log_synced: log.synced().clone(),
            memtable: self.appender.memtable().clone(),
            mark: self.appender.mark(),
            position: self.position,
        })
    }
}
