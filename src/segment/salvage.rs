//! What is left of a damaged segment: every block that is intact.
//!
//! An entry is taken only from a block whose checksum fits, which covers the block's
//! place in the file. Where blocks are is known from the index. If that is lost, they
//! are found one behind the other, as a block tells its own length; behind one that is
//! damaged, the next is looked for at every byte.
#![deny(clippy::indexing_slicing)]

use super::block::{self, At, Block, measure};
use super::dictionary::Dictionary;
use super::index::{self, Index};
use super::old;
use super::open::open_index;
use super::part::read_part;
use super::remains::{MAX_BLOCK, Remains};
use super::{Form, Place, bad_checksum};
use crate::error::{Error, Result};
use crate::record::Stored;
use crate::vfs::{Vfs, Window};
use std::ops::Range;

/// Bytes that one step searches at most.
const STEP: u64 = 256 << 10;
/// The most that is read to see whether an index lies behind the blocks.
const MAX_INDEX: u64 = 64 << 20;

/// The entries of a segment as far as it is intact, in the order of keys.
#[derive(Debug)]
pub(crate) struct Salvage {
    remains: Remains,
    window: Window,
    form: Form,
    dictionary: Dictionary,
    blocks: Blocks,
    /// Where blocks begin.
    begin: u64,
    /// Where the next block is, or where one is looked for.
    at: u64,
    /// Where blocks end, as far as that is known.
    end: u64,
    /// Where bytes began that are no block, and what is wrong with them.
    gap: Option<(u64, Error)>,
    /// The present block and the next entry in it.
    block: Place,
    entry: At,
    /// The present key; after the last entry of a block, the one that keys must be above.
    key: Vec<u8>,
    record: Stored,
    /// Damaged parts that cost no entry.
    harmless: Vec<Error>,
    ended: bool,
}

/// How blocks are found.
#[derive(Debug)]
enum Blocks {
    Indexed {
        index: Index,
        next: usize,
    },
    Searched {
        /// Those that were found.
        found: Vec<Place>,
    },
}

/// What a step came to.
#[derive(Debug)]
pub(crate) enum Step {
    /// The next entry.
    Entry,
    /// A part without an intact block.
    Lost(Gap),
    /// Nothing yet.
    Searching,
    End,
}

/// A part of the segment whose entries are lost.
#[derive(Debug)]
pub(crate) struct Gap {
    pub(crate) bytes: Range<u64>,
    pub(crate) damage: Error,
}

impl Salvage {
    /// Begins before the first entry. Keys must be above `above`, the last of the segment
    /// before in the same run. `stamps` says whether entries of the store have times. An
    /// error only if the file cannot be opened, or has no dictionary left.
    pub(crate) fn open(
        vfs: &dyn Vfs,
        remains: Remains,
        stamps: bool,
        above: &[u8],
    ) -> Result<Salvage> {
        let file = remains.file(vfs)?;
        let form = remains.form(vfs).unwrap_or(remains.likely_form(stamps));
        let mut harmless: Vec<Error> = remains.header.as_ref().err().cloned().into_iter().collect();
        let (dictionary, begin) = remains.dictionary(&*file, form, &mut harmless)?;
        let mut blocks = Blocks::Searched { found: Vec::new() };
        let mut end = remains.size;
        if let Ok(footer) = &remains.footer {
            end = footer.index.place.offset;
            match open_index(&*file, &remains.path, footer, form, begin) {
                Ok(index) => blocks = Blocks::Indexed { index, next: 0 },
                Err(error) => harmless.push(error),
            }
            let filter = read_part(&*file, &remains.path, footer.filter, "a filter");
            harmless.extend(filter.err());
        }
        Ok(Salvage {
            window: Window::new(file, end),
            remains,
            form,
            dictionary,
            blocks,
            begin,
            at: begin,
            end,
            gap: None,
            block: Place { offset: 0, len: 0 },
            entry: At::Start,
            key: above.to_vec(),
            record: Stored::Seen(None),
            harmless,
            ended: false,
        })
    }

    /// How far the file was read.
    pub(crate) fn offset(&self) -> u64 {
        if self.ended {
            self.remains.size
        } else {
            self.at
        }
    }

    /// The key of the entry that the last step came to.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its record.
    pub(crate) fn record(&self) -> &Stored {
        &self.record
    }

