//! The small file that names the live segments and logs.
//!
//! The manifest is one header (see `header`, file number 0) whose fields say
//! everything; it is replaced whole at every change: written to `MANIFEST.tmp`,
//! synced, renamed to `MANIFEST`, and the directory synced.
//!
//! ```text
//! 1   str   the canonicalization policy's text; must be understood
//! 2   u8    1 if entries carry the time first seen, else 0; must be understood
//! 3   u64   hash seed; must be understood
//! 4   u64   the number that the next file gets; must be understood
//! 5   u64   the sequence number below which everything is in segments; must be understood
//! 6   u64   position of the last batch in segments; absent if none
//! 7   run   one field for each run, newest first; must be understood:
//!           for each segment, in the order of keys:
//!           u64 number, u64 size in bytes, u128 content hash
//! 8   log   one field for each live log, oldest first; must be understood:
//!           u64 number, u64 sequence number of its first frame,
//!           u64 final length in bytes, or 0 while it is not known
//! 9   u64   keys by state (seen, claimed, fetched, failed: one u64 each), as far as
//!           frames are in segments; must be understood; absent in version 1
//! 10  u64   the epoch of the last claims; must be understood; absent if there were none
//! 11  u64   ages in seconds at which records expire (seen, fetched, failed: one u64
//!           each, 2^64 - 1 for never); must be understood; absent if none do
//! 12       what was chosen for filters (see `filter/choice.rs`); absent below version 3
//! 13  u8    how keys of new segments are coded: 0 plain, 2 dense; absent if they are coded
//!           as by default
//! ```

use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::filter::FilterChoice;
use crate::header::{self, FileKind, Header, MAX_NUMBER, StoreId, malformed, unknown_field};
use crate::record::{Counts, Expiry};
use crate::segment::SegmentRef;
use crate::vfs::{File, Vfs, write_all_at};
use crate::wire::{Malformed, Reader, put_field};
use std::path::Path;
use std::sync::Arc;

pub(crate) const FILE_NAME: &str = "MANIFEST";
pub(crate) const TEMPORARY: &str = "MANIFEST.tmp";

/// An age that no record comes to.
const NEVER: u64 = u64::MAX;

mod tag {
    use crate::wire::MUST_UNDERSTAND;

    pub(super) const POLICY: u16 = 1 | MUST_UNDERSTAND;
    pub(super) const STAMPS: u16 = 2 | MUST_UNDERSTAND;
    pub(super) const SEED: u16 = 3 | MUST_UNDERSTAND;
    pub(super) const NEXT_NUMBER: u16 = 4 | MUST_UNDERSTAND;
    pub(super) const SEQUENCE: u16 = 5 | MUST_UNDERSTAND;
    pub(super) const POSITION: u16 = 6;
    pub(super) const RUN: u16 = 7 | MUST_UNDERSTAND;
    pub(super) const LOG: u16 = 8 | MUST_UNDERSTAND;
    pub(super) const COUNTS: u16 = 9 | MUST_UNDERSTAND;
    pub(super) const EPOCH: u16 = 10 | MUST_UNDERSTAND;
    pub(super) const EXPIRY: u16 = 11 | MUST_UNDERSTAND;
    pub(super) const FILTERS: u16 = 12;
    pub(super) const CODEC: u16 = 13;
}

/// What a store consists of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) store: StoreId,
    pub(crate) policy: String,
    pub(crate) stamps: bool,
    pub(crate) seed: u64,
    /// Numbers only grow, so that no file ever takes another's place.
    pub(crate) next_number: u64,
    /// Frames below this number are in segments.
    pub(crate) sequence: u64,
    /// The position of the last batch that is in segments.
    pub(crate) position: Option<u64>,
    /// Newest first; segments in the order of keys.
    pub(crate) runs: Vec<Vec<SegmentRef>>,
    /// Oldest first.
    pub(crate) logs: Vec<LogRef>,
    /// Keys by state, as far as frames are in segments; `None` in a manifest of version 1,
    /// where every entry of a segment is one.
    pub(crate) counts: Option<Counts>,
    /// The epoch of the last claims; 0 if there were none.
    pub(crate) epoch: u64,
    pub(crate) expiry: Expiry,
    /// What was chosen when it was last opened for writing.
    pub(crate) filters: FilterChoice,
    pub(crate) codec: Codec,
}

