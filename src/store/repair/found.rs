//! A store without its manifest: what its files say of themselves.
//!
//! The headers say whose they are, the footers under which policy, and both from which
//! frames their entries are. Nothing says that a file is missing, but for frames that are
//! in none.
//!
//! What a merge was made of can lie beside its output, whole or not. Both are taken: an
//! output that was never finished lacks what its inputs have. Where two have a key, it
//! is that of the later frames which counts, and of the wider range: the output's.

use super::ledger::Ledger;
use super::logs::{LogFile, is_refused};
use super::report::Lost;
use super::run::Piece;
use super::sources::{Fixed, Origin, Sources, is_file, length};
use crate::error::{Error, Result};
use crate::header::{self, FileKind, StoreId};
use crate::log::{Known, LogReader};
use crate::manifest;
use crate::options::Options;
use crate::segment::Remains;
use crate::store::place::numbered;
use crate::vfs::Vfs;
use std::path::{Path, PathBuf};

/// A file with a name of the store's own.
struct Candidate {
    name: String,
    path: PathBuf,
    number: u64,
    remains: Option<Remains>,
    /// The store that its header names, be it damaged or not.
    claimed: Option<StoreId>,
    /// The number that its header names, if that is intact.
    named: Option<u64>,
}

impl Candidate {
    /// Whether its header is intact and another file's.
    fn is_stray(&self) -> bool {
        self.named.is_some_and(|named| named != self.number)
    }
}

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

pub(super) fn look(
    dir: &Path,
    options: &Options,
    ledger: &Ledger<'_>,
    damage: Error,
) -> Result<Sources> {
    let vfs = &*options.env.vfs;
    let mut candidates = candidates(vfs, dir, ledger)?;
    let store = whose(dir, &candidates)?;
    let fixed = fixed(dir, options, store, &candidates)?;
    ledger.note([damage]);
    candidates.retain(|candidate| {
        let ours = is_ours(candidate, &fixed);
        if !ours {
            ledger.ignore(&candidate.name);
        }
        ours
    });
    let next_number = candidates.iter().map(|c| c.number).max().unwrap_or(0);
    let mut logs = Vec::new();
    let mut segments = Vec::new();
    for candidate in candidates {
        ledger.expect(length(vfs, &candidate.path));
        match candidate.remains {
            Some(remains) => segments.push((candidate.number, remains)),
            None => logs.push((candidate.number, candidate.path)),
        }
    }
    let covered: Vec<(u64, u64)> = segments
        .iter()
        .filter_map(|(_, remains)| Some(remains.footer()?.sequences))
        .collect();
    let last = covered.iter().map(|&(_, last)| last).max().unwrap_or(0);
    let position = segments
        .iter()
        .filter_map(|(_, remains)| remains.footer()?.position)
        .max();
    let mut ranked = rank_runs(segments);
    ranked.extend(rank_logs(vfs, &fixed, logs)?);
    ranked.sort_by(|a, b| {
        let newer = b.rank.cmp(&a.rank);
        newer
            .then(a.first.cmp(&b.first))
            .then(b.number.cmp(&a.number))
    });
    Ok(Sources {
        fixed,
        origins: ranked.into_iter().map(|ranked| ranked.origin).collect(),
        next_number: next_number.saturating_add(1),
        next_sequence: last.saturating_add(1),
        position,
        complete: false,
        covered,
    })
}

/// The files with names of the store's own. One that the disk does not give far enough to
/// tell whose it is counts as lost.
fn candidates(vfs: &dyn Vfs, dir: &Path, ledger: &Ledger<'_>) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for name in vfs.list(dir).map_err(|e| Error::io("list", dir, e))? {
        let Some((number, kind)) = numbered(&name) else {
            continue;
        };
        let path = dir.join(&name);
        match candidate(vfs, &path, &name, number, kind) {
            Ok(candidate) => found.push(candidate),
            Err(error) if is_refused(&error) => return Err(error),
            Err(damage @ Error::Io { .. }) => {
                let size = length(vfs, &path);
                ledger.expect(size);
                ledger.lose_keys(Lost::new(path, 0..size, damage));
            }
            // No file at all.
            Err(_) => ledger.ignore(&name),
        }
    }
    found.sort_by_key(|candidate| candidate.number);
    Ok(found)
}

