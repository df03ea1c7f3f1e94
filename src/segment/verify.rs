//! Reads a whole segment and checks all that it says.
#![deny(clippy::indexing_slicing)]

use super::footer::Footer;
use super::open::read_header;
use super::packed::Probe;
use super::part::{Part, read_dictionary};
use super::reader::Segment;
use super::{Place, bad_checksum, block};
use crate::error::{Error, Result};
use crate::filter;
use crate::vfs::read_exact_at;
use xxhash_rust::xxh3::Xxh3;

/// How much of the index and the filter is read at once.
const PIECE: u64 = 256 << 10;

/// What was seen so far.
#[derive(Default)]
struct Pass {
    content: Xxh3,
    keys: u64,
    key_bytes: u64,
    /// The first key of all good blocks.
    first: Option<Vec<u8>>,
    /// The last key of a good block. Empty after a bad one.
    last: Vec<u8>,
    damage: Vec<Error>,
    buffer: Vec<u8>,
}

impl Segment {
    /// The first damage of the file, as [`verify_all`](Segment::verify_all) finds it.
    #[cfg(test)]
    pub(crate) fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<()> {
        match self.verify_all(progress).into_iter().next() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Reads every byte of the file, with calls, and answers every damaged part:
    /// header, dictionaries, blocks, index, filter, footer. Checks checksums, the order of
    /// keys, that each lies in the segment's range, is found through the index
    /// and is in the filter, counts, and the content hash. `progress` is called
    /// with the number of bytes that each step has read.
    pub(crate) fn verify_all(&self, progress: &mut dyn FnMut(u64)) -> Vec<Error> {
        let mut pass = Pass::default();
        let meta = self.meta();
        match self.file.len() {
            Ok(size) if size == meta.size => {}
            Ok(size) => pass.damage.push(Error::corrupt(
                &self.path,
                size.min(meta.size),
                format!("a file of {} bytes", meta.size),
                format!("{size} bytes"),
            )),
            Err(e) => pass
                .damage
                .push(Error::io("find the length of", &self.path, e)),
        }
        let header = read_header(&*self.file, &self.path, self.store, meta.number).map(|_| ());
        pass.keep(header);
        let dictionary = self.footer.dictionary.map_or(0, |again| again.len);
        let header_len = self.blocks_at.saturating_sub(dictionary);
        let place = |offset, len| Place { offset, len };
        self.hash(&mut pass, place(0, header_len), progress);
        if self.footer.dictionary.is_some() {
            self.verify_dictionary(&mut pass, place(header_len, dictionary), progress);
        }

        for ordinal in 0..self.index.blocks() {
            let checked = self.verify_block(&mut pass, ordinal, progress);
            if let Err(error) = checked {
                pass.damage.push(error);
                pass.last.clear();
            }
        }
        // Counts say nothing new when blocks are missing from them.
        if pass.damage.is_empty() {
            let counts = self.verify_counts(&pass);
            pass.keep(counts);
        }
        self.verify_part(&mut pass, self.footer.index, "an index", progress);
        self.verify_part(&mut pass, self.footer.filter, "a filter", progress);
        if let Some(again) = self.footer.dictionary {
            self.verify_dictionary(&mut pass, again, progress);
        }

        let footer = Footer::read(&*self.file, &self.path, meta.size, header_len);
        let footer_at = self.footer.footer_at();
        progress(meta.size.saturating_sub(footer_at));
        let same = footer.and_then(|footer| {
            if footer == self.footer {
                return Ok(());
            }
            Err(Error::corrupt(
                &self.path,
                footer_at,
                "the footer that was read when the segment was opened",
                "another",
            ))
        });
        pass.keep(same);

        let content = pass.content.digest128();
        if pass.damage.is_empty() && content != meta.content {
            pass.damage.push(Error::corrupt(
                &self.path,
                0,
                format!("the content hash {:032x}", meta.content),
                format!("{content:032x}"),
            ));
        }
        pass.damage
    }

    fn verify_block(
        &self,
        pass: &mut Pass,
        ordinal: usize,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let place = self.index.nth(ordinal).map_err(|m| self.bad_index(m))?;
        let Some(place) = place else {
            return Ok(());
        };
        let mut bytes = std::mem::take(&mut pass.buffer);
        let read = self.read(place, &mut bytes);
        progress(place.len);
        let checked = read.and_then(|()| {
            pass.content.update(&bytes);
            self.check_block(&bytes, place.offset)?;
            self.verify_entries(pass, ordinal, place, &bytes)
        });
        pass.buffer = bytes;
        checked
    }

    fn verify_entries(
        &self,
        pass: &mut Pass,
        ordinal: usize,
        place: Place,
        bytes: &[u8],
    ) -> Result<()> {
        let bad = |fault| self.bad_block(fault, place);
        let wrong = |key: &[u8], expected: &str| {
            let found = format!("the key \"{}\"", key.escape_ascii());
            Error::corrupt(&self.path, place.offset, expected, found)
        };
        let locate = |key: &[u8]| match self.index.locate(&Probe::new(key)) {
            Ok(Some(located)) if located.ordinal == ordinal => Ok(located),
            Ok(_) => Err(wrong(key, "a key that the index leads to")),
            Err(m) => Err(self.bad_index(m)),
        };
        let block = self.parse(bytes).map_err(bad)?;
        let (mut at, mut key, mut first) = (block::At::Start, Vec::new(), true);
        while let Some((_, next)) = block.step(at, &mut key).map_err(bad)? {
            if first {
                let located = locate(&key)?;
                if located.matched < located.separator {
                    return Err(wrong(&key, "a key that begins with its block's separator"));
                }
                block.check(Some(located.separator)).map_err(bad)?;
            }
            if first && !pass.last.is_empty() && key <= pass.last {
                return Err(wrong(&key, "a key above those of the block before"));
            }
            if !self.covers(&key) {
                return Err(wrong(&key, "a key within the range that the footer names"));
            }
            let hash = filter::hash(self.seed(), &key);
            if !self.filter().may_contain(hash) {
                return Err(wrong(&key, "a key that the filter knows"));
            }
            pass.first.get_or_insert_with(|| key.clone());
            pass.keys += 1;
            pass.key_bytes += key.len() as u64;
            at = next;
            first = false;
        }
        if first {
            return Err(wrong(&[], "a block with entries"));
        }
        // What is between the first key and the last is then reached as well.
        locate(&key)?;
        pass.last = key;
        Ok(())
    }

    /// A part that has the dictionary must have the one that is used.
    fn verify_dictionary(&self, pass: &mut Pass, place: Place, progress: &mut dyn FnMut(u64)) {
        let before = pass.damage.len();
        self.hash(pass, place, progress);
        if pass.damage.len() > before {
            return;
        }
        let end = place.end().unwrap_or(place.offset);
        let read = read_dictionary(&*self.file, &self.path, place.offset, end);
        let same = read.and_then(|(dictionary, len)| {
            if dictionary == *self.dictionary && len == place.len {
                return Ok(());
            }
            Err(Error::corrupt(
                &self.path,
                place.offset,
                "the dictionary that was read when the segment was opened",
                "another",
            ))
        });
        pass.keep(same);
    }

    fn verify_counts(&self, pass: &Pass) -> Result<()> {
        let footer = &self.footer;
        let first = pass.first.as_deref().unwrap_or_default();
        if pass.keys == footer.keys
            && pass.key_bytes == footer.key_bytes
            && first == footer.first
            && pass.last == footer.last
        {
            return Ok(());
        }
        let text = |keys, bytes, first: &[u8], last: &[u8]| {
            let (first, last) = (first.escape_ascii(), last.escape_ascii());
            format!("{keys} keys of {bytes} bytes from \"{first}\" to \"{last}\"")
        };
        Err(Error::corrupt(
            &self.path,
            footer.footer_at(),
            text(footer.keys, footer.key_bytes, &footer.first, &footer.last),
            text(pass.keys, pass.key_bytes, first, &pass.last),
        ))
    }

    fn verify_part(&self, pass: &mut Pass, part: Part, name: &str, progress: &mut dyn FnMut(u64)) {
        let before = pass.damage.len();
        let mut crc = crc32fast::Hasher::new();
        crc.update(&part.place.offset.to_le_bytes());
        self.pieces(pass, part.place, progress, |bytes| crc.update(bytes));
        let computed = crc.finalize();
        if pass.damage.len() == before && computed != part.crc {
            let offset = part.place.offset;
            pass.damage
                .push(bad_checksum(&self.path, offset, name, part.crc, computed));
        }
    }

    fn hash(&self, pass: &mut Pass, place: Place, progress: &mut dyn FnMut(u64)) {
        self.pieces(pass, place, progress, |_| {});
    }

    /// Reads a part in pieces and adds it to the content hash. A read that fails
    /// is damage of the part and ends it.
    fn pieces(
        &self,
        pass: &mut Pass,
        place: Place,
        progress: &mut dyn FnMut(u64),
        mut visit: impl FnMut(&[u8]),
    ) {
        let mut at = place.offset;
        let end = place.end().unwrap_or(at);
        while at < end {
            let len = PIECE.min(end - at);
            pass.buffer.resize(len as usize, 0);
            if let Err(e) = read_exact_at(&*self.file, &mut pass.buffer, at) {
                pass.damage.push(Error::io("read", &self.path, e));
                return;
            }
            pass.content.update(&pass.buffer);
            visit(&pass.buffer);
            progress(len);
            at += len;
        }
    }
}

impl Pass {
    fn keep(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.damage.push(error);
        }
    }
}
