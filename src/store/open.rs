//! Opening: what is at the path, the lock, the manifest, and what logs hold.

use super::commit::Commit;
use super::core::{Core, Cut, Live, Mode, Recovery, Work, Writer};
use super::handle::Handle;
use super::place::{
    Found, LOCK, create_dir, file_number, live_files, missing, must_exist, no_manifest, survey,
};
use super::reader::{Reader, empty_memtable};
use super::replay::Replayed;
use super::syncer::Syncer;
use super::view::{Frozen, Run, View};
use crate::canon::Canon;
use crate::error::{Error, Result};
use crate::header::StoreId;
use crate::log::Tail;
use crate::manifest::{self, Manifest};
use crate::memtable::Memtable;
use crate::options::Options;
use crate::segment::{Segment, SegmentRef};
use crate::stats::Counters;
use crate::vfs::Vfs;
use arc_swap::ArcSwap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

/// Opens for writing. `fresh`: there must be no store yet.
pub(super) fn open(dir: &Path, options: Options, fresh: bool) -> Result<Handle> {
    options.check()?;
    let vfs = options.env.vfs.clone();
    let found = survey(&*vfs, dir)?;
    if found == Found::Nothing {
        create_dir(&*vfs, dir)?;
    }
    let lock_path = dir.join(LOCK);
    let lock = vfs
        .lock(&lock_path)
        .map_err(|e| Error::io("lock", &lock_path, e))?
        .ok_or_else(|| Error::Locked {
            path: dir.to_path_buf(),
        })?;
    // Again, now that nobody else can be creating it.
    let exists = survey(&*vfs, dir)? == Found::Store;
    if exists && fresh {
        return Err(Error::AlreadyExists {
            path: dir.to_path_buf(),
        });
    }
    let manifest = match Manifest::load(&*vfs, dir)? {
        Some(manifest) => manifest,
        None => create(dir, &options)?,
    };
    let canon = check_fixed(dir, &manifest, &options)?;
    remove_orphans(&*vfs, dir, &manifest)?;

    let runs = open_runs(&vfs, dir, &manifest, &options)?;
    let mut manifest = manifest;
    let (frozen, recovery, next_sequence, position) = recover(&*vfs, dir, &mut manifest)?;
    let (active, appender) =
        Memtable::new(options.memory).map_err(|e| Error::io("get memory for", dir, e))?;
    let core = Core {
        dir: dir.to_path_buf(),
        canon,
        store: manifest.store,
        stamps: manifest.stamps,
        seed: manifest.seed,
        recovery,
        counters: Counters::default(),
        view: ArcSwap::from_pointee(View {
            rotation: 0,
            active,
            frozen,
            runs,
        }),
        mode: Mode::Write(Box::new(Writer {
            lock: Mutex::new(Some(lock)),
            commit: Mutex::new(Commit {
                appender,
                log: None,
                rotation: 0,
                next_sequence,
                first_sequence: next_sequence,
                position,
                hidden: 0,
                closed: false,
            }),
            syncer: Syncer::new(next_sequence - 1, position),
            live: Mutex::new(Live {
                manifest,
                closing: false,
                released: false,
                flush: Work::default(),
                merge: Work::default(),
                flush_wanted: false,
            }),
            changed: Condvar::new(),
            flushing: Mutex::new(()),
            merging: Mutex::new(None),
        })),
        options,
    };
    Handle::start(Arc::new(core))
}

/// Opens for reading only.
pub(super) fn open_read_only(dir: &Path, options: Options) -> Result<Handle> {
    options.check()?;
    let vfs = options.env.vfs.clone();
    must_exist(&*vfs, dir)?;
    let manifest = Manifest::load(&*vfs, dir)?.ok_or_else(|| no_manifest(dir))?;
    let canon = check_fixed(dir, &manifest, &options)?;
    let active = empty_memtable().map_err(|e| Error::io("get memory for", dir, e))?;
    let core = Core {
        dir: dir.to_path_buf(),
        canon,
        store: manifest.store,
        stamps: manifest.stamps,
        seed: manifest.seed,
        recovery: Recovery::default(),
        counters: Counters::default(),
        view: ArcSwap::from_pointee(View {
            rotation: 0,
            active,
            frozen: Vec::new(),
            runs: Vec::new(),
        }),
        mode: Mode::Read(Reader::default()),
        options,
    };
    core.refresh(true)?;
    Handle::start(Arc::new(core))
}

/// The first manifest of a new store.
fn create(dir: &Path, options: &Options) -> Result<Manifest> {
    let env = &options.env;
    let random = |e| Error::io("get random bytes for", dir, e);
    let manifest = Manifest {
        store: StoreId {
            id: env.random().map_err(random)?,
            incarnation: 1,
        },
        policy: options
            .canon
            .clone()
            .unwrap_or_else(Canon::standard)
            .text()
            .to_string(),
        stamps: options.stamps.unwrap_or(true),
        seed: u64::from_le_bytes(env.random().map_err(random)?),
        next_number: 1,
        sequence: 1,
        position: None,
        runs: Vec::new(),
        logs: Vec::new(),
    };
    manifest
        .save(&*env.vfs, dir)
        .map_err(manifest::SaveError::into_error)?;
    Ok(manifest)
}