/// A log as the manifest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogRef {
    pub(crate) number: u64,
    pub(crate) first_sequence: u64,
    /// The final length, once it is known.
    pub(crate) length: Option<u64>,
}

/// Why a manifest was not saved.
#[derive(Debug)]
pub(crate) enum SaveError {
    /// The old manifest is in force.
    Unchanged(Error),
    /// The new one may be in force or not, after a power loss: inputs must stay.
    Unknown(Error),
}

impl Manifest {
    /// Reads the manifest of the store in `dir`. `None` if there is none.
    pub(crate) fn load(vfs: &dyn Vfs, dir: &Path) -> Result<Option<Manifest>> {
        let path = dir.join(FILE_NAME);
        let file = match vfs.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", &path, error)),
        };
        let header = header::read(&*file, &path, FileKind::Manifest)?;
        let length = file
            .len()
            .map_err(|e| Error::io("find the length of", &path, e))?;
        if length != header.len {
            return Err(Error::corrupt(
                &path,
                header.len,
                "the end of the file",
                format!("{} more bytes", length - header.len),
            ));
        }
        header.check_identity(&path, header.store, 0)?;
        Manifest::decode(&path, &header).map(Some)
    }

    fn decode(path: &Path, header: &Header) -> Result<Manifest> {
        let base = 48;
        let bad = |m| malformed(path, base, m);
        let mut policy = None;
        let mut stamps = None;
        let mut seed = None;
        let mut next_number = None;
        let mut sequence = None;
        let mut position = None;
        let mut runs = Vec::new();
        let mut logs = Vec::new();
        let mut counts = None;
        let mut epoch = 0;
        let mut expiry = Expiry::default();
        let mut filters = None;
        let mut codec = Codec::default();
        let mut reader = Reader::new(&header.fields);
        while !reader.is_empty() {
            let at = reader.offset();
            let (field, bytes) = reader.field().map_err(bad)?;
            let in_field = |m: Malformed| malformed(path, base + (at + 6) as u64, m);
            let mut value = Reader::new(bytes);
            match field {
                tag::POLICY => {
                    let text = std::str::from_utf8(bytes).map_err(|e| {
                        in_field(Malformed {
                            at: e.valid_up_to(),
                            expected: "a policy's text in UTF-8",
                        })
                    })?;
                    policy = Some(text.to_string());
                }
                tag::STAMPS => match value.u8("0 or 1 for stamps").map_err(in_field)? {
                    0 => stamps = Some(false),
                    1 => stamps = Some(true),
                    other => {
                        return Err(Error::corrupt(
                            path,
                            base + (at + 6) as u64,
                            "0 or 1 for stamps",
                            other.to_string(),
                        ));
                    }
                },
                tag::SEED => seed = Some(value.u64("a hash seed").map_err(in_field)?),
                tag::NEXT_NUMBER => {
                    next_number = Some(value.u64("a file number").map_err(in_field)?);
                }
                tag::SEQUENCE => {
                    sequence = Some(value.u64("a sequence number").map_err(in_field)?);
                }
                tag::POSITION => position = Some(value.u64("a position").map_err(in_field)?),
                tag::RUN => {
                    let mut run = Vec::new();
                    while !value.is_empty() {
                        run.push(decode_segment(&mut value).map_err(in_field)?);
                    }
                    runs.push(run);
                }
                tag::LOG => logs.push(LogRef::decode(&mut value).map_err(in_field)?),
                tag::COUNTS => {
                    let mut next = || value.u64("a number of keys").map_err(in_field);
                    counts = Some(Counts([next()?, next()?, next()?, next()?]));
                }
                tag::EPOCH => epoch = value.u64("an epoch").map_err(in_field)?,
                tag::EXPIRY => {
                    let mut next = || {
                        let age = value.u64("an age in seconds").map_err(in_field)?;
                        Ok::<_, Error>((age != NEVER).then_some(age))
                    };
                    expiry = Expiry {
                        seen: next()?,
                        fetched: next()?,
                        failed: next()?,
                    };
                }
                tag::FILTERS => {
                    filters = Some(FilterChoice::decode(&mut value).map_err(in_field)?);
                }
                // One that this build does not know is the default: it is about new segments only.
                tag::CODEC => {
                    let number = value.u8("a codec").map_err(in_field)?;
                    codec = Codec::from_number(number).unwrap_or_default();
                }
                other => unknown_field(path, other, "fields 1 to 13")?,
            }
        }
        let (Some(policy), Some(stamps), Some(seed), Some(next_number), Some(sequence)) =
            (policy, stamps, seed, next_number, sequence)
        else {
            return Err(Error::corrupt(
                path,
                base,
                "the fields 1 to 5 of a manifest",
                "one of them is missing",
            ));
        };
        let since = [(9, 2, counts.is_none()), (12, 3, filters.is_none())];
        let lacks = |&&(_, since, lacks): &&(_, u32, bool)| lacks && header.version >= since;
        if let Some((field, ..)) = since.iter().find(lacks) {
            let version = header.version;
            let expected = format!("the field {field} of a manifest of version {version}");
            return Err(Error::corrupt(path, base, expected, "none"));
        }
        let manifest = Manifest {
            store: header.store,
            policy,
            stamps,
            seed,
            next_number,
            sequence,
            position,
            runs,
            logs,
            counts,
            epoch,
            expiry,
            filters: filters.unwrap_or_default(),
            codec,
        };
        manifest.check(path)?;
        Ok(manifest)
    }

    /// Refuses numbers that no manifest can have, be it read from `path` or about to be
    /// saved.
    pub(crate) fn check(&self, path: &Path) -> Result<()> {
        match self.contradiction() {
            None => Ok(()),
            Some((expected, found)) => Err(Error::corrupt(path, 48, expected, found)),
        }
    }

    /// What numbers of a manifest cannot be, whatever its checksum says: what would
    /// have to hold, and what is there.
    fn contradiction(&self) -> Option<(String, String)> {
        let segments = || self.runs.iter().flatten();
        let mut numbers: Vec<u64> = segments().map(|segment| segment.number).collect();
        numbers.extend(self.logs.iter().map(|log| log.number));
        numbers.sort_unstable();
        if let Some([twice, _]) = numbers.windows(2).find(|pair| pair.first() == pair.last()) {
            return Some(("each file named once".into(), format!("{twice} twice")));
        }
        if let Some(&last) = numbers.last().filter(|&&last| last >= self.next_number) {
            let next = self.next_number;
            let expected = format!("file numbers below the next one, {next}");
            return Some((expected, last.to_string()));
        }
        for (what, number) in [("file", self.next_number), ("frame", self.sequence)] {
            if !(1..=MAX_NUMBER).contains(&number) {
                let expected = format!("the number of the next {what}, 1 to {MAX_NUMBER}");
                return Some((expected, number.to_string()));
            }
        }
        let mut firsts = self.logs.iter().map(|log| log.first_sequence);
        if let Some(first) = firsts.find(|first| !(1..=MAX_NUMBER).contains(first)) {
            let expected = format!("the number of a log's first frame, 1 to {MAX_NUMBER}");
            return Some((expected, first.to_string()));
        }
        if self.epoch > MAX_NUMBER {
            let expected = format!("an epoch of at most {MAX_NUMBER}");
            return Some((expected, self.epoch.to_string()));
        }
        if self.counts.is_some_and(|counts| counts.sum() > MAX_NUMBER) {
            let expected = format!("at most {MAX_NUMBER} keys");
            return Some((expected, "more".into()));
        }
        // So that the bytes of other files can be counted with them.
        let mut sizes = segments().map(|segment| segment.size);
        let sum = sizes.try_fold(0u64, u64::checked_add);
        sum.is_none_or(|sum| sum > MAX_NUMBER).then(|| {
            let expected = format!("segments of at most {MAX_NUMBER} bytes in all");
            (expected, "larger ones".into())
        })
    }

    /// The manifest's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        put_field(&mut fields, tag::POLICY, self.policy.as_bytes());
        put_field(&mut fields, tag::STAMPS, &[u8::from(self.stamps)]);
        put_field(&mut fields, tag::SEED, &self.seed.to_le_bytes());
        put_field(
            &mut fields,
            tag::NEXT_NUMBER,
            &self.next_number.to_le_bytes(),
        );
        put_field(&mut fields, tag::SEQUENCE, &self.sequence.to_le_bytes());
        if let Some(position) = self.position {
            put_field(&mut fields, tag::POSITION, &position.to_le_bytes());
        }
        for run in &self.runs {
            let mut value = Vec::with_capacity(run.len() * 32);
            for segment in run {
                encode_segment(segment, &mut value);
            }
            put_field(&mut fields, tag::RUN, &value);
        }
        for log in &self.logs {
            let mut value = Vec::with_capacity(24);
            log.encode(&mut value);
            put_field(&mut fields, tag::LOG, &value);
        }
        if let Some(Counts(counts)) = self.counts {
            let value = counts.map(u64::to_le_bytes);
            put_field(&mut fields, tag::COUNTS, value.as_flattened());
        }
        if self.epoch > 0 {
            put_field(&mut fields, tag::EPOCH, &self.epoch.to_le_bytes());
        }
        if !self.expiry.is_never() {
            let Expiry {
                seen,
                fetched,
                failed,
            } = self.expiry;
            let value = [seen, fetched, failed].map(|age| age.unwrap_or(NEVER).to_le_bytes());
            put_field(&mut fields, tag::EXPIRY, value.as_flattened());
        }
        put_field(&mut fields, tag::FILTERS, &self.filters.encode());
        if self.codec != Codec::default() {
            put_field(&mut fields, tag::CODEC, &[self.codec.number()]);
        }
        header::encode(FileKind::Manifest, self.store, 0, &fields)
    }

    /// Puts this manifest in force.
    pub(crate) fn save(&self, vfs: &dyn Vfs, dir: &Path) -> Result<(), SaveError> {
        let path = dir.join(FILE_NAME);
        let temporary = dir.join(TEMPORARY);
        let file = self
            .write_temporary(vfs, &temporary)
            .map_err(SaveError::Unchanged)?;
        vfs.rename(&temporary, &path)
            .map_err(|e| SaveError::Unknown(Error::io("rename to", &path, e)))?;
        // Kept open up to here, so that there is a descriptor for the directory: that
        // it cannot be opened must not leave the change half done.
        drop(file);
        vfs.sync_dir(dir)
            .map_err(|e| SaveError::Unknown(Error::io("sync", dir, e)))
    }

    fn write_temporary(&self, vfs: &dyn Vfs, path: &Path) -> Result<Arc<dyn File>> {
        // One that a crash or a full disk left behind is of no use.
        match vfs.remove(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io("remove", path, error)),
        }
        let file = vfs.create(path).map_err(|e| Error::io("create", path, e))?;
        write_all_at(&*file, &self.encode(), 0).map_err(|e| Error::io("write", path, e))?;
        file.sync().map_err(|e| Error::io("sync", path, e))?;
        Ok(file)
    }
}

