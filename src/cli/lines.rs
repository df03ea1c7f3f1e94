//! Lines of input with their keys, as they travel from the reader to the command.

use crate::canon::MAX_KEY;
use crate::{Canon, InvalidUrl, ToKey};
use std::borrow::Cow;
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// How much of a line that is too long is kept to show it.
pub(super) const SHOWN: usize = 64;

/// What the lines of an input are.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// URLs, of which this policy makes keys.
    Urls(Canon),
    /// A URL each, and what is said of it. Who takes them apart makes the keys.
    Records,
}

impl Form {
    /// The longest line that is kept whole.
    pub(super) fn longest(&self) -> usize {
        match self {
            Form::Urls(_) => MAX_KEY,
            // The longest URL may be escaped in JSON.
            Form::Records => 4 * MAX_KEY,
        }
    }

    fn key<'a>(&self, text: &'a [u8]) -> Result<Cow<'a, [u8]>, InvalidUrl> {
        match self {
            Form::Urls(canon) => canon.apply(text),
            Form::Records if text.len() > self.longest() => {
                Err(InvalidUrl::TooLong { length: text.len() })
            }
            Form::Records => Ok(Cow::Borrowed(text)),
        }
    }
}

/// The lines of some chunks, each with its chunk.
pub(super) fn each(chunks: &[Chunk]) -> impl Iterator<Item = (&Chunk, &Line)> {
    chunks
        .iter()
        .flat_map(|chunk| chunk.lines.iter().map(move |line| (chunk, line)))
}

/// Some lines of one input, not blank, in order.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The input in front of a line number.
    pub(super) source: Arc<str>,
    /// The lines.
    pub(super) lines: Vec<Line>,
    bytes: Vec<u8>,
    /// Keys that differ from their line.
    keys: Vec<u8>,
}

/// One line, as places in its chunk.
#[derive(Debug)]
pub(super) struct Line {
    /// Its number in its input, from 1.
    pub(super) number: u64,
    text: Range<usize>,
    /// Where its own ending ends.
    end: usize,
    key: KeyPlace,
}

#[derive(Debug)]
enum KeyPlace {
    Same,
    Made(Range<usize>),
    Rejected(InvalidUrl),
}

/// A key that the store takes as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ready<'a>(pub(super) &'a [u8]);

impl ToKey for Ready<'_> {
    fn to_key<'a>(&'a self, _: &Canon) -> Result<Cow<'a, [u8]>, InvalidUrl> {
        Ok(Cow::Borrowed(self.0))
    }
}

impl Chunk {
    pub(super) fn new(source: Arc<str>) -> Chunk {
        Chunk {
            source,
            lines: Vec::new(),
            bytes: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// What was given on the command line, as lines.
    pub(super) fn of_arguments(form: &Form, arguments: &[OsString]) -> Chunk {
        let mut chunk = Chunk::new("argument".into());
        for (number, argument) in (1..).zip(arguments) {
            chunk.push(form, number, argument.as_bytes(), b"");
        }
        chunk
    }

    /// Appends a line and its key.
    pub(super) fn push(&mut self, form: &Form, number: u64, text: &[u8], ending: &[u8]) {
        let key = match form.key(text) {
            Ok(key) if *key == *text => KeyPlace::Same,
            Ok(key) => {
                let start = self.keys.len();
                self.keys.extend_from_slice(&key);
                KeyPlace::Made(start..self.keys.len())
            }
            Err(reason) => KeyPlace::Rejected(reason),
        };
        self.place(number, text, ending, key);
    }

    /// Appends a line of which only the beginning was kept.
    pub(super) fn push_too_long(&mut self, number: u64, beginning: &[u8], length: usize) {
        let key = KeyPlace::Rejected(InvalidUrl::TooLong { length });
        self.place(number, beginning, &[], key);
    }

    fn place(&mut self, number: u64, text: &[u8], ending: &[u8], key: KeyPlace) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        let text = start..self.bytes.len();
        self.bytes.extend_from_slice(ending);
        let end = self.bytes.len();
        self.lines.push(Line {
            number,
            text,
            end,
            key,
        });
    }

    /// The line without its ending.
    pub(super) fn text(&self, line: &Line) -> &[u8] {
        self.bytes.get(line.text.clone()).unwrap_or_default()
    }

    /// The line with its own ending.
    pub(super) fn whole(&self, line: &Line) -> &[u8] {
        self.bytes
            .get(line.text.start..line.end)
            .unwrap_or_default()
    }

    /// Whether the input ended before the line did.
    pub(super) fn is_open(&self, line: &Line) -> bool {
        line.text.end == line.end
    }

    /// The line's key, or why the policy rejects it.
    pub(super) fn key<'a>(&'a self, line: &'a Line) -> Result<Ready<'a>, &'a InvalidUrl> {
        match &line.key {
            KeyPlace::Same => Ok(Ready(self.text(line))),
            KeyPlace::Made(place) => Ok(Ready(self.keys.get(place.clone()).unwrap_or_default())),
            KeyPlace::Rejected(reason) => Err(reason),
        }
    }
}