/// Compares what is fixed at creation with what was asked for; the store's policy.
fn check_fixed(dir: &Path, manifest: &Manifest, options: &Options) -> Result<Canon> {
    let canon = Canon::parse(&manifest.policy).ok_or_else(|| Error::UnsupportedFormat {
        path: dir.join(manifest::FILE_NAME),
        what: "canonicalization policy",
        found: format!("`{}`", manifest.policy),
        supported: format!("`{}` and `{}`", Canon::raw(), Canon::standard()),
    })?;
    if let Some(asked) = &options.canon
        && *asked != canon
    {
        return Err(Error::PolicyMismatch {
            path: dir.to_path_buf(),
            store: canon.to_string(),
            asked: asked.to_string(),
        });
    }
    if let Some(asked) = options.stamps
        && asked != manifest.stamps
    {
        return Err(Error::OptionMismatch {
            path: dir.to_path_buf(),
            option: "stamps",
            store: manifest.stamps.to_string(),
            asked: asked.to_string(),
        });
    }
    Ok(canon)
}

/// Removes files of the store's own that no manifest names: what a flush, a merge
/// or a change of manifest left when it was interrupted.
fn remove_orphans(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<()> {
    let live: Vec<String> = live_files(manifest).collect();
    for name in vfs.list(dir).map_err(|e| Error::io("list", dir, e))? {
        let own = file_number(&name).is_some() || name == manifest::TEMPORARY;
        if own && !live.contains(&name) {
            let path = dir.join(&name);
            vfs.remove(&path)
                .map_err(|e| Error::io("remove", &path, e))?;
        }
    }
    Ok(())
}

fn open_runs(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    manifest: &Manifest,
    options: &Options,
) -> Result<Vec<Arc<Run>>> {
    let open_one = |named: &SegmentRef| {
        let path = dir.join(crate::segment::file_name(named.number));
        Segment::open(vfs, &path, manifest.store, named, options.reads)
            .map(Arc::new)
            .map_err(missing)
    };
    manifest
        .runs
        .iter()
        .map(|run| {
            let segments = run.iter().map(open_one).collect::<Result<Vec<_>>>()?;
            check_run(dir, &segments)?;
            Ok(Run::new(segments))
        })
        .collect()
}

/// A run has segments, and their key ranges follow one another.
pub(super) fn check_run(dir: &Path, segments: &[Arc<Segment>]) -> Result<()> {
    let ordered = segments
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.meta().last < b.meta().first));
    if segments.is_empty() || !ordered {
        return Err(Error::corrupt(
            &dir.join(manifest::FILE_NAME),
            48,
            "runs of segments whose key ranges follow one another",
            "a run without segments, or with overlapping ones",
        ));
    }
    Ok(())
}

/// Reads the logs that the manifest names into frozen memtables, newest first.
/// Their final lengths are noted in `manifest`, to be saved with the next log.
#[allow(clippy::type_complexity, reason = "taken apart at the one call")]
fn recover(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &mut Manifest,
) -> Result<(Vec<Arc<Frozen>>, Recovery, u64, Option<u64>)> {
    let mut frozen = Vec::new();
    let mut recovery = Recovery::default();
    let mut next = manifest.sequence;
    let mut position = manifest.position;
    let count = manifest.logs.len();
    for (place, log) in manifest.logs.iter_mut().enumerate() {
        let mut replayed =
            Replayed::open(vfs, dir, manifest.store, manifest.seed, log).map_err(missing)?;
        let path = replayed.reader().path().to_path_buf();
        if log.first_sequence != next || (log.length.is_none() && place + 1 < count) {
            return Err(Error::corrupt(
                &dir.join(manifest::FILE_NAME),
                48,
                format!("logs that follow one another, the next from frame {next} on"),
                format!("log {} from frame {}", log.number, log.first_sequence),
            ));
        }
        let tail = replayed.read(log.length, true)?;
        // What is answered from now on must not depend on pages that a power loss
        // would take.
        replayed
            .reader()
            .file()
            .sync()
            .map_err(|e| Error::io("sync", &path, e))?;
        let end = replayed.reader().offset();
        if let Tail::Unfinished { reason } = tail {
            recovery.cuts.push(Cut {
                path,
                offset: end,
                reason,
            });
        }
        log.length = Some(end);
        let first = next;
        next = replayed.reader().next_sequence();
        position = replayed.position().or(position);
        recovery.logs += 1;
        recovery.entries += replayed.memtable().len();
        frozen.insert(
            0,
            Arc::new(Frozen {
                memtable: replayed.memtable().clone(),
                log: log.number,
                sequences: (first, next.saturating_sub(1)),
                position: replayed.position(),
            }),
        );
    }
    Ok((frozen, recovery, next, position))
}
