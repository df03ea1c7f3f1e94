//! A store without its manifest: what its files say of themselves.
//!
//! The headers say whose they are, the footers under which policy, and both from which
//! frames their entries are. Nothing says that a file is missing, but for frames that are
//! in none. Which of them count beside others, and which are newer, is in `order`.

use super::ledger::Ledger;
use super::logs::is_refused;
use super::order;
use super::report::Lost;
use super::sources::{Fixed, Sources, is_file, length};
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::filter::FilterChoice;
use crate::header::{self, FileKind, StoreId};
use crate::manifest;
use crate::options::Options;
use crate::record::Expiry;
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
    let (mut segments, mut logs) = (Vec::new(), Vec::new());
    for Candidate {
        number,
        path,
        remains,
        ..
    } in candidates
    {
        match remains {
            Some(remains) => segments.push((number, remains)),
            None => logs.push((number, path)),
        }
    }
    let footers = || segments.iter().filter_map(|(_, remains)| remains.footer());
    let covered: Vec<(u64, u64)> = footers().map(|footer| footer.sequences).collect();
    let last = covered.iter().map(|&(_, last)| last).max().unwrap_or(0);
    let position = footers().filter_map(|footer| footer.position).max();
    Ok(Sources {
        origins: order::arrange(vfs, &fixed, segments, logs, ledger)?,
        fixed,
        next_number: next_number.saturating_add(1),
        next_sequence: last.saturating_add(1),
        position,
        epoch: 0,
        expiry: Expiry::default(),
        filters: FilterChoice::default(),
        codec: Codec::default(),
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
