//! A store's segment, damaged, or with right checksums over anything.

use super::bytes::{Source, damage, edit};
use super::files::{Fields, Header, MUST, part_crc, put_varint, u32_at, u64_at, varint};
use super::memory::Memory;
use super::memory_bound::bounded;
use super::sample::{
    DIR, Entries, READS, Sample, builder, consult, expect_answers, expect_exactly, expect_typed,
    neighbours, path,
};
use seendb::vfs::Vfs;
use seendb::{Error, Reads, Seen};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

pub fn segment(input: &[u8]) {
    let mut script = Source::new(input);
    let sample = Sample::pick(&mut script);
    let name = sample.name(".seg", script.below(2));
    if script.flag() {
        damaged(&mut script, sample, &name);
    } else {
        changed(&mut script, sample, &name);
    }
}

fn open(vfs: &Arc<Memory>, reads: Reads, writing: bool) -> Result<Seen, Error> {
    bounded(vfs.size(), || {
        let builder = builder(vfs).reads(reads);
        if writing {
            builder.open()
        } else {
            builder.open_read_only()
        }
    })
}

/// Each answer is right, or it is an error; and `verify` finds the damage.
fn damaged(script: &mut Source<'_>, sample: &Sample, name: &str) {
    let whole = sample.file(name);
    let mut bytes = whole.clone();
    for _ in 0..=script.below(3) {
        if bytes.is_empty() {
            break;
        }
        damage(script, &mut bytes);
    }
    let same = bytes == whole;
    let vfs = sample.vfs.copy();
    vfs.put(&path(name), bytes);
    let entries = sample.entries(sample.batches.len());
    let found = verify(&vfs).map_or(1, |damage| damage.len());
    assert_eq!(found == 0, same, "{found} damaged parts");
    let reads = READS[script.below(2)];
    let seen = match open(&vfs, reads, script.flag()) {
        Ok(seen) if same => return expect_exactly(&seen, &entries),
        Ok(seen) => seen,
        Err(error) => return expect_typed(&error),
    };
    let mut scanned = Vec::new();
    for entry in seen.scan("").into_iter().flatten() {
        match entry {
            Ok(entry) => scanned.push(entry),
            Err(error) => expect_typed(&error),
        }
    }
    // Up to an error, a scan leaves nothing out.
    assert!(
        scanned
            .iter()
            .map(|(k, r)| (k, r))
            .eq(entries.iter().take(scanned.len()))
    );
    let from = script.below(7);
    let stored = sample.segments.iter().flat_map(|segment| segment.keys());
    let keys: Vec<_> = stored.chain(entries.keys()).collect();
    for key in keys.into_iter().skip(from).step_by(7) {
        for probe in neighbours(key).iter().chain([key]) {
            match seen.get(probe) {
                Ok(record) => assert_eq!(record.as_ref(), entries.get(probe), "{probe:?}"),
                Err(error) => expect_typed(&error),
            }
        }
    }
}

fn verify(vfs: &Arc<Memory>) -> Result<Vec<Error>, Error> {
    let vfs: Arc<dyn Vfs> = vfs.clone();
    let damage = seendb::fuzz::verify(&vfs, Path::new(DIR))?.damage;
    damage.iter().for_each(expect_typed);
    Ok(damage)
}

/// A segment in parts.
pub struct Parts {
    pub header: Header,
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
const CONTENT: u16 = 10;
const INDEX: u16 = 11 | MUST;
const FILTER: u16 = 12 | MUST;

impl Parts {
    /// The parts of a sound segment.
    pub fn read(bytes: &[u8]) -> Parts {
        let (header, blocks_at) = Header::read(bytes);
        let tail = bytes.len() - 24;
        let footer_at = u64_at(bytes, tail) as usize;
        let footer = Fields::read(&bytes[footer_at..footer_at + u32_at(bytes, tail + 8) as usize]);
        let place = |tag| {
            let (_, value) = footer.0.iter().find(|(known, _)| *known == tag).unwrap();
            let at = u64_at(value, 0) as usize;
            (at, at + u64_at(value, 8) as usize)
        };
        let (index, filter) = (place(INDEX), place(FILTER));
        let (mut blocks, mut separators) = (Vec::new(), Vec::new());
        let count = u32_at(bytes, index.1 - 4) as usize;
        let mut rest = &bytes[index.0..index.1 - 4 - 4 * count];
        let (mut separator, mut at) = (Vec::new(), blocks_at);
        while !rest.is_empty() {
            let mut next = || {
                let (value, after) = varint(rest).unwrap();
                rest = after;
                value as usize
            };
            let (shared, len, offset, size) = (next(), next(), next(), next());
            assert_eq!(offset, at);
            separator.truncate(shared);
            separator.extend(&rest[..len]);
            rest = &rest[len..];
            separators.push(separator.clone());
            blocks.push(bytes[offset..offset + size - 4].to_vec());
            at = offset + size;
        }
        assert_eq!(at, index.0);
        Parts {
            header,
            blocks,
            separators,
            index: None,
            filter: bytes[filter.0..filter.1].to_vec(),
            footer,
        }
    }

