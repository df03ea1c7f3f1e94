//! Input lines for the fuzzers.

use super::lines::Form;
use super::splitter::Splitter;
use crate::Canon;
use std::io::{self, Read};

/// A line as `seen new` sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputLine {
    /// Its number, from 1.
    pub number: u64,
    /// With its own ending. Of one that is too long, the beginning.
    pub whole: Vec<u8>,
    /// Whether the input ended before the line did.
    pub open: bool,
    /// Its key, or why it is rejected.
    pub key: Result<Vec<u8>, String>,
}

/// The lines of an input that are not blank.
pub fn lines(input: impl Read, canon: &Canon, separator: u8) -> io::Result<Vec<InputLine>> {
    let mut splitter = Splitter::new(input, "input", Form::Urls(canon.clone()), separator);
    let mut lines = Vec::new();
    while let Some(chunk) = splitter.next()? {
        lines.extend(chunk.lines.iter().map(|line| InputLine {
            number: line.number,
            whole: chunk.whole(line).to_vec(),
            open: chunk.is_open(line),
            key: match chunk.key(line) {
                Ok(key) => Ok(key.0.to_vec()),
                Err(reason) => Err(reason.to_string()),
            },
        }));
    }
    Ok(lines)
}
