//! Reads a log's frames, once for recovery or again and again behind a writer.

use super::behind::Behind;
use super::body::{self, Operation};
use super::head::{self, Next, body_len};
use super::header::LogHeader;
use super::{ALIGN, FRAME, Salt};
use crate::error::{Error, Result};
use crate::header::StoreId;
use crate::vfs::{File, Vfs, read_exact_at};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are read at a time.
const CHUNK: u64 = 1 << 20;
/// How often a place that looks damaged is read again, in case a writer was
/// at work on it.
const LOOKS: usize = 5;

/// A position in a log that moves forward, frame by frame.
#[derive(Debug)]
pub(crate) struct LogReader {
    file: Arc<dyn File>,
    path: PathBuf,
    number: u64,
    pub(super) version: u32,
    pub(super) salt: Salt,
    immediate: bool,
    pub(super) offset: u64,
    first_sequence: u64,
    pub(super) next_sequence: u64,
    synced: u64,
}

/// What is behind the last good frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The end of the file, or room that was allocated ahead.
    Clean,
    /// Bytes that are no frame: one that was never finished, or lost.
    Unfinished { reason: String },
}

impl LogReader {
    /// Opens log `number` and reads its header.
    pub(crate) fn open(
        vfs: &dyn Vfs,
        path: &Path,
        store: StoreId,
        number: u64,
    ) -> Result<LogReader> {
        let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
        let header = LogHeader::read(&*file, path, store, number)?;
        let offset = header.frames_at();
        let mut padding = [0; ALIGN];
        let padding = padding
            .get_mut(..(offset - header.len) as usize)
            .unwrap_or_default();
        match read_exact_at(&*file, padding, header.len) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(Error::corrupt(
                    path,
                    header.len,
                    "zeros behind the header",
                    "the end of the file",
                ));
            }
            Err(e) => return Err(Error::io("read", path, e)),
        }
        if padding.iter().any(|&byte| byte != 0) {
            return Err(Error::corrupt(
                path,
                header.len,
                "zeros behind the header",
                format!("{padding:02x?}"),
            ));
        }
        Ok(LogReader {
            file,
            path: path.to_path_buf(),
            number,
            version: header.version,
            salt: Salt::new(header.id),
            immediate: header.immediate,
            offset,
            first_sequence: header.first_sequence,
            next_sequence: header.first_sequence,
            synced: offset,
        })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the log's writer shows entries only when they are durable.
    pub(crate) fn is_immediate(&self) -> bool {
        self.immediate
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Where the last good frame ends.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn first_sequence(&self) -> u64 {
        self.first_sequence
    }

    /// The number that the next frame must have.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Everything below was synced, as the frames that were read say.
    pub(crate) fn synced(&self) -> u64 {
        self.synced
    }

    /// The length of the file.
    pub(crate) fn file_len(&self) -> Result<u64> {
        self.file
            .len()
            .map_err(|e| Error::io("find the length of", &self.path, e))
    }

    /// Gives every operation from here to the end of the log to `each`.
    ///
    /// `recorded` is the log's final length if the manifest has it: all of it
    /// must be good then, and nothing behind it counts. `thorough` looks for
    /// frames behind any zeros too; without it, a page of zeros is the end.
    pub(crate) fn read(
        &mut self,
        recorded: Option<u64>,
        thorough: bool,
        each: &mut dyn FnMut(Operation<'_>) -> Result<()>,
    ) -> Result<Tail> {
        // The place that looked damaged, and how often.
        let mut suspect = (self.offset, 0);
        loop {
            let length = self.file_len()?;
            let least = recorded.unwrap_or(0).max(self.offset);
            if length < least {
                return Err(Error::corrupt(
                    &self.path,
                    length,
                    format!("a log of at least {least} bytes, as was known before"),
                    "the end of the file",
                ));
            }
            let end = recorded.unwrap_or(length);
            let bad = match self.read_frames(end, each) {
                // A writer took back room that it had allocated, or an append that
                // failed: look at the length again.
                Err(_) if recorded.is_none() && self.file_len()? < end => continue,
                read => read?,
            };
            if recorded.is_some() {
                if self.offset == end {
                    return Ok(Tail::Clean);
                }
                let found = bad.as_deref().unwrap_or("nothing, or zeros");
                return Err(self.damaged("a frame", found));
            }
            if bad.is_none() && !thorough {
                return Ok(Tail::Clean);
            }
            let behind = match self.behind(end) {
                Err(_) if self.file_len()? < end => Behind::Nothing,
                answer => answer?,
            };
            match (&bad, &behind) {
                (None, Behind::Nothing) => return Ok(Tail::Clean),
                (Some(reason), Behind::Nothing | Behind::Bytes { .. }) => {
                    let reason = reason.clone();
                    return Ok(Tail::Unfinished { reason });
                }
                // Or zeros with something behind them, that a writer has put there
                // since the zeros were read.
                (_, Behind::Synced) | (None, Behind::Bytes { .. }) => {}
            }
            if suspect.1 > 0 && suspect.0 != self.offset {
                // The place was the end, where a writer was at work. All that was
                // complete before this call has been read.
                return Ok(Tail::Clean);
            }
            suspect = (self.offset, suspect.1 + 1);
            if suspect.1 == LOOKS {
                if let Behind::Bytes { at } = behind {
                    let reason = format!("zeros, and other bytes behind them at {at}");
                    return Ok(Tail::Unfinished { reason });
                }
                let found = bad.as_deref().unwrap_or("zeros");
                return Err(self.damaged("a frame that was known to be synced", found));
            }
        }
    }

    /// Reads good frames up to `end`. `None` if nothing follows the last of them,
    /// else what is wrong with the next.
    fn read_frames(
        &mut self,
        end: u64,
        each: &mut dyn FnMut(Operation<'_>) -> Result<()>,
    ) -> Result<Option<String>> {
        if end < self.offset {
            return Ok(Some(format!("the log's end at {end}")));
        }
        let mut want = CHUNK;
        loop {
            let chunk = self.chunk(self.offset, want, end)?;
            let complete = self.offset + chunk.len() as u64 == end;
            let mut at = 0;
            loop {
                let rest = chunk.get(at..).unwrap_or_default();
                if rest.len() < FRAME && !complete {
                    want = CHUNK;
                    break;
                }
                match head::read(rest, self.offset, end) {
                    Next::Nothing => return Ok(None),
                    Next::Bad { reason } => return Ok(Some(reason)),
                    Next::Frame { size, .. } if size > rest.len() => {
                        // The frame goes on behind the chunk.
                        want = (size as u64).max(CHUNK);
                        break;
                    }
                    Next::Frame {
                        size,
                        sequence,
                        synced,
                    } => {
                        let frame = rest.get(..size).unwrap_or_default();
                        if let Some(reason) = self.judge(frame, sequence) {
                            return Ok(Some(reason));
                        }
                        let length = body_len(frame);
                        let body = frame.get(FRAME..FRAME + length).unwrap_or_default();
                        body::read(
                            body,
                            &self.path,
                            self.offset + FRAME as u64,
                            self.version,
                            each,
                        )?;
                        at += size;
                        self.offset += size as u64;
                        self.next_sequence += 1;
                        self.synced = self.synced.max(synced);
                    }
                }
            }
        }
    }

    /// What is wrong with a whole frame, if anything.
    fn judge(&self, frame: &[u8], sequence: u64) -> Option<String> {
        if let Some((stored, computed)) = self.salt.differs(frame) {
            return Some(format!(
                "a frame with checksum {stored:08x} whose bytes have {computed:08x}"
            ));
        }
        (sequence != self.next_sequence).then(|| {
            format!(
                "a frame with sequence number {sequence} instead of {}",
                self.next_sequence
            )
        })
    }

    /// At most `want` bytes from `offset`, up to `end`, which the file has.
    pub(super) fn chunk(&self, offset: u64, want: u64, end: u64) -> Result<Vec<u8>> {
        let count = want.min(end.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
        read_exact_at(&*self.file, &mut bytes, offset)
            .map_err(|e| Error::io("read", &self.path, e))?;
        Ok(bytes)
    }

    fn damaged(&self, expected: &str, found: &str) -> Error {
        Error::corrupt(&self.path, self.offset, expected, found)
    }
}
