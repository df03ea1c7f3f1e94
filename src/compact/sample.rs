//! What a run's keys are like: a sample for the dictionary that they are coded with.

use super::{Merged, RunCursor, RunWriter};
use crate::codec::Codec;
use crate::error::Result;
use crate::segment::{Coder, Sampler, Segment};
use std::sync::Arc;

/// Places in the order of keys at which neighbours are taken. The more of them, the better is
/// what a sample of the same size says of all keys: the dictionary for 3 million URLs codes
/// them with 11.8, 11.4 and 11.25 bytes each from 64, 256 and 1,024 places.
const STRETCHES: u64 = 1024;
/// Of neighbours that are fewer, the first would be too much: what is coded of it depends on
/// one that is not taken.
const KEYS_OF_A_STRETCH: u64 = 16;
/// Each place of a merge costs a read of a block of each run: one in so many is read, and
/// more for a large dictionary, which is the slower to make anyway.
const SPARING: usize = 32;
const SPARING_DENSE: usize = 8;
const STRETCHES_DENSE: u64 = 4096;
/// Those of a merge that are taken at once.
const PIECE: usize = 16;

/// A coder for the keys of a run, which `from` gives in order from any place on.
pub(crate) fn coder_for<'a, I>(writer: &RunWriter, keys: u64, from: impl Fn(u64) -> I) -> Coder
where
    I: Iterator<Item = &'a [u8]>,
{
    let stretches = (keys / KEYS_OF_A_STRETCH).clamp(1, STRETCHES);
    let mut sampler = Sampler::new(writer.codec(), keys, writer.segment_size(), stretches);
    if sampler.needs_none() {
        return sampler.coder();
    }
    let each = keys.div_ceil(stretches);
    for stretch in 0..stretches {
        sampler.begin();
        for key in from(stretch * each).take(usize::try_from(each).unwrap_or(usize::MAX)) {
            if !sampler.push(key) {
                break;
            }
        }
    }
    sampler.coder()
}

/// Samples what a merge of runs gives, in bounded pieces.
#[derive(Debug)]
pub(super) struct Sampling {
    runs: Vec<Vec<Arc<Segment>>>,
    /// The one with the most keys, in whose blocks stretches begin; how many those are.
    largest: usize,
    blocks: usize,
    sampler: Sampler,
    stretches: usize,
    /// Those that were taken.
    taken: usize,
}

impl Sampling {
    pub(super) fn new(writer: &RunWriter, runs: Vec<Vec<Arc<Segment>>>) -> Sampling {
        let keys = |run: &Vec<Arc<Segment>>| run.iter().map(|one| one.meta().keys).sum::<u64>();
        let blocks = |run: &Vec<Arc<Segment>>| run.iter().map(|one| one.blocks()).sum();
        let largest = (0..runs.len()).max_by_key(|&run| runs.get(run).map(keys));
        let largest = largest.unwrap_or(0);
        let blocks = runs.get(largest).map_or(0, blocks);
        let (sparing, most) = match writer.codec() {
            Codec::Dense => (SPARING_DENSE, STRETCHES_DENSE),
            _ => (SPARING, STRETCHES),
        };
        let stretches = (blocks / sparing).clamp(PIECE, most as usize).min(blocks);
        let all = runs.iter().map(keys).sum();
        let size = writer.segment_size();
        let sampler = Sampler::new(writer.codec(), all, size, stretches as u64);
        Sampling {
            largest,
            blocks,
            stretches: if sampler.needs_none() { 0 } else { stretches },
            sampler,
            taken: 0,
            runs,
        }
    }

    /// Takes a few stretches; whether those were all.
    pub(super) fn step(&mut self) -> Result<bool> {
        for _ in 0..PIECE {
            if self.taken == self.stretches {
                break;
            }
            self.stretch()?;
            self.taken += 1;
        }
        Ok(self.taken == self.stretches)
    }

    fn stretch(&mut self) -> Result<()> {
        let Some(key) = self.beginning(self.taken)? else {
            return Ok(());
        };
        let next = match self.taken + 1 {
            next if next < self.stretches => self.beginning(next)?,
            _ => None,
        };
        let cursors = self.runs.iter().map(|run| RunCursor::from_key(run, &key));
        let mut entries = Merged::new(cursors.collect::<Result<Vec<_>>>()?);
        self.sampler.begin();
        while entries.advance()? {
            let is_next = next.as_deref().is_some_and(|next| entries.key() >= next);
            if is_next || !self.sampler.push(entries.key()) {
                break;
            }
        }
        Ok(())
    }

    /// The first key of a stretch.
    fn beginning(&self, stretch: usize) -> Result<Option<Vec<u8>>> {
        match self.runs.get(self.largest) {
            Some(run) => key_of(run, self.blocks * stretch / self.stretches.max(1)),
            None => Ok(None),
        }
    }

    pub(super) fn coder(self) -> Coder {
        self.sampler.coder()
    }
}

/// The first key of a run's block of that number.
fn key_of(run: &[Arc<Segment>], mut block: usize) -> Result<Option<Vec<u8>>> {
    for segment in run {
        if block < segment.blocks() {
            return segment.first_key_of(block);
        }
        block -= segment.blocks();
    }
    Ok(None)
}
