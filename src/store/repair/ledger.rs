//! How far a repair has come, and what it has lost on the way.

use super::report::{Lost, RepairReport};
use crate::error::{Error, Result};
use crate::store::Progress;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Told how far the work has come; says whether to go on.
type Watch<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// Shared by all that read, so that each part of the store is reported where it is met.
pub(super) struct Ledger<'a> {
    into: PathBuf,
    progress: RefCell<Watch<'a>>,
    done: Cell<Progress>,
    report: RefCell<RepairReport>,
    /// Whether entries may be lost that are of any time.
    segments_lost: Cell<bool>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(into: &Path, progress: Watch<'a>) -> Ledger<'a> {
        Ledger {
            into: into.to_path_buf(),
            progress: RefCell::new(progress),
            done: Cell::default(),
            report: RefCell::default(),
            segments_lost: Cell::default(),
        }
    }

    /// A file of so many bytes is to be read.
    pub(super) fn expect(&self, bytes: u64) {
        let mut done = self.done.get();
        done.total = done.total.saturating_add(bytes);
        self.done.set(done);
        self.report.borrow_mut().files += 1;
    }

    /// So many bytes were read. An error if the caller wants no more.
    pub(super) fn read(&self, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let mut done = self.done.get();
        done.bytes = done.bytes.saturating_add(bytes).min(done.total);
        self.done.set(done);
        match (self.progress.borrow_mut())(&done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted {
                path: self.into.clone(),
            }),
        }
    }

    /// Frames of a log are lost.
    pub(super) fn lose_batches(&self, lost: Lost) {
        self.report.borrow_mut().lost.push(lost);
    }

    /// A part of a segment is lost; its place in the report, for
    /// [`close`](Ledger::close).
    pub(super) fn lose_keys(&self, lost: Lost) -> usize {
        self.segments_lost.set(true);
        let all = &mut self.report.borrow_mut().lost;
        all.push(lost);
        all.len() - 1
    }

    /// The first intact key behind a lost part.
    pub(super) fn close(&self, place: usize, before: &[u8]) {
        if let Some(lost) = self.report.borrow_mut().lost.get_mut(place) {
            lost.before = Some(before.to_vec());
        }
    }

    /// Whether anything is lost that may be of any time.
    pub(super) fn has_lost_keys(&self) -> bool {
        self.segments_lost.get()
    }

    /// Damage that cost no entry.
    pub(super) fn note(&self, damage: impl IntoIterator<Item = Error>) {
        self.report.borrow_mut().damage.extend(damage);
    }

    /// A log or segment that is not taken.
    pub(super) fn ignore(&self, name: &str) {
        self.report.borrow_mut().ignored.push(name.to_owned());
    }

    /// A segment of which nothing tells the age is taken for the oldest.
    pub(super) fn undated(&self, path: &Path) {
        self.report.borrow_mut().undated.push(path.to_path_buf());
    }

    /// The report; what only the end tells is the caller's to fill in.
    pub(super) fn finish(&self) -> RepairReport {
        let mut report = self.report.take();
        report.bytes = self.done.get().bytes;
        report.ignored.sort();
        report
    }
}
