//! Takes what is intact of a damaged store into a new one.
//!
//! The old store is only read. The new one is one run, written by a merge of all that was
//! found, the newest first; it becomes a store with its manifest, at the end.

mod found;
mod head;
mod ledger;
mod logs;
mod order;
mod report;
mod room;
mod run;
mod sources;

pub use report::{Lost, RepairReport};

use self::head::Head;
use self::ledger::Ledger;
use self::logs::Logs;
use self::room::Room;
use self::run::SalvagedRun;
use self::sources::{Origin, Sources};
use super::Progress;
use super::open::check_fixed;
use super::place::{Found, LOCK, UNFINISHED, numbered, survey};
use super::scan::MemoryCursor;
use crate::compact::{Merged, RunWriter, Source, Target};
use crate::error::{Error, Result};
use crate::filter::{FilterPlan, share};
use crate::header::StoreId;
use crate::manifest::{self, Manifest};
use crate::options::Options;
use crate::record::{Counts, Stored};
use crate::segment::Meta;
use crate::vfs::{Kind, Lock, Vfs};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;

/// Where the new store's entries come from.
enum Entries<'a> {
    Memory(MemoryCursor),
    Run(Box<SalvagedRun<'a>>),
}

/// Makes a store at `into` of what is intact of the one at `from`.
pub(super) fn repair(
    from: &Path,
    into: &Path,
    options: &Options,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<RepairReport> {
    options.check()?;
    let vfs = &*options.env.vfs;
    must_be_a_store(vfs, from)?;
    let _lock = keep_writers_away(vfs, from)?;
    room::must_be_outside(vfs, into)?;
    room::must_be_free(vfs, into)?;

    let ledger = Ledger::new(into, progress);
    let mut sources = Sources::look(from, options, &ledger)?;
    let origins = std::mem::take(&mut sources.origins);
    let mut logs = Logs {
        vfs,
        ledger: &ledger,
        store: sources.fixed.store,
        seed: sources.fixed.seed,
        stamps: sources.fixed.stamps,
        position: None,
        last_position: None,
        whole: true,
        next_sequence: sources.next_sequence,
        covered: Vec::new(),
    };
    let mut manifest = first_manifest(into, &sources, options)?;
    check_fixed(from, &manifest, options)?;
    let entries = open(origins, &mut logs, manifest.stamps)?;
    manifest.sequence = logs.next_sequence;

    let room = Room::claim(vfs, into)?;
    let mut writer = RunWriter::new(target(into, options, &manifest));
    let written = write(entries, &mut writer, &mut manifest).and_then(|entries| {
        if !sources.complete {
            leave_epochs_out(&mut manifest);
        }
        manifest.check(&from.join(manifest::FILE_NAME))?;
        Ok(entries)
    });
    let entries = match written {
        Ok(entries) => entries,
        Err(error) => {
            room.clear(Some(writer));
            return Err(error);
        }
    };
    if !sources.complete {
        sources.covered.append(&mut logs.covered);
        report_holes(from, sources.covered, &ledger);
    }
    // Lost entries of segments are of any time, and what a manifest alone would tell to
    // be missing may be too.
    if sources.complete && !ledger.has_lost_keys() {
        manifest.position = logs.position.max(sources.position);
    }
    let last_position = logs.last_position.max(sources.position);
    room.open(&manifest, writer)?;
    let mut report = ledger.finish();
    report.entries = entries;
    report.position = manifest.position;
    report.last_position = last_position;
    Ok(report)
}

/// Refuses a path where no store is, not even a damaged one.
fn must_be_a_store(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    match survey(vfs, dir) {
        Ok(Found::Store) => Ok(()),
        Ok(Found::Nothing | Found::Room) => Err(Error::NoSuchStore {
            path: dir.to_path_buf(),
        }),
        // Going by names, as first bytes can be what is damaged.
        Err(error) => {
            let names = vfs.list(dir).unwrap_or_default();
            let is_one = names.iter().any(|name| numbered(name).is_some());
            if is_one && !names.iter().any(|name| name == UNFINISHED) {
                return Ok(());
            }
            Err(error)
        }
    }
}

/// The store's lock, if its file is there: none is made. Whoever may not write there goes
/// on without.
fn keep_writers_away(vfs: &dyn Vfs, dir: &Path) -> Result<Option<Box<dyn Lock>>> {
    let path = dir.join(LOCK);
    let kind = vfs
        .kind(&path)
        .map_err(|e| Error::io("look at", &path, e))?;
    if kind != Some(Kind::File) {
        return Ok(None);
    }
    match vfs.lock(&path) {
        Ok(Some(lock)) => Ok(Some(lock)),
        Ok(None) => Err(Error::Locked {
            path: dir.to_path_buf(),
        }),
        Err(e)
            if [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem].contains(&e.kind()) =>
        {
            Ok(None)
        }
        Err(e) => Err(Error::io("lock", &path, e)),
    }
}

/// The manifest of the new store before anything is in it. Another incarnation, so that
/// files of the one store do not pass for those of the other, and a random one: a store
/// can be repaired twice.
fn first_manifest(into: &Path, sources: &Sources, options: &Options) -> Result<Manifest> {
    let env = &options.env;
    let fixed = &sources.fixed;
    let random = |e| Error::io("get random bytes for", into, e);
    let incarnation = u64::from_le_bytes(env.random().map_err(random)?);
    let is_old = incarnation == fixed.store.incarnation;
    Ok(Manifest {
        store: StoreId {
            id: fixed.store.id,
            incarnation: incarnation.wrapping_add(u64::from(is_old)),
        },
        policy: fixed.policy.clone(),
        stamps: fixed.stamps,
        seed: fixed.seed,
        next_number: sources.next_number,
        sequence: sources.next_sequence,
        position: None,
        runs: Vec::new(),
        logs: Vec::new(),
        counts: None,
        epoch: sources.epoch,
        expiry: options.expiry.applied_to(sources.expiry),
        filters: options.filters(sources.filters),
        codec: options.codec.unwrap_or(sources.codec),
    })
}

/// Goes on with epochs that the old store has never come to, as nothing tells the last: the
/// last claims may be settled or lost. No store is opened 2^32 times. A random multiple of
/// that, so that it holds too if this store loses its manifest in turn.
fn leave_epochs_out(manifest: &mut Manifest) {
    let times = (manifest.store.incarnation >> 40) + 1;
    manifest.epoch = manifest.epoch.saturating_add(times << 32);
}

/// Where the new store's run is written.
fn target(into: &Path, options: &Options, manifest: &Manifest) -> Target {
    Target {
        vfs: options.env.vfs.clone(),
        dir: into.to_path_buf(),
        store: manifest.store,
        seed: manifest.seed,
        policy: manifest.policy.clone(),
        stamps: manifest.stamps,
        // No tombstone is written.
        records: manifest.stamps,
        // The store's only run.
        filter: FilterPlan::for_rate(
            manifest.filters.kind,
            share(manifest.filters.rate, 1, 1, 0.0),
        ),
        codec: manifest.codec,
        // Only its first keys: it is written in one go.
        is_sampled: false,
        segment_size: options.segment_size,
        // The frames that are lost too: nobody is to look for them again.
        sequences: (1, manifest.sequence.saturating_sub(1)),
        // Known only at the end, when the manifest is written.
        position: None,
        inputs: Vec::new(),
    }
}

/// The sources of entries, the newest first. Logs are read here, the oldest first.
fn open<'a>(origins: Vec<Origin>, logs: &mut Logs<'a>, stamps: bool) -> Result<Vec<Entries<'a>>> {
    let mut entries = Vec::with_capacity(origins.len());
    for origin in origins.into_iter().rev() {
        entries.push(match origin {
            Origin::Log(log) => Entries::Memory(MemoryCursor::new(&logs.read(&log)?, b"")),
            Origin::Run(pieces) => {
                let run = SalvagedRun::new(logs.vfs, logs.ledger, stamps, pieces);
                Entries::Run(Box::new(run))
            }
        });
    }
    entries.reverse();
    Ok(entries)
}

