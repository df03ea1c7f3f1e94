//! A file that is read forwards as far as it can be read at all.

use super::{File, read_exact_at};
use std::io::Error;
use std::sync::Arc;

/// Bytes that are read at once beyond those that are wanted.
const PIECE: u64 = 256 << 10;
/// What is given up where a read fails.
const PAGE: u64 = 4096;

/// Gives the bytes of a damaged file, of which it holds a piece. What the disk does
/// not give counts as zeros: whether these were there is for checksums to say.
#[derive(Debug)]
pub(crate) struct Window {
    file: Arc<dyn File>,
    /// Where the file ends.
    end: u64,
    bytes: Vec<u8>,
    at: u64,
    /// Pages of the piece that could not be read.
    failed: Vec<(u64, Error)>,
}

impl Window {
    /// A window on the first `end` bytes of a file.
    pub(crate) fn new(file: Arc<dyn File>, end: u64) -> Window {
        Window {
            file,
            end,
            bytes: Vec::new(),
            at: 0,
            failed: Vec::new(),
        }
    }

    /// `want` bytes from `at` on, or as many as the file has.
    pub(crate) fn get(&mut self, at: u64, want: u64) -> &[u8] {
        let want = want.min(self.end.saturating_sub(at));
        let held = self.at + self.bytes.len() as u64;
        if at < self.at || at.saturating_add(want) > held {
            self.fill(at, want);
        }
        let start = usize::try_from(at - self.at).unwrap_or(usize::MAX);
        let len = usize::try_from(want).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..).unwrap_or_default();
        rest.get(..len).unwrap_or(rest)
    }

    /// Why bytes between `from` and `to`, which were gotten last, could not be read.
    pub(crate) fn failure(&self, from: u64, to: u64) -> Option<Error> {
        let (_, error) = self
            .failed
            .iter()
            .find(|(page, _)| *page < to && from < page + PAGE)?;
        Some(match error.raw_os_error() {
            Some(code) => Error::from_raw_os_error(code),
            None => error.kind().into(),
        })
    }

    fn fill(&mut self, at: u64, want: u64) {
        // More than is wanted, as what is wanted next may begin a byte further.
        let len = want.saturating_add(PIECE).min(self.end.saturating_sub(at));
        self.at = at;
        self.bytes.clear();
        self.bytes.resize(usize::try_from(len).unwrap_or(0), 0);
        self.failed.clear();
        if read_exact_at(&*self.file, &mut self.bytes, at).is_ok() {
            return;
        }
        let mut rest = self.bytes.as_mut_slice();
        let mut place = at;
        while !rest.is_empty() {
            let next = (place / PAGE + 1) * PAGE;
            let count = usize::try_from(next - place)
                .unwrap_or(usize::MAX)
                .min(rest.len());
            let (page, behind) = rest.split_at_mut(count);
            if let Err(error) = read_exact_at(&*self.file, page, place) {
                page.fill(0);
                self.failed.push((place / PAGE * PAGE, error));
            }
            rest = behind;
            place = next;
        }
    }
}
