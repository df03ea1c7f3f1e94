//! The URLs that a store is filled with, as often as needed, in bounded memory.

#![allow(
    clippy::disallowed_methods,
    reason = "this is a temporary file of the program, not a file of a store"
)]

use super::super::failure::Failure;
use super::ended::{Ended, Stop};
use super::generator;
use super::keys::Keys;
use crate::{Query, Seen};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// Where keys come from, in the same order every time.
#[derive(Debug)]
pub(super) enum Urls {
    /// The first `count` of the generator.
    Generated { seed: u64, count: u64 },
    /// Those of a list.
    Spooled(Spool),
    /// Those of a store that exists.
    Store(Seen),
}

impl Urls {
    /// Gives all keys, a batch at a time.
    pub(super) fn walk(
        &self,
        stop: &Stop,
        visit: &mut dyn FnMut(&Keys) -> Result<(), Ended>,
    ) -> Result<(), Ended> {
        let mut batch = Batches {
            keys: Keys::default(),
            stop,
            visit,
        };
        match self {
            Urls::Generated { seed, count } => {
                for index in 0..*count {
                    batch.push(generator::url(*seed, index).as_bytes())?;
                }
            }
            Urls::Spooled(spool) => spool.read(&mut |key| batch.push(key))?,
            Urls::Store(store) => {
                for entry in store.query(&Query::new())? {
                    batch.push(&entry?.0)?;
                }
            }
        }
        batch.end()
    }
}

struct Batches<'a> {
    keys: Keys,
    stop: &'a Stop,
    visit: &'a mut dyn FnMut(&Keys) -> Result<(), Ended>,
}

impl Batches<'_> {
    fn push(&mut self, key: &[u8]) -> Result<(), Ended> {
        self.keys.push(key);
        if self.keys.is_batch() {
            self.end()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Ended> {
        self.stop.check()?;
        if !self.keys.is_empty() {
            (self.visit)(&self.keys)?;
            self.keys.clear();
        }
        Ok(())
    }
}

/// Keys in a temporary file: a length of 16 bits, then the key. So a list is read and
/// canonicalized once, and a pipe will do.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    keys: u64,
}

/// A spool in the making.
pub(super) struct Spooling {
    path: PathBuf,
    file: BufWriter<File>,
    keys: u64,
}

impl Spooling {
    pub(super) fn create(path: &Path) -> Result<Spooling, Failure> {
        let file = File::create_new(path).map_err(|e| failed(path, e))?;
        Ok(Spooling {
            path: path.to_path_buf(),
            file: BufWriter::with_capacity(1 << 20, file),
            keys: 0,
        })
    }

    pub(super) fn push(&mut self, key: &[u8]) -> Result<(), Failure> {
        let length = u16::try_from(key.len()).map_err(io::Error::other);
        length
            .and_then(|length| {
                self.file.write_all(&length.to_le_bytes())?;
                self.file.write_all(key)
            })
            .map_err(|e| failed(&self.path, e))?;
        self.keys += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Spool, Failure> {
        self.file.flush().map_err(|e| failed(&self.path, e))?;
        Ok(Spool {
            path: self.path,
            keys: self.keys,
        })
    }
}

impl Spool {
    fn read(&self, visit: &mut dyn FnMut(&[u8]) -> Result<(), Ended>) -> Result<(), Ended> {
        let failed = |e| Ended::from(failed(&self.path, e));
        let file = File::open(&self.path).map_err(failed)?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut key = Vec::new();
        for _ in 0..self.keys {
            let mut length = [0; 2];
            file.read_exact(&mut length).map_err(failed)?;
            key.resize(usize::from(u16::from_le_bytes(length)), 0);
            file.read_exact(&mut key).map_err(failed)?;
            visit(&key)?;
        }
        Ok(())
    }
}

/// A failure of the temporary directory.
pub(super) fn failed(path: &Path, source: io::Error) -> Failure {
    Failure::Found(format!(
        "cannot use {}: {source}; `--dir DIR` takes a directory with room for the list and a store",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spool_gives_back_what_it_was_given_and_ends_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let mut spooling = Spooling::create(&path).unwrap();
        let all: Vec<Vec<u8>> = (1..3_000).map(|n| vec![b'k'; n % 700 + 1]).collect();
        for key in &all {
            spooling.push(key).unwrap();
        }
        let urls = Urls::Spooled(spooling.finish().unwrap());
        let (sender, signals) = crossbeam_channel::bounded(1);
        let stop = Stop::new(signals);
        let mut found = Vec::new();
        urls.walk(&stop, &mut |keys| {
            found.extend(keys.iter().map(<[u8]>::to_vec));
            Ok(())
        })
        .unwrap();
        assert!(found == all);
        drop(sender);

        std::fs::write(&path, b"\x05\x00ab").unwrap();
        let cut = urls.walk(&stop, &mut |_| Ok(())).unwrap_err();
        assert!(matches!(cut, Ended::Failure(Failure::Found(_))), "{cut:?}");
    }
}
