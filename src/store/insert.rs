//! Inserts of keys that were not found: the batch that most calls make.

use super::commit::{Changes, Commit, Frame, Staged};
use crate::error::Result;
use crate::memtable::{Mark, Place};
use crate::record::{Expiry, StateKind, Stored, plain, write};

/// Keys to be inserted. `new[i]` says on the way in whether item `i` was not found in the
/// view, and on the way out whether it was inserted.
pub(super) struct Inserts<'a> {
    pub(super) hashes: &'a [u64],
    pub(super) key: &'a dyn Fn(usize) -> &'a [u8],
    pub(super) new: &'a mut [bool],
    pub(super) frame: Frame,
    pub(super) expiry: Expiry,
}

impl Changes for Inserts<'_> {
    #[inline]
    fn frame(&self) -> Frame {
        self.frame
    }

    #[inline]
    fn stage(&mut self, commit: &mut Commit, batch: Mark) -> Result<Staged> {
        let bytes = self.frame.seconds.map(plain);
        let record = bytes.as_ref().map_or(&[][..], |bytes| bytes);
        for (place, (&hash, new)) in self.hashes.iter().zip(self.new.iter_mut()).enumerate() {
            if !*new {
                continue;
            }
            let key = (self.key)(place);
            let (slot, replaces) = match commit.appender.find(hash, key, batch) {
                Place::Free(slot) => {
                    commit.appender.append(hash, slot, key, record);
                    continue;
                }
                Place::Taken(slot, entry) => {
                    let stored = entry.stored();
                    let now = self.frame.seconds.unwrap_or(0);
                    if self.expiry.is_live(&stored, || now) {
                        *new = false;
                        continue;
                    }
                    (slot, stored.kind())
                }
                Place::Hidden(entry) => {
                    let now = self.frame.seconds.unwrap_or(0);
                    if !self.expiry.is_live(&entry.stored(), || now) {
                        return Ok(Staged::Blocked);
                    }
                    // The answer waits until what it rests on is visible.
                    *new = false;
                    continue;
                }
            };
            replace(commit, (hash, slot), key, self.frame.seconds, replaces);
        }
        Ok(Staged::Ready)
    }
}

#[cold]
fn replace(
    commit: &mut Commit,
    (hash, slot): (u64, usize),
    key: &[u8],
    seconds: Option<u64>,
    replaces: Option<StateKind>,
) {
    let mut record = Vec::new();
    write(&Stored::Seen(seconds), replaces, &mut record);
    commit.appender.replace(hash, slot, key, &record);
}
