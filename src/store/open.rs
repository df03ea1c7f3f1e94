//! Opening: what is at the path, the lock, the manifest, and what logs hold.

use super::commit::Commit;
use super::core::{Core, Live, Mode, Recovery, Work, Writer};
use super::handle::Handle;
use super::place::{
    Found, LOCK, UNFINISHED, live_files, missing, must_exist, no_manifest, numbered, survey,
    sync_parents,
};
use super::reader::{Reader, empty_memtable};
use super::recover::recover;
use super::runs::{Opening, memtables_of};
use super::syncer::Syncer;
use super::unnamed::{Unnamed, judge, unnamed};
use super::view::{Run, View};
use crate::canon::Canon;
use crate::error::{Error, Result};
use crate::filter::FilterChoice;
use crate::header::StoreId;
use crate::manifest::{self, Manifest};
use crate::memtable::Memtable;
use crate::options::Options;
use crate::record::{Counts, Expiry, Token};
use crate::stats::Counters;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use crate::sync::{ArcSwap, Condvar, Mutex};
use crate::vfs::Vfs;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Opens for writing. `fresh`: there must be no store yet.
pub(super) fn open(dir: &Path, options: Options, fresh: bool) -> Result<Handle> {
    options.check()?;
    // Before anything is created.
    check_expiry(dir, options.stamps != Some(false), &options)?;
    let vfs = options.env.vfs.clone();
    let found = survey(&*vfs, dir)?;
    if found == Found::Nothing {
        vfs.create_dir(dir)
            .map_err(|e| Error::io("create", dir, e))?;
    }
    let lock_path = dir.join(LOCK);
    let lock = vfs
        .lock(&lock_path)
        .map_err(|e| Error::io("lock", &lock_path, e))?
        .ok_or_else(|| Error::Locked {
            path: dir.to_path_buf(),
        })?;
    if !lock
        .is_current()
        .map_err(|e| Error::io("look at", &lock_path, e))?
    {
        // Removed between the opening of the file and its locking: by whoever has
        // made, or is making, another store there.
        return Err(Error::Locked {
            path: dir.to_path_buf(),
        });
    }
    // Again, now that nobody else can be creating it.
    let exists = survey(&*vfs, dir)? == Found::Store;
    if exists && fresh {
        return Err(Error::AlreadyExists {
            path: dir.to_path_buf(),
        });
    }
    let mut manifest = match Manifest::load(&*vfs, dir)? {
        Some(manifest) => manifest,
        None => {
            // Also if the directory was there: whoever made it may have died before
            // its name was durable.
            sync_parents(&*vfs, dir)?;
            create(dir, &options)?
        }
    };
    let canon = check_fixed(dir, &manifest, &options)?;
    if exists && manifest.next_number == 1 {
        // No file was made since the creation. If that could not sync the names, no later
        // sync does, and a log must not be durable before its manifest is.
        manifest.counts.get_or_insert_default();
        save(&*vfs, dir, &manifest)?;
    }
    let names = unnamed(&*vfs, dir, &manifest)?;
    let leftovers = judge(&*vfs, dir, &manifest, names)?;

    let opening = Opening {
        dir,
        options: &options,
        manifest: &manifest,
        known: &[],
        misses: 0,
        memtables: memtables_of(&options),
    };
    let runs = opening.open().map_err(missing)?;
    manifest.counts = Some(counts(&manifest, &runs));
    let recovered = recover(&*vfs, dir, &mut manifest)?;
    // Not before all that the manifest names was found good: what is beside it may be of
    // use to a person if not.
    let taken = remove(&*vfs, dir, &manifest, leftovers)?;
    let expiry = options.expiry.applied_to(manifest.expiry);
    let filters = options.filters(manifest.filters);
    let is_other = (filters.kind, filters.rate) != (manifest.filters.kind, manifest.filters.rate);
    let codec = options.codec.unwrap_or(manifest.codec);
    let has_changed = expiry != manifest.expiry || is_other || codec != manifest.codec;
    manifest.expiry = expiry;
    // Another memory alone is told when the manifest is next saved: who takes turns with
    // others that were given more or less should not write it each time.
    manifest.filters = filters;
    manifest.codec = codec;
    if has_changed {
        save(&*vfs, dir, &manifest)?;
    }
    let next_sequence = recovered.next_sequence;
    let (active, appender) =
        Memtable::new(options.memtable_size()).map_err(|e| Error::io("get memory for", dir, e))?;
    let core = Core {
        dir: dir.to_path_buf(),
        canon,
        store: manifest.store,
        stamps: manifest.stamps,
        seed: manifest.seed,
        recovery: recovered.recovery,
        counters: Counters::default(),
        view: ArcSwap::from_pointee(View {
            rotation: 0,
            active,
            frozen: recovered.frozen,
            runs,
            counts: manifest.counts.unwrap_or_default(),
            expiry: manifest.expiry,
            filters: manifest.filters,
            codec: manifest.codec,
        }),
        latest: AtomicU64::new(0),
        #[cfg(feature = "tracing")]
        warned: std::sync::atomic::AtomicU8::new(0),
        mode: Mode::Write(Box::new(Writer {
            lock: Mutex::new(Some(lock)),
            commit: Mutex::new(Commit {
                appender,
                log: None,
                rotation: 0,
                next_sequence,
                first_sequence: next_sequence,
                position: recovered.position,
                hidden: 0,
                token: Token {
                    epoch: manifest.epoch,
                    counter: 0,
                },
                expiring: Vec::new(),
            }),
            syncer: Syncer::new(next_sequence - 1, recovered.position),
            has_epoch: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            live: Mutex::new(Live {
                manifest,
                taken,
                closing: false,
                released: false,
                flush: Work::default(),
                merge: Work::default(),
                flush_wanted: false,
                planned: Vec::new(),
                plans: 0,
            }),
            changed: Condvar::new(),
            last_sync: Mutex::new(options.env.clock.elapsed()),
            flushing: Mutex::new(()),
            merging: Mutex::new(Vec::new()),
            draining: AtomicUsize::new(0),
        })),
        options,
    };
    core.watch();
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
    let mut core = Core {
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
            counts: Counts::default(),
            expiry: manifest.expiry,
            filters: manifest.filters,
            codec: manifest.codec,
        }),
        latest: AtomicU64::new(0),
        #[cfg(feature = "tracing")]
        warned: std::sync::atomic::AtomicU8::new(0),
        mode: Mode::Read(Reader::default()),
        options,
    };
    core.recovery = core.refresh(true)?;
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
        counts: Some(Counts::default()),
        epoch: 0,
        expiry: options.expiry.applied_to(Expiry::default()),
        filters: options.filters(FilterChoice::default()),
        codec: options.codec.unwrap_or_default(),
    };
    save(&*env.vfs, dir, &manifest)?;
    Ok(manifest)
}

