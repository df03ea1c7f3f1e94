//! What must hold between the files of a store.

use crate::error::{Error, Result};
use crate::manifest::{self, LogRef, Manifest};
use crate::segment::{Meta, Segment};
use std::path::Path;

/// What a segment says of itself agrees with the manifest.
pub(super) fn check_segment(dir: &Path, segment: &Segment, manifest: &Manifest) -> Result<()> {
    let said = (segment.seed(), segment.policy(), segment.stamps());
    let named = (manifest.seed, manifest.policy.as_str(), manifest.stamps);
    if said == named {
        return Ok(());
    }
    let path = dir.join(crate::segment::file_name(segment.meta().number));
    Err(Error::corrupt(
        &path,
        segment.meta().size,
        format!("a footer with the hash seed, policy and stamps {named:?} of the manifest"),
        format!("{said:?}"),
    ))
}

/// A run has segments, and their key ranges follow one another.
pub(super) fn check_run<'a>(dir: &Path, segments: impl Iterator<Item = &'a Meta>) -> Result<()> {
    let mut last: Option<&Meta> = None;
    for segment in segments {
        if let Some(before) = last
            && before.last >= segment.first
        {
            return Err(Error::corrupt(
                &dir.join(manifest::FILE_NAME),
                48,
                "runs of segments whose key ranges follow one another",
                format!(
                    "segment {} does not begin behind the end of segment {}",
                    segment.number, before.number
                ),
            ));
        }
        last = Some(segment);
    }
    if last.is_none() {
        return Err(Error::corrupt(
            &dir.join(manifest::FILE_NAME),
            48,
            "runs of segments",
            "a run without any",
        ));
    }
    Ok(())
}

/// Logs follow one another: `log` begins with frame `next`, and only the last has no
/// recorded length.
pub(super) fn check_log(dir: &Path, log: &LogRef, next: u64, is_last: bool) -> Result<()> {
    if log.first_sequence == next && (log.length.is_some() || is_last) {
        return Ok(());
    }
    Err(Error::corrupt(
        &dir.join(manifest::FILE_NAME),
        48,
        format!("logs that follow one another, the next from frame {next} on"),
        format!(
            "log {} from frame {} on, of length {:?}",
            log.number, log.first_sequence, log.length
        ),
    ))
}
