//! A store's manifest, damaged, or with a right checksum over anything.

use super::bytes::{Source, damage, edit};
use super::files::{Header, MUST};
use super::memory::Memory;
use super::memory_bound::bounded;
use super::sample::{
    DIR, Entries, Sample, builder, consult, expect_exactly, expect_typed, millis, path,
};
use seendb::vfs::Vfs;
use seendb::{Error, Seen};
use std::path::Path;
use std::sync::Arc;

pub fn manifest(input: &[u8]) {
    let mut script = Source::new(input);
    let sample = Sample::get(script.flag());
    let whole = sample.file("MANIFEST");
    let writing = script.flag();
    let vfs = sample.vfs.copy();
    if script.flag() {
        let mut bytes = whole.clone();
        for _ in 0..=script.below(3) {
            if bytes.is_empty() {
                break;
            }
            damage(&mut script, &mut bytes);
        }
        vfs.put(&path("MANIFEST"), bytes.clone());
        let before = vfs.all(Path::new(DIR));
        match open(&vfs, writing) {
            Ok(seen) => {
                assert!(bytes == whole, "damage that nobody noticed");
                expect_exactly(&seen, &sample.entries(sample.batches.len()));
            }
            Err(error) => {
                assert!(bytes != whole, "{error}");
                expect_typed(&error);
                let mut after = vfs.all(Path::new(DIR));
                after.retain(|name, _| name != "LOCK" || before.contains_key(name));
                assert!(before == after, "an error changes nothing");
            }
        }
        return;
    }
    let (mut header, _) = Header::read(&whole);
    if script.rarely(16) {
        header.edit_fixed(&mut script);
    }
    for _ in 0..script.below(4) {
        header.fields.edit(&mut script);
    }
    let mut fields = header.fields.write();
    if script.rarely(8) {
        edit(&mut script, &mut fields);
    }
    vfs.put(&path("MANIFEST"), header.write_with(&fields));
    changed(sample, &vfs, writing);
}

fn open(vfs: &Arc<Memory>, writing: bool) -> Result<Seen, Error> {
    bounded(vfs.size(), || {
        if writing {
            builder(vfs).open()
        } else {
            builder(vfs).open_read_only()
        }
    })
}

/// The manifest says something else now, and says so with a right checksum. It may be
/// refused; if it is not, answers agree with each other, and hold.
fn changed(sample: &Sample, vfs: &Arc<Memory>, writing: bool) {
    let as_vfs: Arc<dyn Vfs> = vfs.clone();
    let report = seendb::fuzz::verify(&as_vfs, Path::new(DIR));
    let clean = match &report {
        Ok(report) => {
            report.damage.iter().for_each(expect_typed);
            report.damage.is_empty()
        }
        Err(error) => {
            expect_typed(error);
            false
        }
    };
    let readable = open(&vfs.copy(), false).is_ok();
    let seen = match open(vfs, writing) {
        Ok(seen) => seen,
        Err(error) => {
            // A policy is not for `verify` to know.
            let policy = matches!(&error, Error::UnsupportedFormat { .. });
            assert!(!clean || policy, "verify finds nothing, but: {error}");
            return expect_typed(&error);
        }
    };
    assert!(readable, "a store that can be written can be read");
    assert!(clean, "opened, but {report:?}");
    let keys: Vec<_> = sample.entries(sample.batches.len()).into_keys().collect();
    if !consult(&seen, &keys) {
        panic!("verify found nothing");
    }
    let entries: Entries = seen
        .scan("")
        .unwrap()
        .map(|entry| entry.map(|(key, record)| (key, millis(record))).unwrap())
        .collect();
    // A key under one policy need not be one under another.
    if seen.canon().text() == "raw/1" {
        expect_exactly(&seen, &entries);
    }
    if writing {
        hold(seen, vfs, entries);
    }
}

/// What a store with such a manifest knows stays, and it takes more.
fn hold(seen: Seen, vfs: &Arc<Memory>, mut entries: Entries) {
    let (manifest, _) = Header::read(&vfs.all(Path::new(DIR))["MANIFEST"]);
    let mut fields = manifest.fields.0.iter().rev();
    let stamps = fields.find(|(tag, _)| *tag == 2 | MUST);
    let stamps = stamps.is_some_and(|(_, value)| value.starts_with(&[1]));
    let more = "https://example.com/one-more";
    assert!(seen.insert(more).unwrap());
    let stamp = seen.get(more).unwrap().map(millis).unwrap();
    assert_eq!(stamp.is_some(), stamps);
    entries.insert(more.into(), stamp);
    seen.close().unwrap();
    let seen = builder(vfs).open().unwrap();
    seen.compact().unwrap();
    if seen.canon().text() == "raw/1" {
        expect_exactly(&seen, &entries);
    }
    seen.close().unwrap();
    let seen = open(vfs, false).unwrap();
    assert_eq!(seen.len(), entries.len() as u64);
}
