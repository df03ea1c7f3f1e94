//! A store's manifest, damaged, or with a right checksum over anything.

use super::answers::{consult, expect_answers, expect_exactly, expect_typed};
use super::bytes::{Source, damage, edit};
use super::files::{Fields, Header, MUST};
use super::memory::Memory;
use super::memory_bound::bounded;
use super::sample::{DIR, Entries, Sample, at, builder, path};
use seendb::vfs::Vfs;
use seendb::{Claim, Error, Seen};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub fn manifest(input: &[u8]) {
    let mut script = Source::new(input);
    let sample = Sample::pick(&mut script);
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
    if script.rarely(8) {
        add(&mut script, &mut header.fields);
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
    let scan = seen.scan("").unwrap();
    let entries: Entries = scan.map(Result::unwrap).collect();
    // A key under one policy need not be one under another.
    if seen.canon().text() == "raw/1" {
        expect_answers(&seen, &entries);
    }
    if writing {
        hold(seen, vfs, entries);
    }
}

/// Adds a field that a manifest need not have.
fn add(script: &mut Source<'_>, fields: &mut Fields) {
    let mut number = |near| script.number(near).to_le_bytes();
    let (tag, value) = match number(10)[0] % 4 {
        // Keys by state.
        0 => (9 | MUST, [50, 5, 5, 5].map(&mut number).concat()),
        // The epoch of claims.
        1 => (10 | MUST, number(3).to_vec()),
        // Ages at which records expire.
        2 => (11 | MUST, [u64::MAX, 600, 86_400].map(&mut number).concat()),
        // What was chosen for filters: a kind, a rate, memory, a memtable.
        _ => {
            let kind = number(1)[..2].to_vec();
            let rate = number(0.01f64.to_bits());
            let sizes = [0, 64 << 20].map(&mut number);
            (12, [&kind, &rate[..], sizes.as_flattened()].concat())
        }
    };
    fields.0.retain(|(known, _)| *known != tag);
    fields.0.push((tag, value));
}

/// The fields of the manifest that is in force.
fn fields(vfs: &Memory) -> Fields {
    Header::read(&vfs.all(Path::new(DIR))["MANIFEST"]).0.fields
}

/// What a store with such a manifest knows stays, and it takes more.
fn hold(seen: Seen, vfs: &Arc<Memory>, mut entries: Entries) {
    let fields = fields(vfs).0;
    let stamps = fields.iter().rev().find(|(tag, _)| *tag == 2 | MUST);
    let stamps = stamps.is_some_and(|(_, value)| value.starts_with(&[1]));
    let expires = fields.iter().any(|(tag, _)| *tag == 11 | MUST);
    // Numbers of keys that were made up go on as they are.
    let counts_right = !expires && seen.len() == entries.len() as u64;
    let more = ["https://example.com/1-more", "https://example.com/2-more"];
    assert!(seen.insert(more[0]).unwrap());
    match seen.claim(more[1], "somebody", Duration::from_secs(9)) {
        Ok(Claim::Granted(lease)) if stamps => assert_eq!(lease.until(), at(10)),
        Err(Error::StampsOff { .. }) if !stamps => {}
        other => panic!("{other:?}"),
    }
    for url in more {
        // It may have expired at once.
        let known = seen.get(url).unwrap();
        assert!(known.is_some() || expires || !stamps);
        if let Some(record) = known {
            assert_eq!(record.first_seen, stamps.then(|| at(1)));
            entries.insert(url.into(), record);
        }
    }
    seen.close().unwrap();
    let seen = builder(vfs).open().unwrap();
    seen.compact().unwrap();
    if seen.canon().text() == "raw/1" {
        expect_answers(&seen, &entries);
    }
    seen.close().unwrap();
    let seen = open(vfs, false).unwrap();
    if counts_right {
        assert_eq!(seen.len(), entries.len() as u64);
    }
}
