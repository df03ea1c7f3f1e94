//! Lookups and inserts, one at a time and many at once.

use super::batch::{Batch, Keys, Outcome};
use super::commit::Candidates;
use super::core::Core;
use super::view::{View, count};
use crate::canon::ToKey;
use crate::error::{Error, Result};
use crate::memtable::entry_size;
use crate::record::{Record, millis_of};
use crate::segment::{Located, Segment};
use crate::stats::LookupStats;

/// Lookups whose memory accesses are under way at the same time.
const GROUP: usize = 32;
/// Items that `extend` applies at a time.
const CHUNK: usize = 1000;

impl Core {
    pub(super) fn get(&self, url: &impl ToKey) -> Result<Option<Record>> {
        let key = url.to_key(&self.canon).map_err(Error::invalid)?;
        let mut work = LookupStats::default();
        let found = self.view.load().find(self.hash(&key), &key, &mut work);
        self.counters.add(&work);
        found
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
            if found?.is_some() {
                return Ok(false);
            }
            let mut new = [true];
            let mut batch = Candidates {
                hashes: &hashes,
                key: &|_| key,
                new: &mut new,
                size: entry_size(key.len()),
                millis: self.stamp(None),
                position: None,
                immediate: false,
            };
            if self.commit(view.rotation, &mut batch)? {
                return Ok(new[0]);
            }
        }
    }

    pub(super) fn get_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<Option<Record>>> {
        let mut found = Vec::with_capacity(urls.len());
        let mut keys = Keys::default();
        // In pieces, so that keys take bounded memory however many there are.
        for (piece, urls) in urls.chunks(CHUNK).enumerate() {
            keys.clear();
            for (place, url) in urls.iter().enumerate() {
                keys.push(url, &self.canon)
                    .map_err(|e| e.at(piece * CHUNK + place))?;
            }
            let hashes = self.hashes(&keys);
            self.find_many(&self.view.load(), &keys, &hashes, |record| {
                found.push(record);
            })?;
        }
        Ok(found)
    }

    pub(super) fn insert_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<bool>> {
        self.writer()?;
        let mut keys = Keys::default();
        for (place, url) in urls.iter().enumerate() {
            keys.push(url, &self.canon).map_err(|e| e.at(place))?;
            self.check_size(&keys)?;
        }
        self.insert_keys(&keys, None, None, false)
    }

    pub(super) fn apply(&self, batch: &Batch) -> Result<Outcome> {
        self.writer()?;
        let keys = batch.keys(&self.canon)?;
        self.check_size(&keys)?;
        let new = self.insert_keys(
            &keys,
            batch.time().map(millis_of),
            batch.wanted_position(),
            batch.is_immediate(),
        )?;
        Ok(Outcome { new })
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
        let new = self.insert_keys(keys, None, None, false)?;
        keys.clear();
        Ok(new.into_iter().filter(|&new| new).count() as u64)
    }

    fn check_size(&self, keys: &Keys) -> Result<()> {
        let limit = self.options.batch_limit();
        if keys.size() <= limit {
            return Ok(());
        }
        Err(Error::BatchTooLarge {
            bytes: keys.size() as u64,
            limit: limit as u64,
        })
    }

    fn insert_keys(
        &self,
        keys: &Keys,
        millis: Option<u64>,
        position: Option<u64>,
        immediate: bool,
    ) -> Result<Vec<bool>> {
        let writer = self.writer()?;
        let hashes = self.hashes(keys);
        let mut new = Vec::with_capacity(keys.len());
        loop {
            self.check_writable(writer)?;
            let view = self.view.load();
            new.clear();
            self.find_many(&view, keys, &hashes, |record| new.push(record.is_none()))?;
            // As for one: what is known needs no room, and is answered on a full disk.
            if position.is_none() && !immediate && !new.contains(&true) {
                return Ok(new);
            }
            let mut batch = Candidates {
                hashes: &hashes,
                key: &|place| keys.get(place),
                new: &mut new,
                size: keys.size(),
                millis: self.stamp(millis),
                position,
                immediate,
            };
            if self.commit(view.rotation, &mut batch)? {
                return Ok(new);
            }
        }
    }

    fn hashes(&self, keys: &Keys) -> Vec<u64> {
        (0..keys.len()).map(|i| self.hash(keys.get(i))).collect()
    }

    /// The time that new entries carry, if the store keeps one.
    fn stamp(&self, given: Option<u64>) -> Option<u64> {
        self.stamps
            .then(|| given.unwrap_or_else(|| self.options.env.now_millis()))
    }

    /// Looks all keys up, and gives each answer in order.
    fn find_many(
        &self,
        view: &View,
        keys: &Keys,
        hashes: &[u64],
        mut each: impl FnMut(Option<Record>),
    ) -> Result<()> {
        let mut work = LookupStats::default();
        let mut outcome = Ok(());
        let mut first = 0;
        for group in hashes.chunks(GROUP) {
            let mut found = [None; GROUP];
            outcome = find_group(
                view,
                group,
                &|place| keys.get(first + place),
                &mut found,
                &mut work,
            );
            if outcome.is_err() {
                break;
            }
            found
                .iter()
                .take(group.len())
                .for_each(|&record| each(record));
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
    found: &mut [Option<Record>; GROUP],
    work: &mut LookupStats,
) -> Result<()> {
    for &hash in hashes {
        for memtable in view.memtables() {
            memtable.prefetch(hash);
        }
        view.prefetch_filters(hash);
    }
    for &hash in hashes {
        for memtable in view.memtables() {
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
            *found = view.find_in_runs(run + 1, hash, key(place), work)?;
        }
    }
    Ok(())
}
