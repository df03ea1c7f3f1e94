//! A read-only handle: a view that is brought up to date on demand.
//!
//! A reader writes nothing and takes no lock, so that the files it reads about in
//! the manifest can be gone when it opens them: then it reads the manifest again.
//! What it has opened it holds, so that its view stays whole.

use super::checks::check_log;
use super::core::{Core, Mode, Recovery, lock};
use super::open::counts;
use super::replay::Replayed;
use super::runs::Opening;
use super::unnamed::{check_unnamed, unnamed};
use super::view::{Frozen, View};
use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::memtable::Memtable;
use crate::sync::Mutex;
use std::sync::Arc;

/// How often the manifest is read again when a file that it named is gone. Each
/// time means that a whole flush or merge came in between.
const TRIES: usize = 100;

/// What a reader keeps to read on from.
#[derive(Debug, Default)]
pub(super) struct Reader {
    state: Mutex<ReaderState>,
}

#[derive(Debug, Default)]
pub(super) struct ReaderState {
    /// The live logs, oldest first.
    logs: Vec<Replayed>,
    /// The last position, in segments or logs.
    position: Option<u64>,
    /// The last position in segments.
    durable: Option<u64>,
}

impl Core {
    /// Brings a reader's view up to date: everything acknowledged before this call
    /// began is in it afterwards. Nothing to do for a writer.
    pub(super) fn refresh(&self, thorough: bool) -> Result<Recovery> {
        let Mode::Read(reader) = &self.mode else {
            return Ok(Recovery::default());
        };
        let mut state = lock(&reader.state);
        let vfs = &*self.options.env.vfs;
        let mut gone = None;
        for _ in 0..TRIES {
            let manifest = Manifest::load(vfs, &self.dir)?
                .ok_or_else(|| super::place::no_manifest(&self.dir))?;
            if manifest.store != self.store {
                return Err(Error::corrupt(
                    &self.dir.join(crate::manifest::FILE_NAME),
                    16,
                    format!("the store {:?} that was opened", self.store),
                    format!("the store {:?}", manifest.store),
                ));
            }
            let refreshed = self
                .refresh_from(&manifest, &mut state, thorough)
                .and_then(|found| {
                    if thorough && found.is_some() {
                        let names = unnamed(vfs, &self.dir, &manifest)?;
                        check_unnamed(vfs, &self.dir, &manifest, &names)?;
                    }
                    Ok(found)
                });
            match refreshed {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) if error.is_not_found() || is_about_manifest(&error) => {
                    // The same manifest twice: it is not merely replaced.
                    if gone.as_ref() == Some(&manifest) {
                        return Err(super::place::missing(error));
                    }
                    gone = Some(manifest);
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::corrupt(
            &self.dir.join(crate::manifest::FILE_NAME),
            0,
            "a manifest whose files exist",
            format!("files missing in {TRIES} manifests in a row"),
        ))
    }

    /// Whether the manifest in force counts otherwise than one whose records expire.
    fn has_other_counts(&self, manifest: &Manifest) -> Result<bool> {
        if manifest.expiry.is_never() {
            return Ok(false);
        }
        let now = Manifest::load(&*self.options.env.vfs, &self.dir)?;
        Ok(now.is_some_and(|now| now.counts != manifest.counts || now.runs != manifest.runs))
    }

    /// Reads what a manifest names, then shows it. `None`, and nothing is shown, if another
    /// one has taken its place that counts otherwise.
    fn refresh_from(
        &self,
        manifest: &Manifest,
        state: &mut ReaderState,
        thorough: bool,
    ) -> Result<Option<Recovery>> {
        let vfs = &*self.options.env.vfs;
        let view = self.view.load();
        let opening = Opening {
            dir: &self.dir,
            options: &self.options,
            manifest,
            known: &view.runs,
            misses: self.counters.sum().misses(),
            memtables: 0,
        };
        let runs = opening.open()?;
        // Everything that can be missing is opened before anything is read.
        for log in &manifest.logs {
            if state
                .logs
                .iter()
                .all(|known| known.reader().number() != log.number)
            {
                let opened = Replayed::open(vfs, &self.dir, manifest, log)?;
                state.logs.push(opened);
            }
        }
        state.logs.retain(|known| {
            manifest
                .logs
                .iter()
                .any(|log| log.number == known.reader().number())
        });
        state.logs.sort_by_key(|log| log.reader().first_sequence());
        // All are read before anything is shown: a failure changes no answer.
        let mut found = Recovery::default();
        let mut next = manifest.sequence;
        for (place, log) in manifest.logs.iter().enumerate() {
            check_log(&self.dir, log, next, place + 1 == manifest.logs.len())?;
            let mut known = state.logs.iter_mut();
            let Some(replayed) = known.find(|known| known.reader().number() == log.number) else {
                continue;
            };
            let tail = match replayed.read(log.length, thorough) {
                Ok(tail) => tail,
                Err(error) => {
                    // It may have a part of a batch: the next refresh begins it again.
                    state
                        .logs
                        .retain(|known| known.reader().number() != log.number);
                    return Err(error);
                }
            };
            replayed.sync_if_immediate()?;
            next = replayed.reader().next_sequence();
            found.add(replayed, tail);
        }
        // What expired may have left the count meanwhile, and come back in a log.
        if self.has_other_counts(manifest)? {
            return Ok(None);
        }
        let mut frozen = Vec::new();
        let mut position = manifest.position;
        for replayed in &state.logs {
            replayed.publish();
            position = replayed.position().or(position);
            frozen.push(Arc::new(Frozen {
                memtable: replayed.memtable().clone(),
                log: replayed.reader().number(),
                sequences: (
                    replayed.reader().first_sequence(),
                    replayed.reader().next_sequence().saturating_sub(1),
                ),
                position: replayed.position(),
            }));
        }
        frozen.reverse();
        state.position = position;
        state.durable = manifest.position;
        let counts = counts(manifest, &runs);
        self.change_view(|view| View {
            frozen,
            runs,
            counts,
            expiry: manifest.expiry,
            filters: manifest.filters,
            codec: manifest.codec,
            ..view.clone()
        });
        Ok(Some(found))
    }

    /// The last position that a reader knows of.
    pub(super) fn reader_position(reader: &Reader) -> Option<u64> {
        lock(&reader.state).position
    }

    /// The last position that a reader knows to be durable.
    pub(super) fn reader_durable_position(reader: &Reader) -> Option<u64> {
        lock(&reader.state).durable
    }
}

impl Reader {
    /// Runs `f` while no refresh changes what memtables show.
    pub(super) fn while_still<T>(&self, f: impl FnOnce() -> T) -> T {
        let _state = lock(&self.state);
        f()
    }

    /// Bytes of the logs that the reader reads.
    pub(super) fn log_bytes(&self) -> u64 {
        lock(&self.state)
            .logs
            .iter()
            .map(|log| log.reader().offset())
            .sum()
    }
}

/// Whether a manifest does not fit the other files: beside a writer, it may have been
/// replaced since it was read.
fn is_about_manifest(error: &Error) -> bool {
    matches!(error, Error::Corrupt(corrupt) if corrupt.path.ends_with(crate::manifest::FILE_NAME))
}

/// An empty memtable, where one is needed and nothing is ever appended.
pub(super) fn empty_memtable() -> std::io::Result<Arc<Memtable>> {
    Memtable::new(4096).map(|(memtable, _)| memtable)
}
