//! Forgetting: a tombstone in the place of what was known.

use super::Seen;
use super::batch::Keys;
use super::core::Core;
use super::decide::{Answer, Op};
use super::query::Query;
use super::transaction::Manner;
use crate::canon::{Key, ToKey};
use crate::error::{Error, Result};
use crate::memtable::entry_size;
use std::borrow::Cow;

/// Keys that one batch forgets.
const CHUNK: usize = 1000;

impl Seen {
    /// Forgets a URL: it is new again, at once. True if it was recorded. What the store
    /// knew of it goes from the disk when runs are merged.
    ///
    /// # Errors
    ///
    /// As [`insert`](Seen::insert); then nothing changed.
    pub fn forget(&self, url: impl ToKey) -> Result<bool> {
        let core = self.core();
        let key = url.to_key(&core.canon).map_err(Error::invalid)?;
        let key = Key::new(Cow::Borrowed(&key));
        Ok(core.apply_one(&key, Op::Forget)? == Answer::Forgotten(true))
    }

    /// Forgets many URLs as one atomic batch. For each, in order, whether it was recorded.
    ///
    /// # Errors
    ///
    /// As [`insert_many`](Seen::insert_many).
    pub fn forget_many<U: ToKey>(&self, urls: &[U]) -> Result<Vec<bool>> {
        let core = self.core();
        core.writer()?;
        let mut keys = Keys::default();
        for (place, url) in urls.iter().enumerate() {
            keys.push(url, &core.canon).map_err(|e| e.at(place))?;
            core.check_size(&keys)?;
        }
        let answers = core.forget_keys(&keys)?;
        Ok(answers
            .into_iter()
            .map(|answer| answer == Answer::Forgotten(true))
            .collect())
    }

    /// Forgets all URLs of a host, whatever their scheme, user and port; how many they
    /// were. `example.com` is not `www.example.com`, and not `example.com.au`.
    ///
    /// It reads all keys. They are forgotten in batches: if the process is killed, or an
    /// error ends it, some are forgotten, and calling it again completes it. A URL that
    /// is first recorded meanwhile may stay.
    ///
    /// # Errors
    ///
    /// As [`scan`](Seen::scan) and [`forget`](Seen::forget).
    pub fn forget_host(&self, host: impl AsRef<[u8]>) -> Result<u64> {
        self.core().forget_all(&Query::new().host(host))
    }

    /// Forgets all keys that begin with `prefix`, as they are written; how many they were.
    /// As [`forget_host`](Seen::forget_host), in batches.
    ///
    /// # Errors
    ///
    /// As [`scan`](Seen::scan) and [`forget`](Seen::forget).
    pub fn forget_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<u64> {
        self.core().forget_all(&Query::new().prefix(prefix))
    }
}

impl Core {
    fn forget_keys(&self, keys: &Keys) -> Result<Vec<Answer>> {
        let ops = vec![Op::Forget; keys.len()];
        self.transact(keys, &ops, Manner::default())
    }

    fn forget_all(&self, query: &Query) -> Result<u64> {
        self.writer()?;
        let limit = self.options.batch_limit();
        let mut keys = Keys::default();
        let mut count = 0;
        let mut forget = |keys: &mut Keys| -> Result<()> {
            let answers = self.forget_keys(keys)?;
            let forgotten = answers.iter().filter(|a| **a == Answer::Forgotten(true));
            count += forgotten.count() as u64;
            keys.clear();
            Ok(())
        };
        for entry in self.query(&query.clone().with_expired())? {
            let (key, _) = entry?;
            keys.push_key(&key, 0);
            // The next key may be as long as any.
            if keys.len() == CHUNK || keys.size() + entry_size(crate::canon::MAX_KEY) > limit {
                forget(&mut keys)?;
            }
        }
        forget(&mut keys)?;
        Ok(count)
    }
}
