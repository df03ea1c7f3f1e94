//! The files of a store taken apart and put together again, as docs/format.md says and
//! without any of the store's own code.

use super::bytes::{Source, edit};

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The varint at the beginning of `bytes`, and what is behind it.
pub fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    for (place, &byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if place == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * place);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

/// The `u64` at `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The `u32` at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Tagged fields.
#[derive(Clone)]
pub struct Fields(pub Vec<(u16, Vec<u8>)>);

/// The bit of a tag that says that the field must be understood.
pub const MUST: u16 = 1 << 15;

impl Fields {
    /// The fields of sound bytes.
    pub fn read(mut bytes: &[u8]) -> Fields {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = u16::from_le_bytes([bytes[0], bytes[1]]);
            let (value, rest) = bytes[6..].split_at(u32_at(bytes, 2) as usize);
            fields.push((tag, value.to_vec()));
            bytes = rest;
        }
        Fields(fields)
    }

    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (tag, value) in &self.0 {
            out.extend(tag.to_le_bytes());
            out.extend((value.len() as u32).to_le_bytes());
            out.extend(value);
        }
        out
    }

    /// Sets the fields of a tag, if there are any.
    pub fn set(&mut self, tag: u16, value: &[u8]) {
        for (_, old) in self.0.iter_mut().filter(|(known, _)| *known == tag) {
            old.clear();
            old.extend(value);
        }
    }

    /// Changes one field: its value, its tag, its place, or that it is there.
    pub fn edit(&mut self, script: &mut Source<'_>) {
        let at = script.below(self.0.len());
        let Some((tag, value)) = self.0.get_mut(at) else {
            return;
        };
        match script.below(10) {
            0 => {
                self.0.remove(at);
            }
            1 => {
                let again = self.0[at].clone();
                let to = script.below(self.0.len() + 1);
                self.0.insert(to, again);
            }
            2 => *tag ^= MUST,
            3 => *tag = (script.u16() % 32) | (script.u16() & MUST),
            4 => {
                let to = script.below(self.0.len());
                self.0.swap(at, to);
            }
            5 | 6 if value.len() >= 8 => {
                // One of the numbers that a value is made of.
                let place = script.below(value.len() / 8) * 8;
                let number = script.number(u64_at(value, place));
                value[place..place + 8].copy_from_slice(&number.to_le_bytes());
            }
            _ => edit(script, value),
        }
    }
}

/// The header of a file.
#[derive(Clone)]
pub struct Header {
    /// Magic, version, length of the fields, the store's id, incarnation, number.
    pub fixed: [u8; 48],
    pub fields: Fields,
}

impl Header {
    /// The header of sound bytes, and its length.
    pub fn read(bytes: &[u8]) -> (Header, usize) {
        let end = 48 + u32_at(bytes, 12) as usize;
        let header = Header {
            fixed: bytes[..48].try_into().unwrap(),
            fields: Fields::read(&bytes[48..end]),
        };
        (header, end + 4)
    }

    pub fn write(&self) -> Vec<u8> {
        self.write_with(&self.fields.write())
    }

    /// The header with other bytes for fields.
    pub fn write_with(&self, fields: &[u8]) -> Vec<u8> {
        let mut out = self.fixed.to_vec();
        out[12..16].copy_from_slice(&(fields.len() as u32).to_le_bytes());
        out.extend(fields);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    pub fn version(&self) -> u8 {
        self.fixed[8]
    }

    pub fn set_version(&mut self, version: u8) {
        self.fixed[8] = version;
    }

    /// Changes what is before the fields.
    pub fn edit_fixed(&mut self, script: &mut Source<'_>) {
        if script.rarely(3) {
            return self.set_version(script.u8() % 6);
        }
        let at = script.below(48);
        self.fixed[at] ^= script.u8().max(1);
    }
}

/// The checksum of a segment's part at `offset`.
pub fn part_crc(offset: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&offset.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// The checksum of a frame, from its length field on.
pub fn frame_crc(log: u64, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&log.to_le_bytes());
    hasher.update(rest);
    hasher.finalize()
}
