//! Walks through keys in order, from a snapshot.

use super::core::{Core, Mode};
use super::view::View;
use crate::compact::{Merged, RunCursor, Source};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::record::Record;
use std::sync::Arc;

/// The keys that begin with some bytes, in bytewise order, with their records.
///
/// A scan is one point in the sequence of operations: it has everything that was
/// recorded before it began and nothing that was recorded after. It owns what it
/// needs, also when the store is closed meanwhile. An error is given once and
/// ends it.
#[derive(Debug)]
pub struct Scan {
    entries: Merged<Entries>,
    prefix: Vec<u8>,
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
    pub(super) fn scan(&self, prefix: &[u8]) -> Result<Scan> {
        let view = self.view.load_full();
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
            prefix: prefix.to_vec(),
            ended: false,
        })
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
        if self.ended {
            return None;
        }
        match self.entries.advance() {
            Ok(true) if self.entries.key().starts_with(&self.prefix) => {
                Some(Ok((self.entries.key().to_vec(), self.entries.record())))
            }
            Ok(_) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
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

    fn record(&self) -> Record {
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

    fn record(&self) -> Record {
        self.entry()
            .map_or_else(Record::default, |entry| entry.record)
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
