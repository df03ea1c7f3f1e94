//! Appends frames to a log.
//!
//! What a call reports as recorded must survive the process, so that a frame has
//! to be in the kernel's hands before the call returns. Where the file system
//! overwrites in place, frames are stored to a map of blocks that were written
//! with zeros before: no system call for each frame, and a full disk shows when
//! the zeros are written, never as a signal. Elsewhere each frame is one write.

use super::{ALIGN, BodyWriter, FRAME, MAX_BODY, Salt, file_name, frame_size, tag};
use crate::error::{Error, Result};
use crate::header::{self, FileKind, StoreId};
use crate::options::Writes;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::vfs::{File, Vfs, WriteMap, write_all_at};
use crate::wire::put_field;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first part to be allocated and mapped; later ones double up to the last.
const FIRST_WINDOW: usize = 128 << 10;
const LAST_WINDOW: usize = 8 << 20;
/// Maps begin at multiples of this, which is one of every page size in use.
const MAP_ALIGN: u64 = 64 << 10;
/// Zeros are written in pieces of this size.
static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// The writing side of the newest log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    file: Arc<dyn File>,
    path: PathBuf,
    number: u64,
    salt: Salt,
    /// Where the next frame goes.
    end: u64,
    /// The number of the next frame.
    next_sequence: u64,
    /// Everything below was synced; shared with those who sync.
    synced: Arc<AtomicU64>,
    window: Window,
    /// The frame being built.
    frame: Vec<u8>,
}

/// What a log is created with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewLog {
    pub(crate) number: u64,
    /// Random: it is part of every checksum.
    pub(crate) id: u64,
    pub(crate) first_sequence: u64,
    /// Entries are shown only when they are durable.
    pub(crate) immediate: bool,
    pub(crate) writes: Writes,
}

/// How frames get to the file.
#[derive(Debug)]
enum Window {
    /// Through a map of the file's bytes from `start` on.
    Mapped {
        map: Box<dyn WriteMap>,
        start: u64,
        len: usize,
    },
    /// Through a map that is to be made; the file is zero up to here.
    Wanted { len: usize },
    /// With a write each.
    Unmapped,
}

/// Why a frame was not appended.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The log ends with its last good frame, as before.
    CutBack(Error),
    /// What is behind the last good frame is unknown.
    Broken(Error),
}

