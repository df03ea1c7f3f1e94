//! The URLs: those that are inserted, in what order, and those that are asked for.

use crate::generator::{self, Dice};
use crate::permutation::{Permutation, mix};
use anyhow::{Context, Result, ensure};
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// URLs in a batch.
pub(crate) const BATCH: u64 = 1_000;
/// Each so many-th URL that is inserted was inserted before.
pub(crate) const REPEAT: u64 = 100;
/// URLs that are held in memory at once. Where there are more, they come in portions.
const IN_MEMORY: u64 = 25_000_000;
const PORTION: u64 = 1_000 * BATCH;

const SEED: u64 = 1;
/// Seeds of orders.
const INSERTS: u64 = 1;
const HITS: u64 = 2;
const MISSES: u64 = 3;

/// URLs, one after the other in memory, so that walking through them costs no cache miss.
#[derive(Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Packed {
    pub(crate) fn push(&mut self, url: &[u8]) {
        self.bytes.extend_from_slice(url);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    fn read(path: &Path, most: u64) -> Result<Packed> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut urls = Packed::default();
        let most = usize::try_from(most)?;
        for line in text.split(|&byte| byte == b'\n').take(most) {
            if !line.is_empty() {
                urls.push(line);
            }
        }
        Ok(urls)
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut text = Vec::with_capacity(self.bytes.len() + self.len());
        for url in self.iter() {
            text.extend_from_slice(url);
            text.push(b'\n');
        }
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Where URLs come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Corpus {
    /// The generator's first URLs: each is a function of its number.
    Generated { count: u64 },
    /// Those of a file, which [`prepare`] wrote to a directory in the order of insertion.
    Prepared { dir: PathBuf, count: u64 },
}

impl Corpus {
    /// How many there are, all different.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Corpus::Generated { count } | Corpus::Prepared { count, .. } => *count,
        }
    }

    /// How many are inserted, with repeats.
    pub(crate) fn inserted(&self) -> u64 {
        self.count() + self.count().saturating_sub(1) / (REPEAT - 1)
    }

    /// Whether all are held in memory at once.
    pub(crate) fn fits(&self) -> bool {
        self.inserted() <= IN_MEMORY || matches!(self, Corpus::Prepared { .. })
    }

    /// The URLs in the order in which they are inserted, from a batch on, in portions of
    /// whole batches.
    pub(crate) fn portions(&self, from: u64) -> impl Iterator<Item = Result<Packed>> + use<'_> {
        let size = if self.fits() {
            self.inserted().max(1)
        } else {
            PORTION
        };
        let mut at = from * BATCH;
        std::iter::from_fn(move || {
            let end = (at + size).min(self.inserted());
            let range = at..end;
            at = end;
            (!range.is_empty()).then(|| self.portion(range))
        })
    }

    fn portion(&self, range: std::ops::Range<u64>) -> Result<Packed> {
        let mut urls = Packed::default();
        match self {
            Corpus::Generated { count } => {
                let order = Permutation::new(*count, INSERTS);
                for turn in range {
                    let index = order.at(place(turn));
                    urls.push(generator::url(SEED, index).as_bytes());
                }
            }
            Corpus::Prepared { dir, count } => {
                let all = Packed::read(&dir.join("urls"), *count)?;
                ensure!(all.len() as u64 == *count, "{} is damaged", dir.display());
                for turn in range {
                    urls.push(all.get(usize::try_from(place(turn))?));
                }
            }
        }
        Ok(urls)
    }

    /// Up to `most` URLs that are there, in an order that has nothing to do with that of
    /// their insertion, nor with any hash of them.
    pub(crate) fn hits(&self, most: u64) -> Result<Packed> {
        match self {
            Corpus::Generated { count } => {
                let order = Permutation::new(*count, HITS);
                let mut urls = Packed::default();
                for place in 0..most.min(*count) {
                    urls.push(generator::url(SEED, order.at(place)).as_bytes());
                }
                Ok(urls)
            }
            Corpus::Prepared { dir, .. } => Packed::read(&dir.join("hits"), most),
        }
    }

    /// Up to `most` URLs that are not there, each a near miss of one that is.
    pub(crate) fn misses(&self, most: u64) -> Result<Packed> {
        match self {
            Corpus::Generated { count } => {
                let order = Permutation::new(*count, MISSES);
                let mut urls = Packed::default();
                for place in 0..most.min(*count) {
                    urls.push(generator::near_miss(SEED, order.at(place)).as_bytes());
                }
                Ok(urls)
            }
            Corpus::Prepared { dir, .. } => Packed::read(&dir.join("misses"), most),
        }
    }

    /// The mean length of the first so many, in bytes.
    pub(crate) fn mean_length(&self) -> Result<f64> {
        let urls = self.hits(100_000)?;
        Ok(urls.bytes.len() as f64 / urls.len().max(1) as f64)
    }
}

/// Whether the URL whose turn it is was not inserted before.
pub(crate) fn is_new(turn: u64) -> bool {
    turn % REPEAT != REPEAT - 1
}

