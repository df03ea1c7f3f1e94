//! The URLs to measure with, packed so that walking through them costs no cache
//! miss a URL.

use crate::urls::{self, Dice};
use hashbrown::HashSet;
use std::error::Error;
use std::path::Path;

/// URLs, one after the other in memory.
#[derive(Default)]
pub(crate) struct Corpus {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Corpus {
    /// The distinct lines of a file.
    pub(crate) fn read(path: &Path) -> Result<Corpus, Box<dyn Error>> {
        let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut corpus = Corpus::default();
        let mut known = HashSet::new();
        for line in text.split(|&byte| byte == b'\n') {
            if !line.is_empty() && known.insert(line) {
                corpus.push(line);
            }
        }
        Ok(corpus)
    }

    /// The first `count` URLs of the generator.
    pub(crate) fn generate(count: u64) -> Corpus {
        let mut corpus = Corpus::default();
        for index in 0..count {
            corpus.push(urls::url(1, index).as_bytes());
        }
        corpus
    }

    /// Leaves none, and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(crate) fn push(&mut self, url: &[u8]) {
        self.bytes.extend_from_slice(url);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn mean_length(&self) -> f64 {
        self.bytes.len() as f64 / self.len().max(1) as f64
    }

    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The same URLs in an order that depends on the seed alone: no hash of a URL
    /// goes into it, so that no filter or table is walked through in its own order.
    pub(crate) fn shuffled(&self, seed: u64) -> Corpus {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        Dice(seed).shuffle(&mut order);
        let mut corpus = Corpus::default();
        for index in order {
            corpus.push(self.get(index as usize));
        }
        corpus
    }

    /// The first `count`.
    pub(crate) fn first(&self, count: usize) -> Corpus {
        let mut corpus = Corpus::default();
        for url in self.iter().take(count) {
            corpus.push(url);
        }
        corpus
    }

    /// For each URL a near miss: its last byte changed, or, where that URL is in
    /// `known` too, with bytes behind it that make it absent.
    pub(crate) fn near_misses(&self, known: &crate::Set) -> Corpus {
        let mut corpus = Corpus::default();
        let mut text = Vec::new();
        for url in self.iter() {
            text.clear();
            text.extend_from_slice(url);
            if let Some(last) = text.last_mut() {
                // A line must stay one.
                *last = if *last ^ 1 == b'\n' { b'~' } else { *last ^ 1 };
            }
            while known.contains(text.as_slice()) {
                text.push(b'~');
            }
            corpus.push(&text);
        }
        corpus
    }
}
