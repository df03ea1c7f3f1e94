//! Which files of a damaged store are read, and in what order.

use super::found;
use super::ledger::Ledger;
use super::logs::{LogFile, is_refused};
use super::run::Piece;
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::filter::FilterChoice;
use crate::header::StoreId;
use crate::log::Known;
use crate::manifest::Manifest;
use crate::options::Options;
use crate::record::Expiry;
use crate::segment::{Remains, SegmentRef};
use crate::store::place::{live_files, missing, no_manifest, numbered};
use crate::vfs::{Kind, Vfs};
use std::path::Path;

/// What is fixed of the store.
#[derive(Debug, Clone)]
pub(super) struct Fixed {
    pub(super) store: StoreId,
    pub(super) policy: String,
    pub(super) stamps: bool,
    pub(super) seed: u64,
}

/// Where entries come from: a run or a log.
#[derive(Debug)]
pub(super) enum Origin {
    Run(Vec<Piece>),
    Log(LogFile),
}

/// The damaged store as far as it can be told without its entries.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) fixed: Fixed,
    /// The newest first: where two have a key, the first has it.
    pub(super) origins: Vec<Origin>,
    /// Above the numbers of all files.
    pub(super) next_number: u64,
    /// Above the numbers of all frames that are in segments.
    pub(super) next_sequence: u64,
    /// The position of the last batch in segments.
    pub(super) position: Option<u64>,
    /// The epoch of the last claims, as far as a manifest tells.
    pub(super) epoch: u64,
    pub(super) expiry: Expiry,
    pub(super) filters: FilterChoice,
    pub(super) codec: Codec,
    /// Whether a manifest has said that these are all.
    pub(super) complete: bool,
    /// Without a manifest: the frames that are in segments, as first and last numbers.
    pub(super) covered: Vec<(u64, u64)>,
}

impl Sources {
    /// Looks at the store in `dir`. Its manifest alone decides what belongs to it; without
    /// one, the files say themselves.
    pub(super) fn look(dir: &Path, options: &Options, ledger: &Ledger<'_>) -> Result<Sources> {
        let vfs = &*options.env.vfs;
        match Manifest::load(vfs, dir) {
            Ok(Some(manifest)) => named(vfs, dir, &manifest, ledger),
            Ok(None) => found::look(dir, options, ledger, no_manifest(dir)),
            Err(error) if is_refused(&error) => Err(error),
            Err(damage) => found::look(dir, options, ledger, damage),
        }
    }
}

/// What the manifest names, and nothing else.
fn named(vfs: &dyn Vfs, dir: &Path, manifest: &Manifest, ledger: &Ledger<'_>) -> Result<Sources> {
    let fixed = Fixed {
        store: manifest.store,
        policy: manifest.policy.clone(),
        stamps: manifest.stamps,
        seed: manifest.seed,
    };
    ledger.expect(0);
    let mut origins = Vec::new();
    for (place, log) in manifest.logs.iter().enumerate() {
        let path = dir.join(crate::log::file_name(log.number));
        ledger.expect(length(vfs, &path));
        let next = manifest.logs.get(place + 1);
        let log = LogFile {
            path,
            number: log.number,
            known: Known {
                first: Some(log.first_sequence),
                length: log.length,
                until: next.map(|next| next.first_sequence),
            },
        };
        origins.insert(0, Origin::Log(log));
    }
    for run in &manifest.runs {
        let pieces = run
            .iter()
            .map(|segment| piece(vfs, dir, &fixed, segment, ledger))
            .collect::<Result<_>>()?;
        origins.push(Origin::Run(pieces));
    }
    let live: Vec<String> = live_files(manifest).collect();
    for name in vfs.list(dir).map_err(|e| Error::io("list", dir, e))? {
        if numbered(&name).is_some() && !live.contains(&name) {
            ledger.ignore(&name);
        }
    }
    Ok(Sources {
        fixed,
        origins,
        next_number: manifest.next_number,
        next_sequence: manifest.sequence,
        position: manifest.position,
        epoch: manifest.epoch,
        expiry: manifest.expiry,
        filters: manifest.filters,
        codec: manifest.codec,
        complete: true,
        covered: Vec::new(),
    })
}

/// A segment that the manifest names, as far as it is the one that is meant. A header that
/// is damaged says nothing against it: then its name and the footer decide.
fn piece(
    vfs: &dyn Vfs,
    dir: &Path,
    fixed: &Fixed,
    named: &SegmentRef,
    ledger: &Ledger<'_>,
) -> Result<Piece> {
    let path = dir.join(crate::segment::file_name(named.number));
    ledger.expect(length(vfs, &path));
    let size = named.size;
    let remains = match is_file(vfs, &path).and_then(|()| Remains::open(vfs, &path, Some(named))) {
        Ok(remains) => remains,
        Err(error) if is_refused(&error) => return Err(error),
        Err(error) => {
            let damage = missing(error);
            return Ok(Piece::Lost { path, size, damage });
        }
    };
    let header = remains.header();
    let identity = header.map(|header| header.check_identity(&path, fixed.store, named.number));
    if let Some(Err(damage)) = identity {
        return Ok(Piece::Lost { path, size, damage });
    }
    if let Some(footer) = remains.footer()
        && (footer.content != named.content || !fixed.agrees(&remains))
    {
        let damage = Error::corrupt(
            &path,
            size,
            format!("a footer with the content hash {:032x}", named.content),
            format!("{:032x}, or one of another store", footer.content),
        );
        return Ok(Piece::Lost { path, size, damage });
    }
    let remains = Box::new(remains);
    Ok(Piece::Segment { remains, size })
}

impl Fixed {
    /// Whether a segment's footer, if it is intact, says the same.
    pub(super) fn agrees(&self, remains: &Remains) -> bool {
        remains.footer().is_none_or(|footer| {
            (footer.seed, footer.policy.as_str(), footer.stamps)
                == (self.seed, self.policy.as_str(), self.stamps)
        })
    }
}

/// Refuses what is no file, before it is opened: a pipe would be waited for.
pub(super) fn is_file(vfs: &dyn Vfs, path: &Path) -> Result<()> {
    match vfs.kind(path).map_err(|e| Error::io("look at", path, e))? {
        Some(Kind::File) => Ok(()),
        None => Err(missing(Error::io(
            "open",
            path,
            std::io::ErrorKind::NotFound.into(),
        ))),
        Some(_) => Err(Error::corrupt(path, 0, "a file", "something else")),
    }
}

/// The length of a file, for progress: 0 if it cannot be told.
pub(super) fn length(vfs: &dyn Vfs, path: &Path) -> u64 {
    if is_file(vfs, path).is_err() {
        return 0;
    }
    vfs.open(path).and_then(|file| file.len()).unwrap_or(0)
}
