//! Merging: which runs, in what order of keys, into which segments.

mod growth;
mod merge;
mod merged;
mod policy;
mod purge;
mod run_cursor;
mod run_writer;
mod sample;
mod simulation;

#[cfg(feature = "cli")]
pub(crate) use growth::filter_bits;
pub(crate) use merge::{Merge, PIECE};
pub(crate) use merged::{Merged, Source};
pub(crate) use policy::{Candidate, MAX_RUNS, STOP_RUNS, delay, next_merge, next_piece};
pub(crate) use purge::{Expired, Fate, Older, Purge};
pub(crate) use run_cursor::RunCursor;
pub(crate) use run_writer::{RunWriter, Target};
pub(crate) use sample::coder_for;
#[cfg(feature = "cli")]
pub(crate) use simulation::{Load, Outcome, simulate};
