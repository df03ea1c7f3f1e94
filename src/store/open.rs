//! Opening: what is at the path, the lock, the manifest, and what logs hold.

use super::Handle;
use super::commit::Commit;
use super::core::{Core, Cut, Live, Mode, Recovery, Work, Writer};
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
use crate::segment::{Expect, Segment};
use crate::stats::Counters;
use crate::vfs::{Kind, Vfs};
use arc_swap::ArcSwap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

/// The file whose lock is the store's.
const LOCK: &str = "LOCK";

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// A directory where a store can begin: empty, or with what a creation that
    /// was cut short left.
    Room,
    Store,
}

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

/// Refuses a path where there is no store.
pub(super) fn must_exist(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    if survey(vfs, dir)? == Found::Store {
        return Ok(());
    }
    Err(Error::NoSuchStore {
        path: dir.to_path_buf(),
    })
}

/// Looks at the path without changing anything.
fn survey(vfs: &dyn Vfs, dir: &Path) -> Result<Found> {
    let not_a_store = |found: String| Error::NotAStore {
        path: dir.to_path_buf(),
        found,
    };
    match vfs.kind(dir).map_err(|e| Error::io("look at", dir, e))? {
        None => return Ok(Found::Nothing),
        Some(Kind::File) => return Err(not_a_store("it is a file".into())),
        Some(Kind::Other) => {
            return Err(not_a_store("it is neither a directory nor a file".into()));
        }
        Some(Kind::Directory) => {}
    }
    let names = vfs.list(dir).map_err(|e| Error::io("list", dir, e))?;
    if names.iter().any(|name| name == manifest::FILE_NAME) {
        return Ok(Found::Store);
    }
    // The manifest comes before any log or segment: these without it mean that it
    // was lost, and then nothing is created over them.
    if let Some(name) = names.iter().find(|name| file_number(name).is_some()) {
        return Err(Error::corrupt(
            &dir.join(manifest::FILE_NAME),
            0,
            format!("a manifest beside {name}"),
            "no file",
        ));
    }
    match names
        .iter()
        .find(|name| ![LOCK, manifest::TEMPORARY].contains(&name.as_str()))
    {
        None => Ok(Found::Room),
        Some(other) => Err(not_a_store(format!(
            "it is a directory with other files in it, {other:?} among them"
        ))),
    }
}

/// The number in the name of a log or a segment.
pub(super) fn file_number(name: &str) -> Option<u64> {
    let (stem, extension) = name.split_once('.')?;
    let own = matches!(extension, "log" | "seg")
        && stem.len() >= 6
        && stem.bytes().all(|byte| byte.is_ascii_digit());
    own.then(|| stem.parse().ok()).flatten()
}

/// Creates the directory and makes its name, and those of missing parents, durable.
fn create_dir(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let mut to_sync = Vec::new();
    let mut missing = Some(dir);
    while let Some(path) = missing {
        let parent = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_path_buf(),
            None => break,
        };
        let exists = vfs
            .kind(&parent)
            .map_err(|e| Error::io("look at", &parent, e))?
            .is_some();
        to_sync.push(parent);
        missing = if exists { None } else { path.parent() };
    }
    vfs.create_dir(dir)
        .map_err(|e| Error::io("create", dir, e))?;
    for parent in to_sync {
        vfs.sync_dir(&parent)
            .map_err(|e| Error::io("sync", &parent, e))?;
    }
    Ok(())
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

/// The names of the logs and segments that a manifest names.
pub(super) fn live_files(manifest: &Manifest) -> impl Iterator<Item = String> {
    let segments = manifest.runs.iter().flatten();
    segments
        .map(|segment| crate::segment::file_name(segment.number))
        .chain(
            manifest
                .logs
                .iter()
                .map(|log| crate::log::file_name(log.number)),
        )
}

fn open_runs(
    vfs: &Arc<dyn Vfs>,
    dir: &Path,
    manifest: &Manifest,
    options: &Options,
) -> Result<Vec<Arc<Run>>> {
    let open_one = |named: &manifest::SegmentRef| {
        let path = dir.join(crate::segment::file_name(named.number));
        let expect = Expect {
            number: named.number,
            size: named.size,
            content: named.content,
        };
        Segment::open(vfs, &path, manifest.store, &expect, options.reads)
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

/// The error for a store whose manifest is gone.
pub(super) fn no_manifest(dir: &Path) -> Error {
    Error::corrupt(
        &dir.join(manifest::FILE_NAME),
        0,
        "the store's manifest",
        "no file",
    )
}

/// A file that the manifest names and that is not there is damage, whatever the
/// system calls it.
pub(super) fn missing(error: Error) -> Error {
    match &error {
        Error::Io { path, .. } if error.is_not_found() => {
            Error::corrupt(path, 0, "a file that the manifest names", "no file")
        }
        _ => error,
    }
}