impl LogWriter {
    /// Creates a log. The file is synced, its name is the caller's to sync.
    pub(crate) fn create(
        vfs: &dyn Vfs,
        dir: &Path,
        store: StoreId,
        new: &NewLog,
    ) -> Result<LogWriter> {
        let NewLog {
            number,
            id,
            first_sequence,
            immediate,
            writes,
        } = *new;
        let path = dir.join(file_name(number));
        let file = vfs
            .create(&path)
            .map_err(|e| Error::io("create", &path, e))?;
        let mut fields = Vec::new();
        put_field(&mut fields, tag::ID, &id.to_le_bytes());
        put_field(
            &mut fields,
            tag::FIRST_SEQUENCE,
            &first_sequence.to_le_bytes(),
        );
        put_field(&mut fields, tag::IMMEDIATE, &[u8::from(immediate)]);
        let mut head = header::encode(FileKind::Log, store, number, &fields);
        head.resize(head.len().next_multiple_of(ALIGN), 0);
        write_all_at(&*file, &head, 0).map_err(|e| Error::io("write", &path, e))?;
        file.sync().map_err(|e| Error::io("sync", &path, e))?;
        let end = head.len() as u64;
        Ok(LogWriter {
            file,
            path,
            number,
            salt: Salt::new(id),
            end,
            next_sequence: first_sequence,
            synced: Arc::new(AtomicU64::new(end)),
            window: match writes {
                Writes::Map => Window::Wanted { len: FIRST_WINDOW },
                Writes::Pwrite => Window::Unmapped,
            },
            frame: Vec::new(),
        })
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// Where the last frame ends.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The offset below which everything is synced; to be raised after a sync.
    pub(crate) fn synced(&self) -> &Arc<AtomicU64> {
        &self.synced
    }

    /// Gives back what was allocated behind the last frame. Of no consequence if it
    /// fails.
    pub(crate) fn trim(self) {
        let LogWriter {
            file, end, window, ..
        } = self;
        // Nothing may be mapped behind the end of a file.
        drop(window);
        let _ = file.set_len(end);
    }

    /// Appends one frame and returns its number. When this returns, the frame
    /// survives the process.
    #[inline]
    pub(crate) fn append(
        &mut self,
        seconds: Option<u64>,
        position: Option<u64>,
        fill: impl FnOnce(&mut BodyWriter<'_>),
    ) -> Result<u64, AppendError> {
        let sequence = self.next_sequence;
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        frame.resize(FRAME, 0);
        fill(&mut BodyWriter::new(&mut frame, seconds, position));
        debug_assert!(frame.len() - FRAME <= MAX_BODY);
        let body = u32::try_from(frame.len() - FRAME).unwrap_or(u32::MAX);
        frame.resize(frame_size(body as usize), 0);
        let synced = self.synced.load(Ordering::Acquire);
        if let Some((head, _)) = frame.split_first_chunk_mut::<FRAME>() {
            head[4..8].copy_from_slice(&body.to_le_bytes());
            head[8..16].copy_from_slice(&sequence.to_le_bytes());
            head[16..24].copy_from_slice(&synced.to_le_bytes());
        }
        let crc = self.salt.checksum(&frame[4..]);
        frame[..4].copy_from_slice(&crc.to_le_bytes());

        let written = self.write(&frame);
        let size = frame.len() as u64;
        self.frame = frame;
        written?;
        self.end += size;
        self.next_sequence += 1;
        Ok(sequence)
    }

    fn write(&mut self, frame: &[u8]) -> Result<(), AppendError> {
        let end = self.end;
        if let Window::Mapped { map, start, len } = &mut self.window
            && end + frame.len() as u64 <= *start + *len as u64
        {
            map.store((end - *start) as usize, frame);
            return Ok(());
        }
        self.write_elsewhere(frame)
    }

    /// The frame does not fit into the mapped part.
    #[cold]
    fn write_elsewhere(&mut self, frame: &[u8]) -> Result<(), AppendError> {
        let len = match self.window {
            Window::Unmapped => return self.write_through(frame),
            Window::Wanted { len } => len,
            Window::Mapped { len, .. } => (len * 2).min(LAST_WINDOW),
        };
        let start = self.end / MAP_ALIGN * MAP_ALIGN;
        let room = (self.end - start) as usize + frame.len();
        let least = room.next_multiple_of(MAP_ALIGN as usize);
        let mut len = len.max(least);
        // Only zeros go behind the last frame here, so that a failure leaves the
        // log ending where it did.
        let mut zeroed = self.zero_up_to(start + len as u64);
        if zeroed.is_err() && len > least {
            // The last of a disk's room is for frames, not for zeros.
            len = least;
            zeroed = self.zero_up_to(start + len as u64);
        }
        let map = zeroed
            .and_then(|()| self.file.map_write(start, len))
            .map_err(|e| AppendError::CutBack(Error::io("allocate room in", &self.path, e)))?;
        match map {
            Some(mut map) => {
                map.store((self.end - start) as usize, frame);
                self.window = Window::Mapped { map, start, len };
                Ok(())
            }
            None => {
                self.window = Window::Unmapped;
                // The zeros are not needed, and a reader need not look at them.
                self.file
                    .set_len(self.end)
                    .map_err(|e| AppendError::CutBack(Error::io("cut", &self.path, e)))?;
                self.write_through(frame)
            }
        }
    }

    /// Allocates the file up to `to` by writing zeros behind what it has. After a
    /// failure the file is as long as before, as far as possible.
    fn zero_up_to(&self, to: u64) -> io::Result<()> {
        let from = match &self.window {
            Window::Mapped { start, len, .. } => *start + *len as u64,
            _ => self.end,
        };
        let mut at = from;
        while at < to {
            let count = (to - at).min(ZEROS.len() as u64) as usize;
            let zeros = ZEROS.get(..count).unwrap_or(&ZEROS);
            if let Err(error) = write_all_at(&*self.file, zeros, at) {
                let _ = self.file.set_len(from);
                return Err(error);
            }
            at += count as u64;
        }
        Ok(())
    }

    fn write_through(&mut self, frame: &[u8]) -> Result<(), AppendError> {
        let Err(error) = write_all_at(&*self.file, frame, self.end) else {
            return Ok(());
        };
        let error = Error::io("append to", &self.path, error);
        // A part of the frame may be there; without it the log is as before.
        match self.file.set_len(self.end) {
            Ok(()) => Err(AppendError::CutBack(error)),
            Err(_) => Err(AppendError::Broken(error)),
        }
    }
}
