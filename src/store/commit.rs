//! The write path: entries that are new go to the log, then become visible.
//!
//! An insert looks its key up in a view first, without any lock: that may read a
//! segment. Then it takes the commit lock, and makes sure that no memtable was
//! frozen since the view was taken; so the only place where the key can have
//! appeared meanwhile is the active memtable, which the appender checks. One lock
//! for all writers keeps the order of frames, of entries and of sequence numbers
//! the same; what happens under it is a few memory accesses for each entry.

use super::core::{Core, Writer, lock};
use super::syncer::Point;
use super::view::Frozen;
use super::view::View;
use crate::error::{Error, Result};
use crate::log::{AppendError, LogWriter, NewLog};
use crate::manifest::LogRef;
use crate::memtable::{Appender, Memtable};
use crate::options::Durability;
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
}

/// A batch as it is committed. `new[i]` says on the way in whether item `i` was
/// not found in the view, and on the way out whether it was inserted.
pub(super) struct Candidates<'a> {
    pub(super) hashes: &'a [u64],
    pub(super) key: &'a dyn Fn(usize) -> &'a [u8],
    pub(super) new: &'a mut [bool],
    /// What the keys can take in a memtable.
    pub(super) size: usize,
    pub(super) millis: Option<u64>,
    pub(super) position: Option<u64>,
    pub(super) immediate: bool,
}

impl Core {
    /// Commits what is new among the candidates, which were looked up in a view of
    /// `rotation`. False if a memtable was frozen since: look them up again.
    #[inline]
    pub(super) fn commit(&self, rotation: u64, batch: &mut Candidates<'_>) -> Result<bool> {
        let writer = self.writer()?;
        let mut commit = lock(&writer.commit);
        self.check_writable(writer)?;
        if commit.rotation != rotation {
            return Ok(false);
        }
        if let (Some(given), Some(last)) = (batch.position, commit.position)
            && given <= last
        {
            return Err(Error::StalePosition { given, last });
        }
        let log_full = commit
            .log
            .as_ref()
            .is_some_and(|log| log.end() > self.options.log_limit());
        if log_full || !commit.appender.has_room(batch.hashes.len(), batch.size) {
            drop(commit);
            self.make_room(writer, rotation)?;
            return Ok(false);
        }

        let before = commit.appender.mark();
        let mut added = false;
        for (place, (&hash, new)) in batch.hashes.iter().zip(batch.new.iter_mut()).enumerate() {
            if *new {
                *new = commit
                    .appender
                    .insert(hash, (batch.key)(place), batch.millis);
                added |= *new;
            }
        }
        if added || batch.position.is_some() {
            let appended = self.append(writer, &mut commit, batch);
            if let Err(error) = appended {
                commit.appender.take_back(before, |key| self.hash(key));
                return Err(error);
            }
        }

        // An answer rests on entries that are visible, or will be when they are
        // durable: then it waits for that. So does the answer that nothing is new.
        if batch.immediate || self.options.durability == Durability::Immediate {
            commit.hidden = commit.next_sequence - 1;
        }
        if writer.syncer.synced() >= commit.hidden {
            commit.appender.memtable().publish(commit.appender.mark());
            if let Some(position) = batch.position {
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

    /// Appends one frame with what is new.
    #[inline]
    fn append(&self, writer: &Writer, commit: &mut Commit, batch: &Candidates<'_>) -> Result<()> {
        if commit.log.is_none() {
            self.start_log(writer, commit)?;
        }
        let Some(log) = &mut commit.log else {
            return Ok(());
        };
        let appended = log.append(batch.millis, batch.position, |body| {
            for (place, _) in batch.new.iter().enumerate().filter(|(_, new)| **new) {
                body.insert((batch.key)(place));
            }
        });
        let sequence = match appended {
            Ok(sequence) => sequence,
            Err(AppendError::CutBack(error)) => return Err(error),
            Err(AppendError::Broken(error)) => return Err(writer.syncer.poison(error)),
        };
        commit.next_sequence = sequence + 1;
        commit.position = batch.position.or(commit.position);
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

    /// Waits for room, then freezes the active memtable, if that was not done
    /// meanwhile.
    #[cold]
    fn make_room(&self, writer: &Writer, rotation: u64) -> Result<()> {
        self.wait_for_room(writer)?;
        let mut commit = lock(&writer.commit);
        if commit.rotation == rotation {
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
        let (memtable, appender) = Memtable::new(self.options.memory)
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
                runs: view.runs.clone(),
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
