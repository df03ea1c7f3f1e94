//! Writes ordered entries into the segments of one run.

use crate::codec::Codec;
use crate::error::Result;
use crate::filter::FilterPlan;
use crate::header::StoreId;
use crate::record::Stored;
use crate::segment::{self, Coder, Meta, Params, Writer};
use crate::vfs::Vfs;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a run is written, and what all its segments have in common.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) dir: PathBuf,
    pub(crate) store: StoreId,
    pub(crate) seed: u64,
    pub(crate) policy: String,
    pub(crate) stamps: bool,
    /// Whether entries have records: without stamps, where there are tombstones.
    pub(crate) records: bool,
    /// How its filters are built.
    pub(crate) filter: FilterPlan,
    /// How its keys are coded.
    pub(crate) codec: Codec,
    /// Whether its dictionary is one for all of its keys. If not, it is to be coded anew.
    pub(crate) is_sampled: bool,
    /// The size in bytes at which the run goes on in another segment.
    pub(crate) segment_size: u64,
    pub(crate) sequences: (u64, u64),
    pub(crate) position: Option<u64>,
    /// Numbers of the segments that the run is made of; none for a flush.
    pub(crate) inputs: Vec<u64>,
}

/// A run being written.
#[derive(Debug)]
pub(crate) struct RunWriter {
    target: Target,
    coder: Arc<Coder>,
    current: Option<Writer>,
    finished: Vec<Meta>,
    /// Files that this run created, and no other.
    created: Vec<PathBuf>,
}

impl RunWriter {
    pub(crate) fn new(target: Target) -> RunWriter {
        RunWriter {
            target,
            coder: Arc::new(Coder::plain()),
            current: None,
            finished: Vec::new(),
            created: Vec::new(),
        }
    }

    /// How keys are to be coded.
    pub(crate) fn codec(&self) -> Codec {
        self.target.codec
    }

    /// The size in bytes at which it goes on in another segment.
    pub(crate) fn segment_size(&self) -> u64 {
        self.target.segment_size
    }

    /// Says what codes the keys of all segments that are begun from now on.
    pub(crate) fn code_with(&mut self, coder: Coder) {
        self.coder = Arc::new(coder);
    }

    /// Adds an entry; keys ascend. `number` gives new segments their numbers.
    pub(crate) fn add(
        &mut self,
        key: &[u8],
        record: Stored,
        number: &mut dyn FnMut() -> u64,
    ) -> Result<()> {
        if let Some(writer) = &mut self.current
            && (writer.size() >= self.target.segment_size
                || writer.keys() >= self.target.filter.most_keys)
        {
            self.finish_segment(false)?;
        }
        if self.current.is_none() {
            self.current = Some(self.create(number())?);
        }
        if let Some(writer) = &mut self.current {
            writer.add(key, record)?;
        }
        Ok(())
    }

    fn create(&mut self, number: u64) -> Result<Writer> {
        let target = &self.target;
        let path = target.dir.join(segment::file_name(number));
        let params = Params {
            store: target.store,
            number,
            seed: target.seed,
            policy: target.policy.clone(),
            stamps: target.stamps,
            records: target.records,
            place: u32::try_from(self.finished.len()).unwrap_or(u32::MAX),
            filter: target.filter.kind,
            filter_size: target.filter.size,
            codec: target.is_sampled.then_some(target.codec),
            coder: self.coder.clone(),
            block_size: segment::DEFAULT_BLOCK_SIZE,
            sequences: target.sequences,
            inputs: target.inputs.clone(),
            position: target.position,
        };
        let writer = Writer::create(&*target.vfs, &path, params)?;
        self.created.push(path);
        Ok(writer)
    }

    fn finish_segment(&mut self, is_last: bool) -> Result<()> {
        if let Some(writer) = self.current.take() {
            self.finished.push(writer.finish(is_last)?);
        }
        Ok(())
    }

    /// Completes the run and makes its files durable; their names are the caller's to
    /// sync.
    pub(crate) fn finish(&mut self) -> Result<Vec<Meta>> {
        self.finish_segment(true)?;
        Ok(std::mem::take(&mut self.finished))
    }

    /// Removes what was written. A file that cannot be removed is left to the next
    /// opening, as no manifest names it.
    pub(crate) fn abandon(&mut self) {
        self.current = None;
        for path in self.created.drain(..) {
            let _ = self.target.vfs.remove(&path);
        }
    }
}
