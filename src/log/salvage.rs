//! What is left of a damaged log: every frame that is intact, wherever it lies.
//!
//! Recovery ends a log at its first bad frame, so that the state is a prefix of what
//! was accepted. Here everything counts: behind a bad frame the next good one is looked
//! for at each place where one can begin. Its checksum, which the log's id is part of,
//! and its number keep anything else from passing for one.

use super::body::{self, Operation};
use super::head::{self, Next, body_len};
use super::header::LogHeader;
use super::{ALIGN, FRAME, Salt, frame_size};
use crate::error::{Error, Result};
use crate::header::{self, FileKind, MAX_NUMBER, StoreId};
use crate::vfs::{Vfs, Window};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes that one step passes over at most, unless a frame is larger.
const STEP: u64 = 1 << 20;

/// A log that is read as far as it is intact.
#[derive(Debug)]
pub(crate) struct Salvage {
    path: PathBuf,
    window: Window,
    version: u32,
    salt: Salt,
    offset: u64,
    /// How much of the log the file has.
    there: u64,
    /// Its length as the manifest recorded it.
    recorded: Option<u64>,
    /// The number of the next frame; `None` until a frame has told it.
    next_sequence: Option<u64>,
    /// The first number that is in the log behind this one, if that is known.
    until: Option<u64>,
    /// Bytes that are no frame.
    gap: Option<OpenGap>,
    /// Why the header is not to be trusted, if it is not.
    header: Option<Error>,
    ended: bool,
}

/// What is known of the log beside what it says itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    /// The number of its first frame.
    pub(crate) first: Option<u64>,
    /// Its final length.
    pub(crate) length: Option<u64>,
    /// The first number that is in the log behind it.
    pub(crate) until: Option<u64>,
}

/// What a step came to.
#[derive(Debug)]
pub(crate) enum Step {
    /// A frame, whose operations were given.
    Frame,
    /// A part that holds no intact frame.
    Lost(Gap),
    /// Nothing yet.
    Searching,
    End,
}

/// A part of the log whose frames are lost.
#[derive(Debug)]
pub(crate) struct Gap {
    pub(crate) bytes: Range<u64>,
    pub(crate) damage: Error,
    /// The numbers of the first and of the last of them, as far as they are known.
    pub(crate) first: Option<u64>,
    pub(crate) last: Option<u64>,
}

#[derive(Debug)]
struct OpenGap {
    from: u64,
    /// Behind the last byte that is not zero.
    to: u64,
    /// What is wrong with the first bytes that are not zero.
    damage: Option<Error>,
}

/// What is where a frame can begin.
enum Here {
    Frame { size: u64, sequence: u64 },
    Zeros,
    Bad(Error),
}

impl Salvage {
    /// Opens log `number`. It is an error if its header is intact and another's, or
    /// tells nothing.
    pub(crate) fn open(
        vfs: &dyn Vfs,
        path: &Path,
        store: StoreId,
        number: u64,
        known: Known,
    ) -> Result<Salvage> {
        let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
        let length = file
            .len()
            .map_err(|e| Error::io("find the length of", path, e))?;
        let (says, damage) = match LogHeader::read(&*file, path, store, number) {
            Ok(says) => (says, None),
            Err(error) => {
                let whole = header::read(&*file, path, FileKind::Log).is_ok();
                let unsupported = matches!(error, Error::UnsupportedFormat { .. });
                match LogHeader::guess(&*file) {
                    Some(says) if !whole && !unsupported => (says, Some(error)),
                    _ => return Err(error),
                }
            }
        };
        if let (Some(first), None) = (known.first, &damage)
            && first != says.first_sequence
        {
            return Err(Error::corrupt(
                path,
                48,
                format!("a log from frame {first} on, as the manifest says"),
                format!("one from frame {} on", says.first_sequence),
            ));
        }
        let there = known.length.map_or(length, |len| len.min(length));
        let first = damage.is_none().then_some(says.first_sequence);
        Ok(Salvage {
            path: path.to_path_buf(),
            window: Window::new(file, there),
            version: says.version,
            salt: Salt::new(says.id),
            offset: says.frames_at(),
            there,
            recorded: known.length,
            next_sequence: known.first.or(first),
            until: known.until,
            gap: None,
            header: damage,
            ended: false,
        })
    }

    /// How far the log was read.
    pub(crate) fn offset(&self) -> u64 {
        self.offset.min(self.there)
    }

    /// The number of the frame that would come next, if any frame has told it.
    pub(crate) fn next_sequence(&self) -> Option<u64> {
        self.next_sequence
    }

    /// What is wrong with the header, which cost no entry.
    pub(crate) fn header_damage(&self) -> Option<&Error> {
        self.header.as_ref()
    }

