//! Lookups and inserts, one at a time and many at once.

use super::Seen;
use super::batch::{Applied, Batch, Keys};
use super::commit::Frame;
use super::core::Core;
use super::decide::{Answer, Op};
use super::insert::Inserts;
use super::transaction::Manner;
use super::view::{View, bit_of, count};
use crate::canon::ToKey;
use crate::error::{Error, Result};
use crate::memtable::entry_size;
use crate::record::{Record, Stored, seconds_of};
use crate::segment::{Located, Segment};
use crate::stats::LookupStats;
use std::borrow::Cow;

/// Lookups whose memory accesses are under way at the same time.
const GROUP: usize = 32;
/// Items that `extend` applies at a time.
const CHUNK: usize = 1000;

impl Core {
    pub(super) fn get(&self, url: &impl ToKey) -> Result<Option<Record>> {
        Ok(self.find_live(url)?.and_then(Stored::record))
    }

    pub(super) fn contains(&self, url: &impl ToKey) -> Result<bool> {
        Ok(self.find_live(url)?.is_some())
    }

    /// What is stored for a URL, if it counts.
    #[inline]
    fn find_live(&self, url: &impl ToKey) -> Result<Option<Stored>> {
        let key = url.to_key(&self.canon).map_err(Error::invalid)?;
        let mut work = LookupStats::default();
        let view = self.view.load();
        let found = view.find(self.hash(&key), &key, &mut work);
        self.counters.add(&work);
        match found {
            Ok(Some(stored)) => Ok(self.live(&view, stored)),
            other => other,
        }
    }

    /// What was found, if it counts.
    #[inline]
    fn live(&self, view: &View, stored: Stored) -> Option<Stored> {
        let is_live = view.expiry.is_live(&stored, || self.now());
        is_live.then_some(stored)
    }

    pub(super) fn insert(&self, url: &impl ToKey) -> Result<bool> {
        let writer = self.writer()?;
        let key = url.to_key(&self.canon).map_err(Error::invalid)?;
        let key = key.as_ref();
        let hashes = [self.hash(key)];
        loop {
            self.check_writable(writer)?;
            let mut work = LookupStats::default();
            let view = self.view.load();
            let found = view.find(hashes[0], key, &mut work);
            self.counters.add(&work);
            if let Some(stored) = found? {
                if view.expiry.is_live(&stored, || self.now()) {
                    return Ok(false);
                }
                return self.insert_over(key);
            }
            let mut new = [true];
            let mut batch = Inserts {
                hashes: &hashes,
                key: &|_| key,
                new: &mut new,
                frame: Frame {
                    count: 1,
                    size: entry_size(key.len()),
                    seconds: self.stamp(None),
                    position: None,
                    immediate: false,
                },
                expiry: view.expiry,
            };
            if self.commit(view.rotation, &mut batch)? {
                return Ok(new[0]);
            }
        }
    }

    /// Inserts a key that was there once.
    #[cold]
    fn insert_over(&self, key: &[u8]) -> Result<bool> {
        let mut keys = Keys::default();
        keys.push_key(key, 0);
        let answers = self.transact(&keys, &[Op::Insert], Manner::default())?;
        Ok(answers == [Answer::Inserted(true)])
    }

    pub(super) fn get_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<Option<Record>>> {
        let mut found = Vec::with_capacity(urls.len());
        let mut keys: Vec<Cow<'_, [u8]>> = Vec::with_capacity(urls.len().min(CHUNK));
        let mut hashes = Vec::with_capacity(urls.len().min(CHUNK));
        // In pieces, so that keys take bounded memory however many there are.
        for (piece, urls) in urls.chunks(CHUNK).enumerate() {
            keys.clear();
            hashes.clear();
            for (place, url) in urls.iter().enumerate() {
                let key = url.to_key(&self.canon).map_err(Error::invalid);
                let key = key.map_err(|e| e.at(piece * CHUNK + place))?;
                hashes.push(self.hash(&key));
                keys.push(key);
            }
            let view = self.view.load();
            let key = |place: usize| keys.get(place).map_or(&[][..], |key| key);
            self.find_many(&view, &key, &hashes, |stored| {
                let live = stored.and_then(|stored| self.live(&view, stored));
                found.push(live.and_then(Stored::record));
            })?;
        }
        Ok(found)
    }

    pub(super) fn insert_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<bool>> {
        self.writer()?;
        let mut keys = Keys::with_capacity(urls.len().min(CHUNK));
        for (place, url) in urls.iter().enumerate() {
            keys.push(url, &self.canon).map_err(|e| e.at(place))?;
            self.check_size(&keys)?;
        }
        self.insert_keys(&keys, Manner::default())
    }

    pub(super) fn apply(&self, seen: &Seen, batch: &Batch) -> Result<Applied> {
        self.writer()?;
        let keys = batch.keys(&self.canon)?;
        self.check_size(&keys)?;
        let manner = Manner {
            at: batch.time().map(seconds_of),
            position: batch.wanted_position(),
            immediate: batch.is_immediate(),
        };
        let Some(ops) = batch.ops() else {
            let new = self.insert_keys(&keys, manner)?;
            return Ok(Applied {
                new,
                claims: Vec::new(),
            });
        };
        self.check_stamps(&ops)?;
        if batch.has_lease_of_another(self.store) {
            return Err(Error::LeaseLost {
                url: String::new(),
                token: String::new(),
                found: "it is a claim in another store".into(),
            });
        }
        let answers = self.transact(&keys, &ops, manner)?;
        Ok(Applied::from_answers(seen, &keys, answers))
    }

