//! The intact entries of one run, whose gaps go to the ledger.

use super::ledger::Ledger;
use super::logs::is_refused;
use super::report::Lost;
use crate::compact::Source;
use crate::error::{Error, Result};
use crate::record::Stored;
use crate::segment::{Remains, Salvage, Step};
use crate::vfs::Vfs;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;

/// One segment of a run.
#[derive(Debug)]
pub(super) enum Piece {
    /// There, wholly or in parts. `size` is what it should have.
    Segment { remains: Box<Remains>, size: u64 },
    /// Not there, or not what it should be.
    Lost {
        path: PathBuf,
        size: u64,
        damage: Error,
    },
}

/// The entries of a run in the order of keys, as far as they are intact. One segment's
/// file is open at a time.
pub(super) struct SalvagedRun<'a> {
    vfs: &'a dyn Vfs,
    ledger: &'a Ledger<'a>,
    stamps: bool,
    current: Option<(Salvage, PathBuf, Sizes)>,
    rest: VecDeque<Piece>,
    /// The last key of the segments before the current one.
    last: Vec<u8>,
    /// Gaps in the ledger that wait for the key behind them.
    open: Vec<usize>,
}

/// What a segment's file has in bytes, and what it should have.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    there: u64,
    named: u64,
}

impl<'a> SalvagedRun<'a> {
    /// `pieces` in the order of their keys.
    pub(super) fn new(
        vfs: &'a dyn Vfs,
        ledger: &'a Ledger<'a>,
        stamps: bool,
        pieces: Vec<Piece>,
    ) -> Self {
        SalvagedRun {
            vfs,
            ledger,
            stamps,
            current: None,
            rest: pieces.into(),
            last: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Begins the next segment; false if there is none.
    fn begin(&mut self) -> Result<bool> {
        match self.rest.pop_front() {
            Some(Piece::Segment { remains, size }) => {
                let path = remains.path().to_path_buf();
                let sizes = Sizes {
                    there: remains.size(),
                    named: size,
                };
                match Salvage::open(self.vfs, *remains, self.stamps, &self.last) {
                    Ok(salvage) => self.current = Some((salvage, path, sizes)),
                    Err(error) if is_refused(&error) => return Err(error),
                    Err(error) => self.lose(path, 0..size, error),
                }
                Ok(true)
            }
            Some(Piece::Lost { path, size, damage }) => {
                self.lose(path, 0..size, damage);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn lose(&mut self, path: PathBuf, bytes: Range<u64>, damage: Error) {
        let last = match &self.current {
            Some((salvage, ..)) => salvage.key(),
            None => &self.last,
        };
        let mut lost = Lost::new(path, bytes, damage);
        lost.after = (!last.is_empty()).then(|| last.to_vec());
        self.open.push(self.ledger.lose_keys(lost));
    }
}

impl Source for SalvagedRun<'_> {
    fn advance(&mut self) -> Result<bool> {
        loop {
            let Some((salvage, path, sizes)) = &mut self.current else {
                if self.begin()? {
                    continue;
                }
                return Ok(false);
            };
            let before = salvage.offset();
            let step = salvage.step()?;
            self.ledger.read(salvage.offset().saturating_sub(before))?;
            match step {
                Step::Entry => {
                    for place in self.open.drain(..) {
                        self.ledger.close(place, salvage.key());
                    }
                    return Ok(true);
                }
                Step::Searching => {}
                Step::Lost(gap) if is_refused(&gap.damage) => return Err(gap.damage),
                Step::Lost(gap) => {
                    let mut bytes = gap.bytes;
                    if bytes.end >= sizes.there {
                        bytes.end = bytes.end.max(sizes.named);
                    }
                    let path = path.clone();
                    self.lose(path, bytes, gap.damage);
                }
                Step::End => {
                    self.last = salvage.key().to_vec();
                    self.ledger.note(salvage.take_harmless());
                    self.current = None;
                }
            }
        }
    }

    fn key(&self) -> &[u8] {
        self.current
            .as_ref()
            .map_or(&[], |(salvage, ..)| salvage.key())
    }

    fn record(&self) -> Stored {
        self.current
            .as_ref()
            .map_or(Stored::Seen(None), |(salvage, ..)| salvage.record().clone())
    }
}
