//! The URLs of a load, made ahead in a file: making one takes longer than inserting it, and
//! background work would have that time for itself.

use super::SEED;
use crate::corpus::Corpus;
use crate::{Outcome, progress, urls};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

/// URLs in the file at a time.
const AHEAD: u64 = 100_000_000;
/// URLs between two lines of progress.
const TOLD: u64 = 10_000_000;

pub(super) struct Source {
    path: PathBuf,
    count: u64,
    /// The first that is in no file yet.
    made: u64,
    left_in_file: u64,
    file: Option<BufReader<File>>,
}

impl Source {
    /// The first `count` URLs, by way of a file of that name.
    pub(super) fn new(path: PathBuf, count: u64) -> Source {
        Source {
            path,
            count,
            made: 0,
            left_in_file: 0,
            file: None,
        }
    }

    /// Puts the next URLs into `batch`, at most so many; none at the end.
    pub(super) fn next(&mut self, most: u64, batch: &mut Corpus) -> Outcome<()> {
        batch.clear();
        if self.left_in_file == 0 && self.made < self.count {
            self.make()?;
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut line = Vec::new();
        for _ in 0..most.min(self.left_in_file) {
            line.clear();
            file.read_until(b'\n', &mut line)?;
            batch.push(line.strip_suffix(b"\n").ok_or("the file of URLs was cut")?);
            self.left_in_file -= 1;
        }
        Ok(())
    }

    fn make(&mut self) -> Outcome<()> {
        let end = self.count.min(self.made + AHEAD);
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&self.path)?);
        for index in self.made..end {
            if index % TOLD == 0 {
                progress(&format!("{index} of {} made", self.count));
            }
            out.write_all(urls::url(SEED, index).as_bytes())?;
            out.write_all(b"\n")?;
        }
        // So that the kernel does not write it while the load goes on.
        out.into_inner()?.sync_all()?;
        self.left_in_file = end - self.made;
        self.made = end;
        self.file = Some(BufReader::with_capacity(1 << 20, File::open(&self.path)?));
        Ok(())
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // If it was never made, there is nothing to remove.
        let _ = std::fs::remove_file(&self.path);
    }
}
