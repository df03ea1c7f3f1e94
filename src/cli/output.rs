//! Standard output, with account of what went out.

#![allow(
    clippy::disallowed_methods,
    reason = "the program's output is no file of a store"
)]

use super::failure::Failure;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

/// How long to wait for an output that others made non-blocking.
const NOT_READY: Duration = Duration::from_millis(1);

/// Standard output without a buffer: what `write` counts is with the system.
#[derive(Debug)]
pub(super) struct Output(File);

/// Why a write stopped before its end, and after how many bytes.
#[derive(Debug)]
pub(super) struct Stopped {
    /// Bytes that went out.
    pub(super) written: usize,
    /// The failure; `None` if the reader of a pipe closed it.
    pub(super) failure: Option<Failure>,
}

impl Output {
    pub(super) fn open() -> Result<Output, Failure> {
        let fd = io::stdout().as_fd().try_clone_to_owned();
        Ok(Output(File::from(fd.map_err(Failure::Output)?)))
    }

    /// If what is appended to ends in the middle of a line, as a killed run leaves it,
    /// ends that line: what is printed next must not go on with it.
    pub(super) fn end_last_line(&mut self, separator: u8) {
        let appends = rustix::fs::fcntl_getfl(&self.0)
            .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::APPEND));
        let last = || {
            let len = self.0.metadata().ok().filter(|file| file.is_file())?.len();
            // The descriptor itself is for writing only.
            let readable = File::open(format!("/proc/self/fd/{}", self.0.as_raw_fd())).ok()?;
            let mut last = [0];
            readable
                .read_exact_at(&mut last, len.checked_sub(1)?)
                .ok()?;
            Some(last[0])
        };
        if appends && last().is_some_and(|last| last != separator) {
            // If this fails, so does the first line.
            let _ = self.write(&[separator]);
        }
    }

    /// Takes back the last bytes that were written, where that is possible: the
    /// beginning of a line that found no room in a file.
    pub(super) fn take_back(&mut self, count: usize) {
        let Ok(metadata) = self.0.metadata() else {
            return;
        };
        let end = metadata.len();
        if count > 0 && metadata.is_file() && self.0.stream_position().is_ok_and(|at| at == end) {
            let kept = end.saturating_sub(count as u64);
            let _ = self.0.set_len(kept);
            let _ = self.0.seek(SeekFrom::Start(kept));
        }
    }

    /// Writes everything, or tells how far it came.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Stopped> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let failure = match self.0.write(rest) {
                Ok(0) => io::Error::from(io::ErrorKind::WriteZero),
                Ok(n) => {
                    rest = rest.get(n..).unwrap_or_default();
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    thread::sleep(NOT_READY);
                    continue;
                }
                Err(e) => e,
            };
            let closed = matches!(
                failure.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            );
            return Err(Stopped {
                written: bytes.len() - rest.len(),
                failure: (!closed).then_some(Failure::Output(failure)),
            });
        }
        Ok(())
    }
}

/// Whether anybody still reads the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Open,
    /// A closed pipe is not an error: the reader has seen enough.
    Closed,
}

/// Answers on their way to standard output, collected to large writes.
#[derive(Debug)]
pub(super) struct Answers {
    output: Output,
    waiting: Vec<u8>,
}

impl Answers {
    const FULL: usize = 64 << 10;

    pub(super) fn open() -> Result<Answers, Failure> {
        Ok(Answers {
            output: Output::open()?,
            waiting: Vec::new(),
        })
    }

    /// Adds one line: its parts, and its end.
    pub(super) fn line(&mut self, parts: &[&[u8]], end: u8) -> Result<Reader, Failure> {
        for part in parts {
            self.waiting.extend_from_slice(part);
        }
        self.waiting.push(end);
        if self.waiting.len() < Self::FULL {
            return Ok(Reader::Open);
        }
        self.flush()
    }

    /// Writes what is waiting.
    pub(super) fn flush(&mut self) -> Result<Reader, Failure> {
        let result = self.output.write(&self.waiting);
        self.waiting.clear();
        match result {
            Ok(()) => Ok(Reader::Open),
            Err(Stopped { failure: None, .. }) => Ok(Reader::Closed),
            Err(Stopped {
                failure: Some(failure),
                ..
            }) => Err(failure),
        }
    }
}

/// Prints a whole text.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut answers = Answers::open()?;
    answers.waiting.extend_from_slice(text.as_bytes());
    answers.flush().map(|_| ())
}