fn encode_segment(segment: &SegmentRef, out: &mut Vec<u8>) {
    out.extend_from_slice(&segment.number.to_le_bytes());
    out.extend_from_slice(&segment.size.to_le_bytes());
    out.extend_from_slice(&segment.content.to_le_bytes());
}

fn decode_segment(reader: &mut Reader<'_>) -> Result<SegmentRef, Malformed> {
    Ok(SegmentRef {
        number: reader.u64("a segment's number")?,
        size: reader.u64("a segment's size")?,
        content: u128::from_le_bytes(reader.array("a segment's content hash")?),
    })
}

impl LogRef {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.first_sequence.to_le_bytes());
        out.extend_from_slice(&self.length.unwrap_or(0).to_le_bytes());
    }

    fn decode(reader: &mut Reader<'_>) -> Result<LogRef, Malformed> {
        Ok(LogRef {
            number: reader.u64("a log's number")?,
            first_sequence: reader.u64("a log's first sequence number")?,
            length: match reader.u64("a log's length")? {
                0 => None,
                length => Some(length),
            },
        })
    }
}

impl SaveError {
    pub(crate) fn into_error(self) -> Error {
        match self {
            SaveError::Unchanged(error) | SaveError::Unknown(error) => error,
        }
    }
}

#[cfg(test)]
mod tests;