/// Damage is no error here, but what the disk does not give is.
fn candidate(
    vfs: &dyn Vfs,
    path: &Path,
    name: &str,
    number: u64,
    kind: FileKind,
) -> Result<Candidate> {
    is_file(vfs, path)?;
    let (remains, claimed, named) = match kind {
        FileKind::Segment => {
            let remains = Remains::open(vfs, path, None)?;
            if let Some(error) = remains.unread() {
                return Err(error.clone());
            }
            let named = remains.header().map(|header| header.number);
            let claimed = remains.claimed();
            (Some(remains), claimed, named)
        }
        _ => {
            let file = vfs.open(path).map_err(|e| Error::io("open", path, e))?;
            match header::read(&*file, path, FileKind::Log) {
                Ok(header) => (None, Some(header.store), Some(header.number)),
                Err(Error::Corrupt(_)) => (None, header::claimed(&*file), None),
                Err(error) => return Err(error),
            }
        }
    };
    Ok(Candidate {
        name: name.to_owned(),
        path: path.to_path_buf(),
        number,
        remains,
        claimed,
        named,
    })
}

/// The store that most files are of, going by headers that are intact if there are any.
fn whose(dir: &Path, candidates: &[Candidate]) -> Result<StoreId> {
    let is_intact = |candidate: &&Candidate| candidate.named == Some(candidate.number);
    let any_intact = candidates.iter().any(|candidate| is_intact(&candidate));
    let mut votes: Vec<(usize, StoreId)> = Vec::new();
    for candidate in candidates.iter().filter(|c| is_intact(c) || !any_intact) {
        let Some(store) = candidate.claimed else {
            continue;
        };
        match votes.iter_mut().find(|(_, of)| *of == store) {
            Some((count, _)) => *count += 1,
            None => votes.push((1, store)),
        }
    }
    votes.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
    match votes.as_slice() {
        [(_, store)] => Ok(*store),
        [(most, store), (second, _), ..] if most > second => Ok(*store),
        _ => Err(Error::corrupt(
            &dir.join(manifest::FILE_NAME),
            0,
            "a manifest, or files of one store whose headers say which",
            format!("neither: headers of {} stores", votes.len()),
        )),
    }
}

/// What footers say is fixed, or the caller.
fn fixed(dir: &Path, options: &Options, store: StoreId, candidates: &[Candidate]) -> Result<Fixed> {
    let of_store = |candidate: &&Candidate| candidate.claimed == Some(store);
    let remains = || {
        let all = candidates.iter().filter(of_store);
        all.filter_map(|candidate| candidate.remains.as_ref())
    };
    if let Some(footer) = remains().find_map(Remains::footer) {
        return Ok(Fixed {
            store,
            policy: footer.policy.clone(),
            stamps: footer.stamps,
            seed: footer.seed,
        });
    }
    let Some(canon) = &options.canon else {
        return Err(Error::InvalidOption {
            option: "canon",
            expected: "give the policy that the store was created with, as neither a manifest nor a segment of it says which".to_owned(),
            found: "left out".to_owned(),
        });
    };
    let random = |e| Error::io("get random bytes for", dir, e);
    Ok(Fixed {
        store,
        policy: canon.text().to_owned(),
        stamps: remains()
            .find_map(|remains| remains.stamps(&*options.env.vfs))
            .or(options.stamps)
            .unwrap_or(true),
        seed: u64::from_le_bytes(options.env.random().map_err(random)?),
    })
}