    /// Goes on to the next frame or gap. The operations of a frame are given to `each`,
    /// all of them or none.
    pub(crate) fn step(
        &mut self,
        each: &mut dyn FnMut(Operation<'_>) -> Result<()>,
    ) -> Result<Step> {
        let stop = self.offset.saturating_add(STEP);
        while self.offset < self.there {
            if self.offset >= stop {
                return Ok(Step::Searching);
            }
            match self.look()? {
                Here::Frame { size, sequence } => {
                    if let Some(gap) = self.close_gap(sequence) {
                        return Ok(Step::Lost(gap));
                    }
                    let frame = self.window.get(self.offset, size);
                    read_body(frame, &self.path, self.offset, self.version, each)?;
                    self.offset += size;
                    self.next_sequence = Some(sequence.saturating_add(1));
                    return Ok(Step::Frame);
                }
                Here::Zeros => {
                    self.open_gap();
                }
                Here::Bad(damage) => {
                    let to = (self.offset + ALIGN as u64).min(self.there);
                    let gap = self.open_gap();
                    gap.to = to;
                    gap.damage.get_or_insert(damage);
                }
            }
            self.offset += ALIGN as u64;
        }
        Ok(self.end())
    }

    fn look(&mut self) -> Result<Here> {
        let (offset, there) = (self.offset, self.there);
        let rest = self.window.get(offset, FRAME as u64);
        let bad = |window: &Window, to: u64, reason: &str| match window.failure(offset, to) {
            Some(error) => Here::Bad(Error::io("read", &self.path, error)),
            None => Here::Bad(Error::corrupt(&self.path, offset, "a frame", reason)),
        };
        let (size, sequence) = match head::read(rest, offset, there) {
            Next::Nothing => {
                return Ok(match self.window.failure(offset, offset + FRAME as u64) {
                    Some(error) => Here::Bad(Error::io("read", &self.path, error)),
                    None => Here::Zeros,
                });
            }
            Next::Bad { reason } => {
                return Ok(bad(&self.window, offset + FRAME as u64, &reason));
            }
            Next::Frame { size, sequence, .. } => (size as u64, sequence),
        };
        if !self.is_possible(sequence) {
            let reason = format!("a frame with sequence number {sequence}");
            return Ok(bad(&self.window, offset + FRAME as u64, &reason));
        }
        let frame = self.window.get(offset, size);
        if let Some((stored, computed)) = self.salt.differs(frame) {
            let reason =
                format!("a frame with checksum {stored:08x} whose bytes have {computed:08x}");
            return Ok(bad(&self.window, offset + size, &reason));
        }
        // Before any of it is given: a batch is there whole or not at all.
        match read_body(frame, &self.path, offset, self.version, &mut |_| Ok(())) {
            Ok(()) => Ok(Here::Frame { size, sequence }),
            Err(damage @ Error::Corrupt(_)) => Ok(Here::Bad(damage)),
            Err(error) => Err(error),
        }
    }

    /// Whether a frame here can have this number: those that are missing before it
    /// must have had room in the gap.
    fn is_possible(&self, sequence: u64) -> bool {
        if sequence >= MAX_NUMBER {
            return false;
        }
        let Some(next) = self.next_sequence else {
            return true;
        };
        let room = self.gap.as_ref().map_or(0, |gap| self.offset - gap.from);
        let most = room / frame_size(1) as u64;
        sequence >= next
            && sequence - next <= most
            && self.until.is_none_or(|until| sequence < until)
    }

    fn open_gap(&mut self) -> &mut OpenGap {
        let from = self.offset;
        self.gap.get_or_insert(OpenGap {
            from,
            to: from,
            damage: None,
        })
    }

    /// The gap that ends here, where the frame of that number begins. `None` if no
    /// frame is missing.
    fn close_gap(&mut self, sequence: u64) -> Option<Gap> {
        let gap = self.gap.take()?;
        let first = self.next_sequence.replace(sequence);
        if first == Some(sequence) {
            return None;
        }
        Some(Gap {
            bytes: gap.from..self.offset,
            damage: gap.damage.unwrap_or_else(|| self.zeros(gap.from)),
            first,
            last: sequence.checked_sub(1),
        })
    }

    /// What follows the last frame: nothing, or a gap, and then nothing.
    fn end(&mut self) -> Step {
        let all_there = self.until.is_some() && self.next_sequence == self.until;
        if std::mem::replace(&mut self.ended, true) || all_there {
            return Step::End;
        }
        let gap = self.gap.take().unwrap_or(OpenGap {
            from: self.there,
            to: self.there,
            damage: None,
        });
        let end = self.recorded.unwrap_or(gap.to).max(gap.to);
        let missing = self.until.is_some() || gap.from < end;
        if !missing {
            return Step::End;
        }
        let damage = gap.damage.unwrap_or_else(|| {
            if gap.from < self.there {
                self.zeros(gap.from)
            } else {
                Error::corrupt(&self.path, gap.from, "a frame", "the end of the file")
            }
        });
        Step::Lost(Gap {
            bytes: gap.from..end,
            damage,
            first: self.next_sequence,
            last: self.until.and_then(|until| until.checked_sub(1)),
        })
    }

    fn zeros(&self, at: u64) -> Error {
        Error::corrupt(&self.path, at, "a frame", "zeros")
    }
}

fn read_body(
    frame: &[u8],
    path: &Path,
    offset: u64,
    version: u32,
    each: &mut dyn FnMut(Operation<'_>) -> Result<()>,
) -> Result<()> {
    let body = frame
        .get(FRAME..FRAME.saturating_add(body_len(frame)))
        .unwrap_or_default();
    body::read(body, path, offset + FRAME as u64, version, each)
}
