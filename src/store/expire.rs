//! Records that expired leave the store with merges, and so does their count.
//!
//! A key counts until a merge has left its expired record out, and then only if no newer
//! version of it exists. A merge takes long, and meanwhile keys come back. So that the
//! count is exact at any moment, each piece of a merge is *settled* under the commit lock:
//! what expired in it and has no newer version is counted, up to a key, the frontier. Who
//! inserts over a record below the frontier later says so ([`Core::revive`]). When the
//! merge is published, the count falls by the difference, in one step with the manifest.
//!
//! When such a merge begins, and when it is published, the view's rotation changes, so that
//! decisions that rest on an older view are made again. So who inserts over an expired
//! record knows that it lies in a run that is being merged, by a time that is not before
//! the merge's.

use super::commit::Commit;
use super::core::{Core, Writer, lock};
use super::view::{Run, View};
use crate::compact::{Expired, Purge};
use crate::error::Result;
use crate::record::{Counts, Expiry, Stored};
use crate::stats::LookupStats;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of entries that are gone through under the commit lock at most, or nearly so.
const LITTLE: usize = 64 << 10;

/// What a merge in progress has left out.
#[derive(Debug)]
pub(super) struct Expiring {
    inputs: Vec<Arc<Run>>,
    expiry: Expiry,
    now: u64,
    /// Up to this key, what expired was counted.
    frontier: Vec<u8>,
    /// Keys that will go, by state.
    gone: Counts,
}

impl Core {
    /// Counts what expired in a piece of a merge of `inputs`.
    pub(super) fn settle_piece(
        &self,
        writer: &Writer,
        inputs: &[Arc<Run>],
        purge: &Purge,
        expired: Vec<Expired>,
    ) -> Result<()> {
        let Some(frontier) = expired.last().map(|last| last.key.clone()) else {
            return Ok(());
        };
        let mut candidates: HashMap<_, _> =
            expired.into_iter().map(|one| (one.key, one.kind)).collect();
        loop {
            let view = self.view.load_full();
            let mut shown = view.active.bytes();
            let mut failed = None;
            candidates.retain(|key, _| match self.has_newer(&view, inputs, key) {
                Ok(newer) => !newer,
                Err(error) => {
                    failed = Some(error);
                    true
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            // What came meanwhile, until little of it is left for the time under the lock.
            loop {
                let now = view.active.bytes();
                if now - shown <= LITTLE {
                    break;
                }
                view.active.between(shown, now, |entry| {
                    candidates.remove(entry.key);
                });
                shown = now;
            }
            let mut commit = lock(&writer.commit);
            if commit.rotation != view.rotation {
                continue;
            }
            for entry in commit.appender.since_bytes(shown) {
                candidates.remove(entry.key);
            }
            let place = commit.expiring.iter().position(|one| one.is_of(inputs));
            let place = place.unwrap_or_else(|| {
                commit.expiring.push(Expiring {
                    inputs: inputs.to_vec(),
                    expiry: purge.expiry,
                    now: purge.now,
                    frontier: Vec::new(),
                    gone: Counts::default(),
                });
                commit.expiring.len() - 1
            });
            if let Some(expiring) = commit.expiring.get_mut(place) {
                expiring.frontier = frontier;
                candidates
                    .values()
                    .for_each(|&kind| expiring.gone.add(kind));
            }
            return Ok(());
        }
    }

    /// Whether the view has a version of a key that is newer than those of `inputs`.
    fn has_newer(&self, view: &View, inputs: &[Arc<Run>], key: &[u8]) -> Result<bool> {
        let hash = self.hash(key);
        if view.find_in_memory(hash, key).is_some() {
            return Ok(true);
        }
        let is_input = |run: &Arc<Run>| inputs.iter().any(|input| Arc::ptr_eq(input, run));
        let newer = view.runs.iter().take_while(|run| !is_input(run)).count();
        let mut work = LookupStats::default();
        let mut from = 0;
        while let Some((place, segment)) = view.next_maybe(from, hash, key, &mut work) {
            if place >= newer {
                break;
            }
            if segment.find(key)?.record.is_some() {
                return Ok(true);
            }
            from = place + 1;
        }
        Ok(false)
    }

    /// Notes that a record took the place of one that had expired and lies in `run`: if
    /// that was counted as gone, its key is not.
    pub(super) fn revive(&self, commit: &mut Commit, run: &Arc<Run>, key: &[u8], was: &Stored) {
        for expiring in &mut commit.expiring {
            let counted = expiring.inputs.iter().any(|input| Arc::ptr_eq(input, run))
                && key <= expiring.frontier.as_slice()
                && expiring.expiry.has_expired(was, expiring.now);
            if counted {
                expiring.gone.moved(was.kind(), None);
            }
        }
    }

    /// Makes decisions that rest on an older view be made again. The caller holds the lock
    /// that guards the view, too.
    pub(super) fn turn(&self, commit: &mut Commit) {
        commit.rotation += 1;
        let rotation = commit.rotation;
        self.change_view(|view| View {
            rotation,
            ..view.clone()
        });
    }
}

impl Expiring {
    /// Whether it is the merge of `inputs`.
    fn is_of(&self, inputs: &[Arc<Run>]) -> bool {
        let (first, other) = (self.inputs.first(), inputs.first());
        matches!((first, other), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }
}

impl Commit {
    /// Whether the merge of `inputs` has left out anything.
    pub(super) fn has_expiring(&self, inputs: &[Arc<Run>]) -> bool {
        self.expiring.iter().any(|one| one.is_of(inputs))
    }

    /// Takes what the merge of `inputs` has left out; `None` if nothing.
    pub(super) fn take_expiring(&mut self, inputs: &[Arc<Run>]) -> Option<Counts> {
        let place = self.expiring.iter().position(|one| one.is_of(inputs))?;
        Some(self.expiring.swap_remove(place).gone)
    }
}
