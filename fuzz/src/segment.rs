//! A store's segment, damaged, or with right checksums over anything.

use super::answers::{READS, consult, expect_answers, expect_exactly, expect_typed, neighbours};
use super::bytes::{Source, damage};
use super::files::{Fields, Header, u64_at};
use super::memory::Memory;
use super::memory_bound::bounded;
use super::parts::{CONTENT, Parts, finish};
use super::sample::{DIR, Entries, Sample, builder, path};
use seendb::vfs::Vfs;
use seendb::{Error, Reads, Seen};
use std::path::Path;
use std::sync::Arc;

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