/// Which of the URLs has its turn.
fn place(turn: u64) -> u64 {
    let new = turn - turn / REPEAT;
    if is_new(turn) { new } else { mix(turn) % new }
}

/// Reads the distinct lines of a file, and writes them to a directory in the order of
/// insertion, with those that are asked for.
pub(crate) fn prepare(file: &Path, dir: &Path, most: u64) -> Result<Corpus> {
    let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut known: HashSet<&[u8]> = HashSet::new();
    let mut urls: Vec<&[u8]> = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        if !line.is_empty() && known.insert(line) {
            urls.push(line);
        }
    }
    ensure!(!urls.is_empty(), "{} has no URLs", file.display());
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Dice(INSERTS).shuffle(&mut urls);
    let count = urls.len() as u64;
    let mut all = Packed::default();
    urls.iter().for_each(|url| all.push(url));
    all.write(&dir.join("urls"))?;

    let most = usize::try_from(most.min(count))?;
    Dice(HITS).shuffle(&mut urls);
    let mut hits = Packed::default();
    urls.iter().take(most).for_each(|url| hits.push(url));
    hits.write(&dir.join("hits"))?;

    Dice(MISSES).shuffle(&mut urls);
    let mut misses = Packed::default();
    for url in urls.iter().take(most) {
        misses.push(&near_miss(url, &known));
    }
    misses.write(&dir.join("misses"))?;
    let dir = dir.to_path_buf();
    Ok(Corpus::Prepared { dir, count })
}

/// A URL with its last byte changed and, where that one is known too, more behind it.
fn near_miss(url: &[u8], known: &HashSet<&[u8]>) -> Vec<u8> {
    let mut miss = url.to_vec();
    if let Some(last) = miss.last_mut() {
        // No end of a line comes of it.
        *last = if *last == b'\x0b' { b'~' } else { *last ^ 1 };
    }
    while known.contains(miss.as_slice()) {
        miss.push(b'~');
    }
    miss
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts everything into a set as a store would, and asks it.
    fn check(corpus: &Corpus) {
        let mut set: HashSet<Vec<u8>> = HashSet::new();
        let mut turn = 0;
        for portion in corpus.portions(0) {
            for url in portion.unwrap().iter() {
                assert_eq!(set.insert(url.to_vec()), is_new(turn), "turn {turn}");
                turn += 1;
            }
        }
        assert_eq!(turn, corpus.inserted());
        assert_eq!(set.len() as u64, corpus.count());
        let (hits, misses) = (corpus.hits(50).unwrap(), corpus.misses(50).unwrap());
        let most = 50.min(set.len());
        assert_eq!((hits.len(), misses.len()), (most, most));
        assert!(hits.iter().all(|url| set.contains(url)));
        assert!(!misses.iter().any(|url| set.contains(url)));
        let different: HashSet<&[u8]> = hits.iter().collect();
        assert_eq!(different.len(), most);
    }

    #[test]
    fn all_generated_urls_come_and_one_in_a_hundred_again() {
        for count in [1, 2, 98, 99, 100, 101, 5_000] {
            check(&Corpus::Generated { count });
        }
    }

    #[test]
    fn all_lines_of_a_file_come_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let mut text = String::new();
        for index in 0..300 {
            text += &generator::url(9, index % 250);
            text.push('\n');
        }
        // Near misses of each other.
        text += "https://example.com/a\n\nhttps://example.com/`";
        fs::write(&file, text).unwrap();
        let corpus = prepare(&file, &dir.path().join("prepared"), 100).unwrap();
        assert_eq!(corpus.count(), 252);
        check(&corpus);
    }

    #[test]
    fn a_load_goes_on_where_it_stopped() {
        let corpus = Corpus::Generated { count: 3_500 };
        let all: Vec<Vec<u8>> = (corpus.portions(0))
            .flat_map(|portion| {
                portion
                    .unwrap()
                    .iter()
                    .map(<[u8]>::to_vec)
                    .collect::<Vec<_>>()
            })
            .collect();
        let rest = corpus.portions(2).next().unwrap().unwrap();
        assert!(rest.iter().eq(all[2_000..].iter().map(Vec::as_slice)));
    }

    #[test]
    fn more_than_fit_into_memory_come_in_portions() {
        let count = 26_000_000;
        let corpus = Corpus::Generated { count };
        assert!(!corpus.fits());
        let portions: Vec<Packed> = corpus.portions(26_200).map(Result::unwrap).collect();
        let sizes: Vec<usize> = portions.iter().map(Packed::len).collect();
        assert_eq!(sizes, [62_626]);
        let first = corpus.portions(25_000).next().unwrap().unwrap();
        assert_eq!(first.len(), 1_000_000);
        let order = Permutation::new(count, INSERTS);
        for (portion, turn) in [(&first, 25_000_000), (&portions[0], 26_200_000)] {
            let url = generator::url(SEED, order.at(place(turn)));
            assert_eq!(portion.get(0), url.as_bytes());
        }
        let last = portions[0].get(62_625);
        let url = generator::url(SEED, order.at(place(corpus.inserted() - 1)));
        assert_eq!(last, url.as_bytes());
    }
}