    /// Damaged parts that cost no entry; complete at the end.
    pub(crate) fn take_harmless(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.harmless)
    }

    /// Goes on to the next entry or gap. An error only if something is intact and not
    /// known to this build.
    pub(crate) fn step(&mut self) -> Result<Step> {
        if self.block.len > 0 {
            let bytes = self.window.get(self.block.offset, self.block.len);
            let step = Block::parse(bytes, self.form, &self.dictionary)
                .and_then(|block| block.step(self.entry, &mut self.key));
            match step {
                Ok(Some((record, next))) => {
                    self.record = record;
                    self.entry = next;
                    return Ok(Step::Entry);
                }
                Ok(None) => self.block.len = 0,
                // It was judged before: the file gave other bytes then.
                Err(fault) => {
                    let damage = fault.into_error(&self.remains.path, self.block.offset);
                    let bytes = self.block.offset..self.at;
                    self.block.len = 0;
                    return Ok(Step::Lost(Gap { bytes, damage }));
                }
            }
        }
        if self.ended {
            return Ok(Step::End);
        }
        match self.blocks {
            Blocks::Indexed { .. } => self.next_indexed(),
            Blocks::Searched { .. } => self.search(),
        }
    }

    fn next_indexed(&mut self) -> Result<Step> {
        let Blocks::Indexed { index, next } = &mut self.blocks else {
            return Ok(Step::End);
        };
        // The index was checked when it was opened.
        let Ok(Some(place)) = index.nth(*next) else {
            return Ok(self.end());
        };
        *next += 1;
        self.at = place.offset.saturating_add(place.len);
        match self.judge(place)? {
            None => Ok(self.enter(place)),
            Some(damage) => {
                self.gap.get_or_insert((place.offset, damage));
                Ok(Step::Searching)
            }
        }
    }

    fn search(&mut self) -> Result<Step> {
        let stop = self.at.saturating_add(STEP);
        while self.at < self.end {
            if self.at >= stop {
                return Ok(Step::Searching);
            }
            let bytes = self.window.get(self.at, MAX_BLOCK);
            let damage = match measure(bytes, self.form, &self.dictionary) {
                Some(len) => {
                    let place = Place {
                        offset: self.at,
                        len: len as u64,
                    };
                    match self.judge(place)? {
                        None => {
                            self.at += place.len;
                            if let Blocks::Searched { found } = &mut self.blocks {
                                found.push(place);
                            }
                            return Ok(self.enter(place));
                        }
                        Some(damage) => damage,
                    }
                }
                None => self.no_block(),
            };
            if self.gap.is_none() {
                if self.is_index() {
                    self.harmless
                        .extend(self.remains.footer.as_ref().err().cloned());
                    self.ended = true;
                    return Ok(Step::End);
                }
                self.gap = Some((self.at, damage));
            }
            let bytes = self.window.get(self.at, MAX_BLOCK);
            self.at += block::next_candidate(bytes, self.form) as u64;
        }
        Ok(self.end())
    }

    /// Goes before the first entry of a block that was judged intact.
    fn enter(&mut self, place: Place) -> Step {
        self.block = place;
        self.entry = At::Start;
        match self.gap.take() {
            Some((from, damage)) => Step::Lost(Gap {
                bytes: from..place.offset,
                damage,
            }),
            None => Step::Searching,
        }
    }

    /// There are no more blocks.
    fn end(&mut self) -> Step {
        self.ended = true;
        let gap = match (self.gap.take(), &self.remains.footer) {
            // Without a footer nothing says that these were all.
            (gap, Err(damage)) => {
                let from = gap.map_or(self.at.min(self.end), |(from, _)| from);
                Some((from, damage.clone()))
            }
            (gap, Ok(_)) => gap,
        };
        match gap {
            Some((from, damage)) => Step::Lost(Gap {
                bytes: from..self.end.max(from),
                damage,
            }),
            None => Step::End,
        }
    }

    /// What is wrong with a block, if anything.
    fn judge(&mut self, place: Place) -> Result<Option<Error>> {
        let bytes = self.window.get(place.offset, place.len);
        let damage = match judge(
            bytes,
            place,
            (self.form, &self.dictionary),
            &self.key,
            &self.remains,
        ) {
            Ok(()) => return Ok(None),
            Err(error @ Error::UnsupportedFormat { .. }) => return Err(error),
            Err(damage) => damage,
        };
        let end = place.offset.saturating_add(place.len);
        let failure = self.window.failure(place.offset, end);
        Ok(Some(failure.map_or(damage, |e| {
            Error::io("read", &self.remains.path, e)
        })))
    }

    fn no_block(&self) -> Error {
        let path = &self.remains.path;
        match self.window.failure(self.at, self.at + 1) {
            Some(error) => Error::io("read", path, error),
            None => Error::corrupt(path, self.at, "a block", "bytes that are none"),
        }
    }

    /// Whether what follows is the index, which says that there are no more blocks.
    fn is_index(&mut self) -> bool {
        let Blocks::Searched { found } = &self.blocks else {
            return false;
        };
        let (Some(first), Err(_)) = (found.first(), &self.remains.footer) else {
            return false;
        };
        // Before much is read: damaged bytes that begin like an index are rare.
        let room = self.begin..=first.offset;
        let rest = self.remains.size.saturating_sub(self.at).min(MAX_INDEX);
        let begin = self.window.get(self.at, index::BEGIN as u64);
        match self.form {
            Form::Packed { .. } => {
                index::begins_index(begin, room)
                    && index::is_index_of(self.window.get(self.at, rest), found, self.at)
            }
            Form::Old(_) => {
                old::begins_index(begin, room)
                    && old::is_index_of(self.window.get(self.at, rest), found, self.at)
            }
        }
    }
}

/// Whether the bytes are a block with entries, all of which can be read and are in order
/// above `above`.
fn judge(
    bytes: &[u8],
    place: Place,
    (form, dictionary): (Form, &Dictionary),
    above: &[u8],
    remains: &Remains,
) -> Result<()> {
    let path = &remains.path;
    let (stored, computed) = block::checksums(bytes, place.offset);
    if stored != computed {
        return Err(bad_checksum(
            path,
            place.offset,
            "a block",
            stored,
            computed,
        ));
    }
    let bad = |fault: super::Fault| fault.into_error(path, place.offset);
    let block = Block::parse(bytes, form, dictionary).map_err(bad)?;
    block.check(None).map_err(bad)?;
    let (mut at, mut key) = (At::Start, Vec::new());
    while let Some((_, next)) = block.step(at, &mut key).map_err(bad)? {
        if at == At::Start && key.as_slice() <= above {
            let found = format!("the key \"{}\"", key.escape_ascii());
            let expected = "a key above those of the block before";
            return Err(Error::corrupt(path, place.offset, expected, found));
        }
        at = next;
    }
    if at == At::Start {
        return Err(Error::corrupt(
            path,
            place.offset,
            "a block with entries",
            "none",
        ));
    }
    Ok(())
}
