//! A segment taken apart and put together again, as docs/format.md says and without any of
//! the store's own code.

use super::block::recode;
use super::bytes::{Source, edit};
use super::dictionary::Dictionary;
use super::files::{Fields, Header, MUST, part_crc, u32_at, u64_at};
use super::index::{self, Blocks};
use xxhash_rust::xxh3::xxh3_128;

/// A segment in parts.
pub struct Parts {
    pub header: Header,
    /// In its stored form, at the beginning and at the end; not up to version 3.
    pub dictionaries: Option<[Vec<u8>; 2]>,
    /// Without their checksums.
    pub blocks: Vec<Vec<u8>>,
    /// One a block.
    separators: Vec<Vec<u8>>,
    /// Instead of one made from the separators.
    index: Option<Vec<u8>>,
    filter: Vec<u8>,
    pub footer: Fields,
}

pub const COUNTS: u16 = 8;
pub const CONTENT: u16 = 10;
const INDEX: u16 = 11 | MUST;
const FILTER: u16 = 12 | MUST;
pub const CODECS: u16 = 14 | MUST;
const RECORDS: u16 = 15 | MUST;
pub const DICTIONARY: u16 = 17 | MUST;

impl Parts {
    /// The parts of a sound segment.
    pub fn read(bytes: &[u8]) -> Parts {
        let (header, mut blocks_at) = Header::read(bytes);
        let tail = bytes.len() - 24;
        let footer_at = u64_at(bytes, tail) as usize;
        let footer = Fields::read(&bytes[footer_at..footer_at + u32_at(bytes, tail + 8) as usize]);
        let place = |tag| {
            let (_, value) = footer.0.iter().find(|(known, _)| *known == tag)?;
            let at = u64_at(value, 0) as usize;
            Some(at..at + u64_at(value, 8) as usize)
        };
        let dictionaries = place(DICTIONARY).map(|again| {
            let begin = blocks_at;
            blocks_at += again.len();
            [begin..blocks_at, again].map(|part| bytes[part.start + 4..part.end - 4].to_vec())
        });
        let (index, filter) = (place(INDEX).unwrap(), place(FILTER).unwrap());
        let (mut blocks, mut separators) = (Vec::new(), Vec::new());
        let mut at = blocks_at;
        let named = index::read(&bytes[index.clone()], header.version()).unwrap();
        for (separator, (offset, size)) in named {
            assert_eq!(offset, at as u64);
            separators.push(separator);
            let end = at + size as usize;
            blocks.push(bytes[at..end - 4].to_vec());
            at = end;
        }
        assert_eq!(at, index.start);
        Parts {
            header,
            dictionaries,
            blocks,
            separators,
            index: None,
            filter: bytes[filter].to_vec(),
            footer,
        }
    }

    /// The bytes of the file, with checksums, places and content hash as they must be.
    pub fn write(&self) -> Vec<u8> {
        let mut out = self.header.write();
        let put_dictionary = |out: &mut Vec<u8>, dictionary: &[u8]| {
            let at = out.len();
            out.extend((dictionary.len() as u32).to_le_bytes());
            out.extend(dictionary);
            let crc = part_crc(at as u64, &out[at..]);
            out.extend(crc.to_le_bytes());
            [at, out.len() - at].map(|number| (number as u64).to_le_bytes())
        };
        if let Some([first, _]) = &self.dictionaries {
            put_dictionary(&mut out, first);
        }
        let begin = out.len() as u64;
        for block in &self.blocks {
            let at = out.len();
            out.extend(block);
            let crc = part_crc(at as u64, &out[at..]);
            out.extend(crc.to_le_bytes());
        }
        let index = match &self.index {
            Some(index) => index.clone(),
            None => self.write_index(begin),
        };
        let mut footer = self.footer.clone();
        for (tag, part) in [(INDEX, &index), (FILTER, &self.filter)] {
            let at = out.len() as u64;
            let crc = part_crc(at, part);
            let value = [
                &at.to_le_bytes()[..],
                &(part.len() as u64).to_le_bytes(),
                &crc.to_le_bytes(),
            ];
            footer.set(tag, &value.concat());
            out.extend(part);
        }
        if let Some([_, again]) = &self.dictionaries {
            let place = put_dictionary(&mut out, again);
            footer.set(DICTIONARY, place.as_flattened());
        }
        footer.set(CONTENT, &xxh3_128(&out).to_le_bytes());
        finish(out, &footer.write())
    }

    /// The index of the blocks, which begin at `begin` of the file.
    fn write_index(&self, begin: u64) -> Vec<u8> {
        let mut at = begin;
        let named = self.separators.iter().zip(&self.blocks);
        let named = named.map(|(separator, block)| {
            let len = block.len() as u64 + 4;
            at += len;
            (separator.clone(), (at - len, len))
        });
        index::write(&named.collect::<Blocks>(), self.header.version())
    }

    /// Codes keys with another dictionary.
    pub fn recode(&mut self, to: &Dictionary) {
        let Some(dictionaries) = &mut self.dictionaries else {
            return;
        };
        let from = Dictionary::read(&dictionaries[0]).unwrap();
        let (_, records) = self
            .footer
            .0
            .iter()
            .find(|(tag, _)| *tag == RECORDS)
            .unwrap();
        for (block, separator) in self.blocks.iter_mut().zip(&self.separators) {
            *block = recode(block, records == &[1], [&from, to], separator.len());
        }
        dictionaries.fill(to.write());
    }

    /// Changes one part.
    pub fn edit(&mut self, script: &mut Source<'_>) {
        let which = script.below(self.blocks.len());
        match script.below(13) {
            0..5 => edit(script, &mut self.blocks[which]),
            5 => edit(script, &mut self.separators[which]),
            6 => edit(script, &mut self.filter),
            7 if script.flag() => {
                let again = self.blocks[which].clone();
                self.blocks.push(again);
                self.separators.push(script.take(9).to_vec());
            }
            7 => {
                let to = script.below(self.blocks.len());
                self.blocks.swap(which, to);
            }
            8 => {
                let dictionary = self
                    .dictionaries
                    .as_ref()
                    .map_or(0, |[first, _]| first.len() + 8);
                let mut index = self.write_index(52 + dictionary as u64);
                edit(script, &mut index);
                self.index = Some(index);
            }
            9 if script.flag() => self.header.edit_fixed(script),
            12 => {
                let which = script.below(3);
                let Some(dictionaries) = &mut self.dictionaries else {
                    return;
                };
                if let Some(one) = dictionaries.get_mut(which) {
                    return edit(script, one);
                }
                // The same in both places.
                let [first, again] = dictionaries;
                edit(script, first);
                again.clone_from(first);
            }
            _ => self.footer.edit(script),
        }
    }
}

/// The footer and the tail behind the other parts.
pub fn finish(mut out: Vec<u8>, footer: &[u8]) -> Vec<u8> {
    let at = out.len() as u64;
    out.extend(footer);
    out.extend(at.to_le_bytes());
    out.extend((footer.len() as u32).to_le_bytes());
    out.extend(part_crc(at, footer).to_le_bytes());
    out.extend(b"seenEND\0");
    out
}