    /// The bytes of the file, with checksums, places and content hash as they must be.
    pub fn write(&self) -> Vec<u8> {
        let mut out = self.header.write();
        let mut places = Vec::new();
        for block in &self.blocks {
            let at = out.len();
            out.extend(block);
            let crc = part_crc(at as u64, &out[at..]);
            out.extend(crc.to_le_bytes());
            places.push((at, out.len() - at));
        }
        let index = match &self.index {
            Some(index) => index.clone(),
            None => self.write_index(&places),
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
        footer.set(CONTENT, &xxh3_128(&out).to_le_bytes());
        finish(out, &footer.write())
    }

    fn write_index(&self, places: &[(usize, usize)]) -> Vec<u8> {
        let (mut out, mut restarts) = (Vec::new(), Vec::new());
        let mut last: &[u8] = &[];
        for (place, (separator, (at, size))) in self.separators.iter().zip(places).enumerate() {
            let common = last.iter().zip(separator).take_while(|(a, b)| a == b);
            let shared = if place % 16 == 0 { 0 } else { common.count() };
            if place % 16 == 0 {
                restarts.push(out.len() as u32);
            }
            for number in [shared, separator.len() - shared, *at, *size] {
                put_varint(&mut out, number as u64);
            }
            out.extend(&separator[shared..]);
            last = separator;
        }
        for restart in &restarts {
            out.extend(restart.to_le_bytes());
        }
        out.extend((restarts.len() as u32).to_le_bytes());
        out
    }

    /// Changes one part.
    pub fn edit(&mut self, script: &mut Source<'_>) {
        let which = script.below(self.blocks.len());
        match script.below(12) {
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
                let mut places = Vec::new();
                let mut at = 52;
                for block in &self.blocks {
                    places.push((at, block.len() + 4));
                    at += block.len() + 4;
                }
                let mut index = self.write_index(&places);
                edit(script, &mut index);
                self.index = Some(index);
            }
            9 if script.flag() => self.header.edit_fixed(script),
            _ => self.footer.edit(script),
        }
    }
}

/// The footer and the tail behind the other parts.
fn finish(mut out: Vec<u8>, footer: &[u8]) -> Vec<u8> {
    let at = out.len() as u64;
    out.extend(footer);
    out.extend(at.to_le_bytes());
    out.extend((footer.len() as u32).to_le_bytes());
    out.extend(part_crc(at, footer).to_le_bytes());
    out.extend(b"seenEND\0");
    out
}

/// The segment says something else now, with right checksums, and the manifest names it
/// so. Where `verify` finds nothing, answers agree with each other; else they need only
/// be answers or typed errors.
fn changed(script: &mut Source<'_>, sample: &Sample, name: &str) {
    let old = sample.file(name);
    let mut parts = Parts::read(&old);
    assert!(parts.write() == old, "parts make up the whole");
    for _ in 0..script.below(4) {
        parts.edit(script);
    }
    let mut bytes = parts.write();
    if script.rarely(16) {
        // Places in the footer that are not those of the parts.
        let tail = bytes.len() - 24;
        let at = u64_at(&bytes, tail) as usize;
        let mut footer = Fields::read(&bytes[at..tail]);
        bytes.truncate(at);
        footer.edit(script);
        bytes = finish(bytes, &footer.write());
    }
    let vfs = sample.vfs.copy();
    rename(&vfs, name, &old, &bytes);
    vfs.put(&path(name), bytes);

    let clean = verify(&vfs).is_ok_and(|damage| damage.is_empty());
    let keys: Vec<_> = sample.entries(sample.batches.len()).into_keys().collect();
    let writing = script.flag();
    let opened = READS.map(|reads| open(&vfs.copy(), reads, writing));
    let [mapped, read] = match opened {
        [Ok(mapped), Ok(read)] => [mapped, read],
        [Err(mapped), Err(read)] => {
            assert_eq!(mapped.to_string(), read.to_string());
            assert!(!clean, "verify finds nothing, but: {mapped}");
            return expect_typed(&mapped);
        }
        [mapped, read] => panic!("{mapped:?}, but {read:?}"),
    };
    for key in keys.iter().step_by(3) {
        let answers = [&mapped, &read].map(|seen| seen.get(key).map_err(|e| e.to_string()));
        assert_eq!(answers[0], answers[1], "{key:?}");
    }
    let whole = consult(&mapped, &keys);
    if clean {
        assert!(whole, "verify finds nothing");
        let entries: Entries = mapped.scan("").unwrap().map(Result::unwrap).collect();
        expect_answers(&mapped, &entries);
    }
    if writing {
        match mapped.compact() {
            Ok(()) => drop(consult(&mapped, &keys)),
            Err(error) if clean => panic!("verify finds nothing, but: {error}"),
            Err(error) => expect_typed(&error),
        }
    }
}

/// Gives the segment's new size and content hash to the manifest.
pub fn rename(vfs: &Memory, name: &str, old: &[u8], bytes: &[u8]) {
    let (mut manifest, _) = Header::read(&vfs.all(Path::new(DIR))["MANIFEST"]);
    let number: u64 = name.trim_end_matches(".seg").parse().unwrap();
    let was = [number.to_le_bytes(), (old.len() as u64).to_le_bytes()].concat();
    let tail = bytes.len() - 24;
    let footer = &bytes[u64_at(bytes, tail) as usize..tail];
    let footer = Fields::read(footer);
    let content = footer
        .0
        .iter()
        .rev()
        .find(|(tag, value)| *tag == CONTENT && value.len() == 16);
    let content = content.map_or(vec![0; 16], |(_, value)| value.clone());
    for (_, value) in &mut manifest.fields.0 {
        if value.starts_with(&was) && value.len() >= 32 {
            value[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            value[16..32].copy_from_slice(&content);
        }
    }
    vfs.put(&path("MANIFEST"), manifest.write());
}
