//! Walks through keys in order, from a snapshot.

use super::core::{Core, Mode};
use super::query::Query;
use super::view::View;
use crate::compact::{Merged, RunCursor, Source};
use crate::error::{Error, Result};
use crate::memtable::Memtable;
use crate::record::{Expiry, Record, Stored};
use std::sync::Arc;

/// Keys in bytewise order, with their records: those of a [`Query`].
///
/// A scan is one point in the sequence of operations: it has everything that was
/// recorded before it began and nothing that was recorded after. It owns what it
/// needs, also when the store is closed meanwhile. An error is given once and
/// ends it.
#[derive(Debug)]
pub struct Scan {
    entries: Merged<Entries>,
    query: Query,
    expiry: Expiry,
    /// When it began, in seconds.
    now: u64,
    ended: bool,
}

/// Where a scan's entries come from.
#[derive(Debug)]
enum Entries {
    Memory(MemoryCursor),
    Run(Box<RunCursor>),
}

/// The places of a memtable's entries that the scan takes, in the order of keys.
/// Published entries never change, so that nothing is copied.
#[derive(Debug)]
pub(super) struct MemoryCursor {
    memtable: Arc<Memtable>,
    places: Vec<u64>,
    /// One more than the present one.
    next: usize,
}

impl Core {
    /// Costs, when it begins: a walk over the memtables' entries, sorting those
    /// that match, and one block read a run. No lock that writers need is held.
    pub(super) fn query(&self, query: &Query) -> Result<Scan> {
        if query.needs_times() && !self.stamps {
            return Err(Error::StampsOff {
                path: self.dir.clone(),
                what: "a list by time",
            });
        }
        let view = self.view.load_full();
        let prefix = query.prefix.as_slice();
        // An active memtable shows what was appended, in order: whatever moment
        // it is asked at is one point. If it was frozen since the view was taken,
        // that point is the moment of its freezing. A reader's memtables grow only
        // in a refresh, which waits.
        let memory = match &self.mode {
            Mode::Write(_) => memory_cursors(&view, prefix),
            Mode::Read(reader) => reader.while_still(|| memory_cursors(&view, prefix)),
        };
        let mut sources: Vec<Entries> = memory.into_iter().map(Entries::Memory).collect();
        for run in &view.runs {
            let cursor = RunCursor::from_key(&run.segments, prefix)?;
            sources.push(Entries::Run(Box::new(cursor)));
        }
        Ok(Scan {
            entries: Merged::new(sources),
            query: query.clone(),
            expiry: view.expiry,
            now: self.now(),
            ended: false,
        })
    }

    /// What a claim at `now` would be granted.
    pub(super) fn due(&self, now: u64) -> Result<Scan> {
        if !self.stamps {
            return Err(Error::StampsOff {
                path: self.dir.clone(),
                what: "claims and outcomes",
            });
        }
        self.query(&Query::due(now))
    }
}

fn memory_cursors(view: &View, prefix: &[u8]) -> Vec<MemoryCursor> {
    view.memtables()
        .filter(|memtable| memtable.bytes() > 0)
        .map(|memtable| MemoryCursor::new(memtable, prefix))
        .collect()
}

impl Iterator for Scan {
    type Item = Result<(Vec<u8>, Record)>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.entries.advance() {
                Ok(true) if self.entries.key().starts_with(&self.query.prefix) => {
                    let (key, stored) = (self.entries.key(), self.entries.record());
                    if self.query.wants(key, &stored, &self.expiry, self.now)
                        && let Some(record) = stored.record()
                    {
                        return Some(Ok((key.to_vec(), record)));
                    }
                }
                Ok(_) => self.ended = true,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl std::iter::FusedIterator for Scan {}

impl Source for Entries {
    fn advance(&mut self) -> Result<bool> {
        match self {
            Entries::Memory(cursor) => cursor.advance(),
            Entries::Run(cursor) => cursor.advance(),
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            Entries::Memory(cursor) => cursor.key(),
            Entries::Run(cursor) => cursor.key(),
        }
    }

    fn record(&self) -> Stored {
        match self {
            Entries::Memory(cursor) => cursor.record(),
            Entries::Run(cursor) => cursor.record(),
        }
    }
}

impl Source for MemoryCursor {
    fn advance(&mut self) -> Result<bool> {
        self.next += 1;
        Ok(self.next <= self.places.len())
    }

    fn key(&self) -> &[u8] {
        self.entry().map_or(&[], |entry| entry.key)
    }

    fn record(&self) -> Stored {
        self.entry()
            .map_or(Stored::Seen(None), |entry| entry.stored())
    }
}

impl MemoryCursor {
    pub(super) fn new(memtable: &Arc<Memtable>, prefix: &[u8]) -> MemoryCursor {
        MemoryCursor {
            memtable: memtable.clone(),
            places: memtable.sorted(prefix),
            next: 0,
        }
    }

    fn entry(&self) -> Option<crate::memtable::Entry<'_>> {
        let place = self.places.get(self.next.checked_sub(1)?)?;
        self.memtable.entry(*place)
    }
}