/// Writes all entries as one run, and names it in the manifest, whose epoch is not below
/// that of any claim; how many they are.
fn write(
    entries: Vec<Entries<'_>>,
    writer: &mut RunWriter,
    manifest: &mut Manifest,
) -> Result<u64> {
    let mut merged = Merged::new(entries);
    let mut counts = Counts::default();
    let stamps = manifest.stamps;
    let mut number = || {
        let number = manifest.next_number;
        manifest.next_number = number.saturating_add(1);
        number
    };
    let mut head = Head::default();
    while merged.advance()? {
        let stored = match merged.record() {
            // Whatever a segment says: without times, there is nothing more to a key.
            stored if stored.kind().is_some() && !stamps => Stored::Seen(None),
            stored => stored,
        };
        // Nothing is older than this run.
        if let Some(kind) = stored.kind() {
            if let Some(token) = stored.token() {
                manifest.epoch = manifest.epoch.max(token.epoch);
            }
            head.add(merged.key(), stored, writer, &mut number)?;
            counts.add(kind);
        }
    }
    head.end(writer, &mut number)?;
    manifest.counts = Some(counts);
    let run: Vec<_> = writer.finish()?.iter().map(Meta::named).collect();
    if !run.is_empty() {
        manifest.runs.push(run);
    }
    Ok(counts.sum())
}

/// Reports frames that are in no file that was found.
fn report_holes(dir: &Path, mut covered: Vec<(u64, u64)>, ledger: &Ledger<'_>) {
    covered.sort_unstable();
    let path = dir.join(manifest::FILE_NAME);
    let mut next = 1;
    for (first, last) in covered {
        if first > next {
            let damage = Error::corrupt(
                &path,
                0,
                "a log or segment of these batches, unless they held nothing new",
                "no file that says so",
            );
            let mut lost = Lost::new(path.clone(), 0..0, damage);
            (lost.first_batch, lost.last_batch) = (Some(next), Some(first - 1));
            ledger.lose_batches(lost);
        }
        next = next.max(last.saturating_add(1));
    }
}

impl Source for Entries<'_> {
    fn advance(&mut self) -> Result<bool> {
        match self {
            Entries::Memory(cursor) => cursor.advance(),
            Entries::Run(run) => run.advance(),
        }
    }

    fn key(&self) -> &[u8] {
        match self {
            Entries::Memory(cursor) => cursor.key(),
            Entries::Run(run) => run.key(),
        }
    }

    fn record(&self) -> Stored {
        match self {
            Entries::Memory(cursor) => cursor.record(),
            Entries::Run(run) => run.record(),
        }
    }
}