/// A header that is intact decides; of one that is damaged, what it still says, or the
/// footer's hash seed, which is the store's own.
fn is_ours(candidate: &Candidate, fixed: &Fixed) -> bool {
    if candidate.is_stray() {
        return false;
    }
    let says_so = candidate.claimed == Some(fixed.store);
    let Some(remains) = &candidate.remains else {
        return says_so;
    };
    match remains.header() {
        Some(_) => says_so && fixed.agrees(remains),
        None if remains.footer().is_some() => fixed.agrees(remains),
        None => says_so,
    }
}

/// What the segments of one run have in common: their frames and inputs.
type Kin = ((u64, u64), Vec<u64>);

/// A segment whose footer is intact.
struct Whole {
    kin: Kin,
    first: Vec<u8>,
    last: Vec<u8>,
    number: u64,
    remains: Remains,
}

/// Segments of the same frames and inputs are a run, as far as their keys do not overlap:
/// those of an attempt that failed can lie beside those of the next.
fn rank_runs(segments: Vec<(u64, Remains)>) -> Vec<Ranked> {
    let mut ranked = Vec::new();
    let mut whole = Vec::new();
    for (number, remains) in segments {
        match remains.footer() {
            Some(footer) => whole.push(Whole {
                kin: (footer.sequences, footer.inputs.clone()),
                first: footer.first.clone(),
                last: footer.last.clone(),
                number,
                remains,
            }),
            // Nothing tells when it was written: it never wins.
            None => ranked.push(Ranked::run((0, 0), number, remains)),
        }
    }
    whole.sort_by(|a, b| (&a.kin, &a.first, a.number).cmp(&(&b.kin, &b.first, b.number)));
    // Each with its last key.
    let mut runs: Vec<(Kin, Vec<u8>, Ranked)> = Vec::new();
    for segment in whole {
        let of_run =
            |run: &&mut (Kin, Vec<u8>, Ranked)| run.0 == segment.kin && run.1 < segment.first;
        match runs.iter_mut().find(of_run) {
            Some((_, last, run)) => {
                run.push(segment.remains);
                *last = segment.last;
            }
            None => {
                let run = Ranked::run(segment.kin.0, segment.number, segment.remains);
                runs.push((segment.kin, segment.last, run));
            }
        }
    }
    ranked.extend(runs.into_iter().map(|(_, _, run)| run));
    ranked
}

fn rank_logs(vfs: &dyn Vfs, fixed: &Fixed, logs: Vec<(u64, PathBuf)>) -> Result<Vec<Ranked>> {
    let first = |number, path: &Path| match LogReader::open(vfs, path, fixed.store, number) {
        Ok(reader) => Ok(Some(reader.first_sequence())),
        Err(error) if is_refused(&error) => Err(error),
        Err(_) => Ok(None),
    };
    let firsts = logs.iter().map(|(number, path)| first(*number, path));
    let firsts: Vec<Option<u64>> = firsts.collect::<Result<_>>()?;
    let ranked = logs
        .into_iter()
        .zip(&firsts)
        .map(|((number, path), first)| {
            let next = firsts.iter().flatten();
            let next = next.filter(|&&next| first.is_some_and(|first| next > first));
            Ranked {
                // One whose header is damaged is taken for the newest: logs are.
                rank: first.map_or(u64::MAX, |first| first.saturating_mul(2).saturating_sub(1)),
                first: first.unwrap_or(0),
                number,
                origin: Origin::Log(LogFile {
                    path,
                    number,
                    known: Known {
                        first: *first,
                        length: None,
                        until: next.min().copied(),
                    },
                }),
            }
        })
        .collect();
    Ok(ranked)
}

impl Ranked {
    fn run(sequences: (u64, u64), number: u64, remains: Remains) -> Ranked {
        let mut run = Ranked {
            rank: sequences.1.saturating_mul(2),
            first: sequences.0,
            number,
            origin: Origin::Run(Vec::new()),
        };
        run.push(remains);
        run
    }

    fn push(&mut self, remains: Remains) {
        if let Origin::Run(pieces) = &mut self.origin {
            let size = remains.size();
            let remains = Box::new(remains);
            pieces.push(Piece::Segment { remains, size });
        }
    }
}
