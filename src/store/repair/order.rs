//! Without a manifest: which of the files count, and which of two is the newer.
//!
//! What a flush or merge was made of can lie beside its output. A flush or merge leaves
//! out tombstones with nothing below them, and what has expired; so what it was made of
//! would bring back what was forgotten. A run is *complete* if it has all of its segments,
//! as their footers say, and then it has all that counts of its frames:
//!
//! - Other runs whose frames lie within those of a complete one are not read: they are
//!   what it was made of, or an attempt that failed. Of two complete ones with the same
//!   frames, the later counts: they are two attempts, or one was made of the other alone.
//! - Nor is a log whose first frame lies there: a flush takes a whole log.
//! - Nor is a segment without a footer that a complete run names as one of its inputs.
//!   Of others without one nothing tells the age. They may have what no other file has:
//!   they are read, and taken for the oldest, and the report names them.
//! - A run that is not complete is not read if all that it was merged from is there: it
//!   has nothing that they have not. If some of that is gone, all are read, as something
//!   would be lost otherwise. A merge removes its inputs from the oldest on, so that those
//!   that remain still bury what was forgotten.
//! - What a flush did not complete is read beside its log, which has the same of each key,
//!   and may be damaged.
//!
//! The run of a repair has all frames so far, and counts as a flush of them. Runs of
//! version 1 do not say whether they are complete: but nothing could be forgotten then,
//! and all of them are read.
//!
//! Where two that count have a key, it is that of the later frames which counts, and of
//! the wider range: the output's.

use super::ledger::Ledger;
use super::logs::{LogFile, is_refused};
use super::run::Piece;
use super::sources::{Fixed, Origin, length};
use crate::error::Result;
use crate::log::{Known, Salvage, Step};
use crate::segment::{Footer, Remains};
use crate::vfs::Vfs;
use std::path::{Path, PathBuf};

/// The first and the last frame.
type Frames = (u64, u64);

/// A run or log, and what decides its place among the others.
struct Ranked {
    /// Twice the last frame; of a log, one less than twice its first: so what was flushed
    /// from it is newer than the log.
    rank: u64,
    /// The wider range is the newer of two that end together.
    first: u64,
    number: u64,
    origin: Origin,
}

/// What is to be read, the newest first. What is not goes to the ledger.
pub(super) fn arrange(
    vfs: &dyn Vfs,
    fixed: &Fixed,
    segments: Vec<(u64, Remains)>,
    logs: Vec<(u64, PathBuf)>,
    ledger: &Ledger<'_>,
) -> Result<Vec<Origin>> {
    let mut whole = Vec::new();
    let mut undated = Vec::new();
    for (number, remains) in segments {
        match remains.footer().cloned() {
            Some(footer) => whole.push(Whole {
                number,
                footer,
                remains,
            }),
            None => undated.push((number, remains)),
        }
    }
    let runs = runs_of(whole);
    let complete = Complete::of(&runs);
    let numbers: Vec<u64> = runs.iter().flat_map(Run::numbers).collect();
    let mut ranked = Vec::new();
    for run in runs {
        if complete.covers_run(&run) || run.is_needless(&numbers) {
            run.segments
                .iter()
                .for_each(|segment| ignore(ledger, segment.remains.path()));
        } else {
            ranked.push(run.ranked(vfs, ledger));
        }
    }
    for (number, remains) in undated {
        if complete.inputs.contains(&number) {
            ignore(ledger, remains.path());
            continue;
        }
        ledger.undated(remains.path());
        ranked.push(Ranked {
            rank: 0,
            first: 0,
            number,
            origin: Origin::Run(vec![piece(vfs, remains, ledger)]),
        });
    }
    ranked.extend(rank_logs(vfs, fixed, logs, &complete, ledger)?);
    ranked.sort_by(|a, b| {
        let newer = b.rank.cmp(&a.rank);
        newer
            .then(a.first.cmp(&b.first))
            .then(b.number.cmp(&a.number))
    });
    Ok(ranked.into_iter().map(|ranked| ranked.origin).collect())
}

/// A segment whose footer is intact.
struct Whole {
    number: u64,
    footer: Footer,
    remains: Remains,
}

/// Segments that one flush or merge wrote, in the order of their keys.
struct Run {
    frames: Frames,
    inputs: Vec<u64>,
    segments: Vec<Whole>,
}

/// Segments of the same frames and inputs are a run, as far as each goes on where the one
/// before ends: those of an attempt that failed can lie beside those of the next.
fn runs_of(mut whole: Vec<Whole>) -> Vec<Run> {
    whole.sort_by(|a, b| {
        let kin = |one: &Whole| (one.footer.sequences, one.number);
        kin(a).cmp(&kin(b))
    });
    let mut runs: Vec<Run> = Vec::new();
    for segment in whole {
        // The last attempt at the same.
        let mut kin = runs.iter_mut().rev();
        let of_run = kin.find(|run| {
            run.frames == segment.footer.sequences && run.inputs == segment.footer.inputs
        });
        match of_run.filter(|run| run.goes_on_with(&segment)) {
            Some(run) => run.segments.push(segment),
            None => runs.push(Run {
                frames: segment.footer.sequences,
                inputs: segment.footer.inputs.clone(),
                segments: vec![segment],
            }),
        }
    }
    runs
}

impl Run {
    fn goes_on_with(&self, next: &Whole) -> bool {
        self.segments.last().is_none_or(|last| {
            let in_place = match (last.footer.piece, next.footer.piece) {
                (Some(last), Some(next)) => !last.is_last && last.place < next.place,
                (last, next) => last.is_none() && next.is_none(),
            };
            in_place && last.footer.last < next.footer.first
        })
    }

