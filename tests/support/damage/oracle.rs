//! What must come of damage, told without the code under test.

use super::specimen::{Files, LOG_HEADER, Specimen};

/// What must come of some damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Whoever meets it gets an error, and `verify` finds it.
    Error,
    /// All answers are right, as if the live log had so many frames and no more; the
    /// rest is reported as a cut at that offset, if anything is left of it.
    Frames(usize, Option<u64>),
}

/// What must come of a live log that has these bytes: a flipped byte below the largest
/// offset that a later frame knows to be synced is an error; else the first bad frame
/// is the end.
fn expect_of_live_log(specimen: &Specimen, original: &[u8], bytes: &[u8]) -> Expect {
    let same = |from: usize, end: usize| bytes.get(from..end) == original.get(from..end);
    if !same(0, LOG_HEADER) {
        return Expect::Error;
    }
    let frames = &specimen.frames;
    let good = |place: usize| same(frames[place].offset, frames[place].end);
    let end = frames.last().map_or(LOG_HEADER, |frame| frame.end);
    let bad = (0..frames.len()).find(|&place| !good(place));
    let (count, offset) = match bad {
        Some(place) => (place, frames[place].offset),
        None => (frames.len(), end),
    };
    let knows = |place: usize| good(place) && frames[place].synced > offset;
    if (count..frames.len()).any(knows) {
        return Expect::Error;
    }
    let rest = bytes.get(offset..).unwrap_or_default();
    let is_cut = rest.iter().any(|&byte| byte != 0);
    Expect::Frames(count, is_cut.then_some(offset as u64))
}

/// What must come of a store that has these files instead of its own.
///
/// So nothing comes of bytes in `LOCK`, of bytes behind the recorded length of a log,
/// and of files under other names.
pub fn expect(specimen: &Specimen, files: &Files) -> Expect {
    let mut expected = Expect::Frames(specimen.frames.len(), None);
    for (name, original) in &specimen.files {
        let Some(bytes) = files.get(name) else {
            if name == "LOCK" {
                continue;
            }
            return Expect::Error;
        };
        if Some(name) == specimen.live.as_ref() {
            expected = expect_of_live_log(specimen, original, bytes);
            if expected == Expect::Error {
                return expected;
            }
        } else if let Some(&length) = specimen.recorded.get(name) {
            if bytes.get(..length) != original.get(..length) {
                return Expect::Error;
            }
        } else if name != "LOCK" && bytes != original {
            return Expect::Error;
        }
    }
    expected
}
