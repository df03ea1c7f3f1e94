//! A store as version 0.1 would have written it: format version 1, where times are in
//! milliseconds and records say nothing else.

use super::block::Form;
use super::dictionary::Dictionary;
use super::files::{Header, MUST, frame_crc, put_varint, u32_at, u64_at};
use super::front;
use super::memory::Memory;
use super::parts::{CODECS, DICTIONARY, Parts};
use super::sample::{DIR, path};
use super::segment::rename;
use std::path::Path;
use std::time::SystemTime;

/// Milliseconds above the second, which nobody is told.
const PART: u64 = 789;

/// Turns the files of a store that has only inserts into those of version 1.
pub fn downgrade(vfs: &Memory) {
    for (name, bytes) in vfs.all(Path::new(DIR)) {
        if name.ends_with(".seg") {
            let old = segment(&bytes);
            rename(vfs, &name, &bytes, &old);
            vfs.put(&path(&name), old);
        } else if name.ends_with(".log") {
            vfs.put(&path(&name), log(&bytes));
        }
    }
    let (mut manifest, _) = Header::read(&vfs.all(Path::new(DIR))["MANIFEST"]);
    manifest.set_version(1);
    let fields = &mut manifest.fields.0;
    fields.retain(|(tag, _)| ![9 | MUST, 12].contains(tag));
    vfs.put(&path("MANIFEST"), manifest.write());
}

fn segment(bytes: &[u8]) -> Vec<u8> {
    let mut parts = Parts::read(bytes);
    parts.header.set_version(1);
    let dictionary = parts.dictionaries.take().unwrap();
    let dictionary = Dictionary::read(&dictionary[0]).unwrap();
    for block in &mut parts.blocks {
        block.extend([0; 4]);
        let entries = Form::Packed(true).read(block, &dictionary).unwrap();
        let times = entries.into_iter().map(|(key, stored)| {
            let first = stored.unwrap().first_seen.unwrap();
            let since = first.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            (key, since.as_millis() as u64 + PART)
        });
        *block = write(&times.collect::<Vec<_>>());
    }
    let fields = &mut parts.footer;
    fields.set(CODECS, &[0]);
    fields
        .0
        .retain(|(tag, _)| ![15 | MUST, 16, DICTIONARY].contains(tag));
    parts.write()
}

/// A block without its checksum.
fn write(entries: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let base = entries.iter().map(|(_, millis)| *millis).min().unwrap_or(0);
    let mut out = vec![0];
    put_varint(&mut out, base);
    let code = |(key, millis): &(Vec<u8>, u64)| (key.clone(), vec![(millis - base) << 3 | 1]);
    out.extend(front::write(&entries.iter().map(code).collect::<Vec<_>>()));
    out
}

/// A log whose frames all have times.
fn log(bytes: &[u8]) -> Vec<u8> {
    let (mut header, end) = Header::read(bytes);
    header.set_version(1);
    let id = u64_at(&header.fields.0[0].1, 0);
    let mut out = header.write();
    out.extend(&bytes[end..]);
    let mut at = end.next_multiple_of(8);
    while at + 24 <= out.len() && u32_at(&out, at) != 0 {
        let next = at + (24 + u32_at(&out, at + 4) as usize).next_multiple_of(8);
        let time = at + 25;
        let millis = u64_at(&out, time) * 1000 + PART;
        out[time..time + 8].copy_from_slice(&millis.to_le_bytes());
        let crc = frame_crc(id, &out[at + 4..next]);
        out[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        at = next;
    }
    out
}