    fn is_complete(&self) -> bool {
        let mut places = (0..).zip(&self.segments);
        let in_place = places.all(|(place, segment)| {
            let piece = segment.footer.piece;
            piece.is_some_and(|piece| piece.place == place)
        });
        let last = self.segments.last().and_then(|last| last.footer.piece);
        in_place && last.is_some_and(|piece| piece.is_last)
    }

    /// Whether it is not complete, and all that it was merged from is there.
    fn is_needless(&self, numbers: &[u64]) -> bool {
        let says_pieces = self.segments.iter().all(|one| one.footer.piece.is_some());
        says_pieces
            && !self.is_complete()
            && !self.inputs.is_empty()
            && self.inputs.iter().all(|input| numbers.contains(input))
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.segments.iter().map(|segment| segment.number)
    }

    /// Tells two runs of the same frames apart.
    fn number(&self) -> u64 {
        self.numbers().max().unwrap_or(0)
    }

    fn ranked(self, vfs: &dyn Vfs, ledger: &Ledger<'_>) -> Ranked {
        let number = self.number();
        let segments = self.segments.into_iter();
        let pieces = segments.map(|segment| piece(vfs, segment.remains, ledger));
        Ranked {
            rank: self.frames.1.saturating_mul(2),
            first: self.frames.0,
            number,
            origin: Origin::Run(pieces.collect()),
        }
    }
}

/// The complete runs.
struct Complete {
    /// The frames of each, and its number.
    runs: Vec<(Frames, u64)>,
    /// What they were merged from.
    inputs: Vec<u64>,
}

impl Complete {
    fn of(runs: &[Run]) -> Complete {
        let complete = || runs.iter().filter(|run| run.is_complete());
        Complete {
            runs: complete().map(|run| (run.frames, run.number())).collect(),
            inputs: complete().flat_map(|run| run.inputs.clone()).collect(),
        }
    }

    /// Whether another run has all that counts of this one.
    fn covers_run(&self, run: &Run) -> bool {
        let (first, last) = run.frames;
        self.runs.iter().any(|&(frames, number)| {
            let is_wider = frames != run.frames && frames.0 <= first && last <= frames.1;
            let is_later = frames == run.frames && (number > run.number() || !run.is_complete());
            is_wider || is_later
        })
    }

    /// Whether a run has all that counts of the log with this frame.
    fn covers_log(&self, frame: u64) -> bool {
        let mut frames = self.runs.iter().map(|&(frames, _)| frames);
        frames.any(|(first, last)| (first..=last).contains(&frame))
    }
}

fn rank_logs(
    vfs: &dyn Vfs,
    fixed: &Fixed,
    logs: Vec<(u64, PathBuf)>,
    complete: &Complete,
    ledger: &Ledger<'_>,
) -> Result<Vec<Ranked>> {
    let starts = logs
        .iter()
        .map(|(number, path)| start_of(vfs, fixed, *number, path))
        .collect::<Result<Vec<Start>>>()?;
    let mut ranked = Vec::new();
    for ((number, path), start) in logs.into_iter().zip(&starts) {
        if start.frame.is_some_and(|frame| complete.covers_log(frame)) {
            ignore(ledger, &path);
            continue;
        }
        ledger.expect(length(vfs, &path));
        let later = starts.iter().filter_map(|start| start.named);
        let later = later.filter(|&next| start.named.is_some_and(|first| next > first));
        let frame = start.frame;
        ranked.push(Ranked {
            // One that has no intact frame adds nothing, wherever it is.
            rank: frame.map_or(u64::MAX, |first| first.saturating_mul(2).saturating_sub(1)),
            first: frame.unwrap_or(0),
            number,
            origin: Origin::Log(LogFile {
                path,
                number,
                known: Known {
                    first: start.named,
                    length: None,
                    until: later.min(),
                },
            }),
        });
    }
    Ok(ranked)
}

/// Where a log begins.
struct Start {
    /// The number of its first frame, as its header says.
    named: Option<u64>,
    /// The same; if the header is damaged, the number of the first frame that is intact.
    frame: Option<u64>,
}

fn start_of(vfs: &dyn Vfs, fixed: &Fixed, number: u64, path: &Path) -> Result<Start> {
    let nothing = Start {
        named: None,
        frame: None,
    };
    let known = Known {
        first: None,
        length: None,
        until: None,
    };
    let mut salvage = match Salvage::open(vfs, path, fixed.store, number, known) {
        Ok(salvage) => salvage,
        Err(error) if is_refused(&error) => return Err(error),
        Err(_) => return Ok(nothing),
    };
    let named = salvage.next_sequence();
    if named.is_some() {
        return Ok(Start {
            named,
            frame: named,
        });
    }
    loop {
        match salvage.step(&mut |_| Ok(()))? {
            Step::Frame => {
                let next = salvage.next_sequence();
                return Ok(Start {
                    named: None,
                    frame: next.and_then(|next| next.checked_sub(1)),
                });
            }
            Step::Lost(gap) if is_refused(&gap.damage) => return Err(gap.damage),
            Step::Lost(_) | Step::Searching => {}
            Step::End => return Ok(nothing),
        }
    }
}

/// Notes that a segment is to be read.
fn piece(vfs: &dyn Vfs, remains: Remains, ledger: &Ledger<'_>) -> Piece {
    ledger.expect(length(vfs, remains.path()));
    let size = remains.size();
    let remains = Box::new(remains);
    Piece::Segment { remains, size }
}

fn ignore(ledger: &Ledger<'_>, path: &Path) {
    ledger.ignore(&path.file_name().unwrap_or_default().to_string_lossy());
}