/// Keys by state in runs. In version 1 every entry is a key that was seen.
pub(super) fn counts(manifest: &Manifest, runs: &[Arc<Run>]) -> Counts {
    manifest.counts.unwrap_or_else(|| {
        let segments = runs.iter().flat_map(|run| &run.segments);
        Counts([segments.map(|segment| segment.meta().keys).sum(), 0, 0, 0])
    })
}

/// Puts a manifest in force that nobody else can change.
fn save(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest) -> Result<()> {
    let saved = manifest.save(vfs, dir);
    saved.map_err(manifest::SaveError::into_error)
}

/// Compares what is fixed at creation with what was asked for; the store's policy.
pub(super) fn check_fixed(dir: &Path, manifest: &Manifest, options: &Options) -> Result<Canon> {
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
    check_expiry(dir, manifest.stamps, options)?;
    Ok(canon)
}

/// Refuses ages without the times that they count from.
fn check_expiry(dir: &Path, stamps: bool, options: &Options) -> Result<()> {
    if stamps || options.expiry.applied_to(Expiry::default()).is_never() {
        return Ok(());
    }
    Err(Error::StampsOff {
        path: dir.to_path_buf(),
        what: "expiry",
    })
}

/// Removes files of the store's own that the manifest does not name: what a flush, a merge,
/// a repair or a change of manifest left when it was interrupted. The numbers of files
/// that stay, because they are none of the store's whatever their names say: somebody
/// else's, or what a power loss made of a file that was being created.
fn remove(
    vfs: &dyn Vfs,
    dir: &Path,
    manifest: &Manifest,
    leftovers: Vec<(String, Unnamed)>,
) -> Result<BTreeSet<u64>> {
    let is_there = |name: &str| {
        let path = dir.join(name);
        let looked = vfs.kind(&path);
        let kind = looked.map_err(|e| Error::io("look at", &path, e))?;
        Ok(kind.is_some().then(|| name.to_string()))
    };
    let these = |which| {
        let those = leftovers.iter().filter(move |(_, one)| *one == which);
        those.map(|(name, _)| name.clone())
    };
    // What no manifest ever named goes first: there may be no room before.
    let temporary = is_there(manifest::TEMPORARY)?;
    remove_all(vfs, dir, these(Unnamed::Unfinished).chain(temporary))?;
    // The manifest that was read may not be durable: whoever renamed it may have died
    // before the names were synced, or failed to sync them, and then no later sync does.
    // What it replaced must stay until it surely is.
    let mut superseded = these(Unnamed::Superseded)
        .chain(is_there(UNFINISHED)?)
        .peekable();
    if superseded.peek().is_some() {
        save(vfs, dir, manifest)?;
    }
    remove_all(vfs, dir, superseded)?;
    let live: Vec<String> = live_files(manifest).collect();
    let mut left = vfs.list(dir).map_err(|e| Error::io("list", dir, e))?;
    left.retain(|name| !live.contains(name));
    let numbers = left.iter().filter_map(|name| numbered(name));
    Ok(numbers.map(|(number, _)| number).collect())
}

fn remove_all(vfs: &dyn Vfs, dir: &Path, names: impl Iterator<Item = String>) -> Result<()> {
    for name in names {
        let path = dir.join(name);
        match vfs.remove(&path) {
            Ok(()) => {}
            // Somebody else tidied up.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io("remove", &path, e)),
        }
    }
    Ok(())
}