    pub(super) fn extend<I>(&self, urls: I) -> Result<u64>
    where
        I: IntoIterator,
        I::Item: ToKey,
    {
        self.writer()?;
        let limit = self.options.batch_limit();
        let mut keys = Keys::default();
        let mut added = 0;
        for (place, url) in urls.into_iter().enumerate() {
            keys.push(&url, &self.canon).map_err(|e| e.at(place))?;
            // The next key may be as long as any.
            if keys.len() == CHUNK || keys.size() + entry_size(crate::canon::MAX_KEY) > limit {
                added += self.insert_chunk(&mut keys)?;
            }
        }
        added += self.insert_chunk(&mut keys)?;
        Ok(added)
    }

    fn insert_chunk(&self, keys: &mut Keys) -> Result<u64> {
        let new = self.insert_keys(keys, Manner::default())?;
        keys.clear();
        Ok(new.into_iter().filter(|&new| new).count() as u64)
    }

    pub(super) fn check_size(&self, keys: &Keys) -> Result<()> {
        let limit = self.options.batch_limit();
        if keys.size() <= limit {
            return Ok(());
        }
        Err(Error::BatchTooLarge {
            bytes: keys.size() as u64,
            limit: limit as u64,
        })
    }

    fn insert_keys(&self, keys: &Keys, manner: Manner) -> Result<Vec<bool>> {
        let writer = self.writer()?;
        let hashes = self.hashes(keys);
        let mut new = Vec::with_capacity(keys.len());
        loop {
            self.check_writable(writer)?;
            let view = self.view.load();
            let seconds = self.stamp(manner.at);
            new.clear();
            let mut was_there = false;
            self.find_many(&view, &|place| keys.get(place), &hashes, |found| {
                new.push(found.is_none_or(|stored| {
                    let live = view.expiry.is_live(&stored, || seconds.unwrap_or(0));
                    was_there |= !live;
                    !live
                }));
            })?;
            if was_there {
                let ops = vec![Op::Insert; keys.len()];
                let answers = self.transact(keys, &ops, manner)?;
                let is_new = |answer| answer == Answer::Inserted(true);
                return Ok(answers.into_iter().map(is_new).collect());
            }
            // As for one: what is known needs no room, and is answered on a full disk.
            if manner.position.is_none() && !manner.immediate && !new.contains(&true) {
                return Ok(new);
            }
            let mut batch = Inserts {
                hashes: &hashes,
                key: &|place| keys.get(place),
                new: &mut new,
                frame: Frame {
                    count: keys.len(),
                    size: keys.size(),
                    seconds,
                    position: manner.position,
                    immediate: manner.immediate,
                },
                expiry: view.expiry,
            };
            if self.commit(view.rotation, &mut batch)? {
                return Ok(new);
            }
        }
    }

    pub(super) fn hashes(&self, keys: &Keys) -> Vec<u64> {
        (0..keys.len()).map(|i| self.hash(keys.get(i))).collect()
    }

    /// The time that new entries carry, if the store keeps one.
    #[inline]
    fn stamp(&self, given: Option<u64>) -> Option<u64> {
        self.stamps.then(|| given.unwrap_or_else(|| self.now()))
    }

    /// Looks all keys up, and gives each answer in order.
    pub(super) fn find_many<'a>(
        &self,
        view: &View,
        key: &dyn Fn(usize) -> &'a [u8],
        hashes: &[u64],
        mut each: impl FnMut(Option<Stored>),
    ) -> Result<()> {
        let mut work = LookupStats::default();
        let mut outcome = Ok(());
        let mut first = 0;
        for group in hashes.chunks(GROUP) {
            let mut found = [const { None }; GROUP];
            outcome = find_group(
                view,
                group,
                &|place| key(first + place),
                &mut found,
                &mut work,
            );
            if outcome.is_err() {
                break;
            }
            found.into_iter().take(group.len()).for_each(&mut each);
            first += group.len();
        }
        self.counters.add(&work);
        outcome
    }
}

/// Looks a group of keys up in stages, so that the memory accesses of each stage
/// overlap: slots and filter lines, entries, blocks.
fn find_group<'a>(
    view: &View,
    hashes: &[u64],
    key: &dyn Fn(usize) -> &'a [u8],
    found: &mut [Option<Stored>; GROUP],
    work: &mut LookupStats,
) -> Result<()> {
    for &hash in hashes {
        view.prefetch_filters(hash);
    }
    // Slots of a memtable without entries have no memory yet, and asking for them would
    // look for it each time.
    for memtable in view.memtables().filter(|memtable| !memtable.is_empty()) {
        for &hash in hashes {
            memtable.prefetch(hash);
        }
        for &hash in hashes {
            memtable.prefetch_entry(hash);
        }
    }
    // Blocks asked for: whose, in which run, and where.
    let mut asked: [Option<(usize, &Segment, Located)>; GROUP] = [None; GROUP];
    for ((place, &hash), (found, asked)) in hashes
        .iter()
        .enumerate()
        .zip(found.iter_mut().zip(&mut asked))
    {
        work.lookups += 1;
        *found = view.find_in_memory(hash, key(place));
        if found.is_some() {
            work.hits += 1;
            work.memtable_hits += 1;
        } else if let Some((run, segment)) = view.next_maybe(0, hash, key(place), work)
            && let Some(located) = segment.locate(key(place))?
        {
            *asked = Some((run, segment, located));
        }
    }
    for ((place, &hash), (found, asked)) in
        hashes.iter().enumerate().zip(found.iter_mut().zip(asked))
    {
        let Some((run, segment, located)) = asked else {
            continue;
        };
        *found = count(segment.find_at(located, key(place))?, work);
        if found.is_none() {
            // A false positive is rare: the rest goes one by one.
            *found = view.find_in_runs(run + 1, bit_of(run), hash, key(place), work)?;
        }
    }
    Ok(())
}
