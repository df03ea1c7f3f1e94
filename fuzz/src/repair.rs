//! A store whose files are damaged, or changed with right checksums, and its repair.

use super::answers::{expect_exactly, expect_typed};
use super::bytes::{Source, damage};
use super::files::Header;
use super::log;
use super::memory::Memory;
use super::memory_bound::bounded;
use super::parts::Parts;
use super::record::Stored;
use super::sample::{DIR, Entries, Sample, builder, builder_at, path};
use super::segment::rename;
use seendb::vfs::Vfs;
use seendb::{Canon, Error, RepairReport, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Where the new store is made.
const NEW: &str = "/repaired";

pub fn repair(input: &[u8]) {
    let mut script = Source::new(input);
    let sample = Sample::pick(&mut script);
    let vfs = sample.vfs.copy();
    let honest = script.flag();
    let mut touched = BTreeSet::new();
    for _ in 0..=script.below(4) {
        let files = ["MANIFEST".into(), sample.name(".log", 0)];
        let segments = [0, 1].map(|which| sample.name(".seg", which));
        let name = files.iter().chain(&segments).nth(script.below(4)).unwrap();
        let Some(bytes) = vfs.all(Path::new(DIR)).remove(name) else {
            continue;
        };
        if honest {
            hurt(&mut script, &vfs, name, bytes.to_vec());
        } else {
            change(&mut script, &vfs, name, &sample.file(name));
        }
        touched.insert(name.clone());
    }
    let before = vfs.all(Path::new(DIR));
    let repaired = bounded(vfs.size(), || {
        builder(&vfs)
            .canon(Canon::raw())
            .stamps(sample.stamps())
            .repair_into(NEW, &mut |_| ControlFlow::Continue(()))
    });
    let after = vfs.all(Path::new(DIR));
    assert!(before == after, "the old store is only read");
    match repaired {
        Ok(report) => expect(sample, &vfs, honest, &touched, &report),
        Err(Error::PolicyMismatch { .. } | Error::OptionMismatch { .. }) if !honest => {}
        // All of it was removed.
        Err(Error::NoSuchStore { .. }) if before.keys().all(|name| name == "LOCK") => {}
        Err(error) => {
            expect_typed(&error);
            assert!(vfs.all(Path::new(NEW)).is_empty(), "a store or nothing");
        }
    }
}

/// Damage that no checksum fits, or none at all, or the file is gone.
fn hurt(script: &mut Source<'_>, vfs: &Arc<Memory>, name: &str, mut bytes: Vec<u8>) {
    if script.rarely(8) {
        return vfs.remove(&path(name)).unwrap();
    }
    if !bytes.is_empty() {
        damage(script, &mut bytes);
    }
    vfs.put(&path(name), bytes);
}

/// Nonsense with right checksums.
fn change(script: &mut Source<'_>, vfs: &Arc<Memory>, name: &str, whole: &[u8]) {
    if name.ends_with(".seg") {
        let mut parts = Parts::read(whole);
        parts.edit(script);
        let bytes = parts.write();
        if script.flag() && vfs.all(Path::new(DIR)).contains_key("MANIFEST") {
            rename(vfs, name, whole, &bytes);
        }
        return vfs.put(&path(name), bytes);
    }
    if name.ends_with(".log") && script.flag() {
        return vfs.put(&path(name), log::rewrite(script, whole));
    }
    let (mut header, end) = Header::read(whole);
    if script.rarely(4) {
        header.edit_fixed(script);
    } else {
        header.fields.edit(script);
    }
    vfs.put(&path(name), [&header.write(), &whole[end..]].concat());
}

/// What was taken is what there was, as far as that is known; and it is a store.
fn expect(
    sample: &Sample,
    vfs: &Arc<Memory>,
    honest: bool,
    touched: &BTreeSet<String>,
    report: &RepairReport,
) {
    let as_vfs: Arc<dyn Vfs> = vfs.clone();
    let verified = seendb::fuzz::verify(&as_vfs, Path::new(NEW)).unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
    report.damage.iter().for_each(expect_typed);
    let seen: Seen = builder_at(vfs, NEW).open().unwrap();
    let scan = seen.scan("").unwrap();
    let entries: Entries = scan.map(Result::unwrap).collect();
    assert_eq!(report.entries, entries.len() as u64);
    expect_exactly(&seen, &entries);
    if !honest {
        return;
    }
    let log = sample.name(".log", 0);
    let segments = sample
        .segments
        .iter()
        .enumerate()
        .flat_map(|(which, segment)| {
            let name = sample.name(".seg", which);
            segment
                .iter()
                .map(move |(key, stored)| (name.clone(), key, stored))
        });
    let logged = sample.batches.iter().flat_map(|batch| &batch.entries);
    let logged = logged.map(|(key, stored)| (log.clone(), key, stored));
    // For each key all versions, the newest last, with the files that have them.
    let mut versions: BTreeMap<&Vec<u8>, Vec<(String, &Stored)>> = BTreeMap::new();
    for (name, key, stored) in segments.chain(logged) {
        versions.entry(key).or_default().push((name, stored));
    }
    for (key, record) in &entries {
        let known = versions.get(key).into_iter().flatten();
        let was = known
            .map(|(_, stored)| *stored)
            .any(|stored| stored.as_ref() == Some(record));
        assert!(was, "{key:?} was never that");
    }
    let mut missing = false;
    for (key, versions) in versions {
        let (file, newest) = versions.last().unwrap();
        let found = entries.get(key);
        missing |= newest.is_some() && found.is_none();
        let intact = !touched.contains(file);
        assert!(
            !intact || found == newest.as_ref(),
            "{key:?} is in an intact file"
        );
    }
    // Without a manifest nobody knows of a file that is gone.
    let known = !touched.contains("MANIFEST");
    let intact = !touched.contains(&log);
    assert!(!known || !missing || !report.lost.is_empty() || !intact);
}
