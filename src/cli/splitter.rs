//! From bytes to lines, in bounded memory.
//!
//! A line ends with `\n` or `\r\n`, or, when records are separated by NUL, with
//! NUL alone. Blank lines count but are left out, and so is a byte order mark at the
//! very start. Of a line that no key can be as long as, only the beginning and
//! the length are kept.

use super::lines::{Chunk, Form, SHOWN};
use std::io::{self, Read};
use std::sync::Arc;

/// Room for the read buffer: a line of the greatest length, and much more to read
/// in one call.
const BUFFER: usize = 512 << 10;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Splits one input.
pub(super) struct Splitter<R> {
    input: R,
    form: Form,
    source: Arc<str>,
    separator: u8,
    /// `buffer[..filled]` is read and not yet given out, and
    /// `buffer[..searched]` of it has no separator.
    buffer: Vec<u8>,
    filled: usize,
    searched: usize,
    lines: u64,
    at_start: bool,
    too_long: Option<TooLong>,
}

/// A line whose beginning was dropped.
struct TooLong {
    beginning: Vec<u8>,
    length: usize,
    ends_in_cr: bool,
}

impl<R: Read> Splitter<R> {
    pub(super) fn new(input: R, source: &str, form: Form, separator: u8) -> Self {
        Splitter {
            input,
            form,
            source: source.into(),
            separator,
            buffer: vec![0; BUFFER],
            filled: 0,
            searched: 0,
            lines: 0,
            at_start: true,
            too_long: None,
        }
    }

    /// Reads once and gives the lines that are now whole, possibly none; `None`
    /// at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Chunk>> {
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let read = match self.input.read(room) {
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                return Ok(Some(Chunk::new(self.source.clone())));
            }
            Err(e) => return Err(e),
        };
        let at_end = read == 0;
        if at_end && self.filled == 0 && self.too_long.is_none() {
            return Ok(None);
        }
        self.filled += read;
        Ok(Some(self.split(at_end)))
    }

    fn split(&mut self, at_end: bool) -> Chunk {
        let mut chunk = Chunk::new(self.source.clone());
        let buffer = std::mem::take(&mut self.buffer);
        let data = buffer.get(..self.filled).unwrap_or_default();
        let mut start = 0;
        if self.at_start {
            if !at_end && data.len() < BOM.len() && BOM.starts_with(data) {
                self.buffer = buffer;
                return chunk;
            }
            if data.starts_with(BOM) {
                start = BOM.len();
                self.searched = start;
            }
            self.at_start = false;
        }
        loop {
            let rest = data.get(self.searched..).unwrap_or_default();
            let Some(found) = rest.iter().position(|&b| b == self.separator) else {
                break;
            };
            let end = self.searched + found + 1;
            self.line(&mut chunk, data.get(start..end).unwrap_or_default());
            start = end;
            self.searched = end;
        }
        let rest = data.get(start..).unwrap_or_default();
        if at_end {
            self.line(&mut chunk, rest);
            start = data.len();
        } else if self.too_long.is_some() || rest.len() > self.form.longest() + 1 {
            self.drop_beginning(rest);
            start = data.len();
        }
        self.keep_from(start, buffer);
        chunk
    }

    /// Moves what is left to the front of the buffer.
    fn keep_from(&mut self, start: usize, mut buffer: Vec<u8>) {
        buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
        self.searched = self.filled;
        self.buffer = buffer;
    }

    /// Takes one line with its ending; without one at the end of the input.
    fn line(&mut self, chunk: &mut Chunk, line: &[u8]) {
        let (text, ending) = self.parts(line);
        if let Some(mut long) = self.too_long.take() {
            self.lines += 1;
            long.length += text.len();
            if text.is_empty() && long.ends_in_cr && ending == b"\n" && self.separator == b'\n' {
                long.length -= 1;
            }
            if long.length > 0 {
                chunk.push_too_long(self.lines, &long.beginning, long.length);
            }
            return;
        }
        if line.is_empty() {
            return;
        }
        self.lines += 1;
        let blank = text.is_empty() || (self.separator == b'\n' && text == b"\r");
        if !blank {
            chunk.push(&self.form, self.lines, text, ending);
        }
    }

    fn parts<'a>(&self, line: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let ending = match line {
            [.., b'\r', b'\n'] if self.separator == b'\n' => 2,
            [.., last] if *last == self.separator => 1,
            _ => 0,
        };
        line.split_at(line.len() - ending)
    }

    fn drop_beginning(&mut self, part: &[u8]) {
        let long = self.too_long.get_or_insert_with(|| TooLong {
            beginning: part.get(..SHOWN).unwrap_or(part).to_vec(),
            length: 0,
            ends_in_cr: false,
        });
        long.length += part.len();
        if let Some(last) = part.last() {
            long.ends_in_cr = *last == b'\r';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Canon;
    use crate::canon::MAX_KEY;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(self.1).min(room.len());
            let (now, later) = self.0.split_at(n);
            room[..n].copy_from_slice(now);
            self.0 = later;
            Ok(n)
        }
    }

    /// Number, whole line and, if it is rejected, why.
    fn split(bytes: &[u8], step: usize, separator: u8) -> Vec<(u64, Vec<u8>, Option<String>)> {
        let mut splitter = Splitter::new(
            Slow(bytes, step),
            "test",
            Form::Urls(Canon::raw()),
            separator,
        );
        let mut lines = Vec::new();
        while let Some(chunk) = splitter.next().unwrap() {
            for line in &chunk.lines {
                let rejected = chunk.key(line).err().map(ToString::to_string);
                lines.push((line.number, chunk.whole(line).to_vec(), rejected));
            }
        }
        lines
    }

    fn check(bytes: &[u8], separator: u8, expected: &[(u64, &[u8])]) {
        for step in [1, 2, 3, 7, usize::MAX] {
            let lines = split(bytes, step, separator);
            let lines: Vec<_> = lines.iter().map(|(n, l, _)| (*n, l.as_slice())).collect();
            assert_eq!(lines, expected, "in steps of {step}");
        }
    }

    #[test]
    fn endings_are_kept_and_blank_lines_counted() {
        check(
            b"a\n\nb\r\n\r\nc\rd\n e \n\nf",
            b'\n',
            &[
                (1, b"a\n"),
                (3, b"b\r\n"),
                (5, b"c\rd\n"),
                (6, b" e \n"),
                (8, b"f"),
            ],
        );
        check(b"", b'\n', &[]);
        check(b"\n\r\n\r", b'\n', &[]);
    }

    #[test]
    fn a_bom_is_dropped_at_the_very_start_only() {
        check(
            b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n",
            b'\n',
            &[(1, b"a\n"), (2, b"\xEF\xBB\xBFb\n")],
        );
        check(b"\xEF\xBB\xBF", b'\n', &[]);
        check(b"\xEF\xBB", b'\n', &[(1, b"\xEF\xBB")]);
    }

    #[test]
    fn nul_separated_records_keep_line_ends() {
        check(
            b"a\nb\0\0c\r\n\0d",
            0,
            &[(1, b"a\nb\0"), (3, b"c\r\n\0"), (4, b"d")],
        );
    }

    #[test]
    fn lengths_of_long_lines_are_exact_whatever_the_reads() {
        for length in [65_535, 65_536, 65_537, 600_000, 4 << 20] {
            for ending in [&b"\n"[..], b"\r\n", b""] {
                let mut bytes = b"first\n".to_vec();
                bytes.resize(6 + length, b'x');
                bytes.extend_from_slice(ending);
                if !ending.is_empty() {
                    bytes.extend_from_slice(b"last\n");
                }
                for step in [4_093, 65_536, usize::MAX] {
                    let lines = split(&bytes, step, b'\n');
                    let (number, line, rejected) = &lines[1];
                    assert_eq!(*number, 2);
                    if length <= MAX_KEY {
                        assert_eq!(line.len(), length + ending.len());
                        assert_eq!(*rejected, None);
                    } else {
                        let reason = rejected.as_deref().unwrap_or_default();
                        assert!(reason.contains(&format!(" {length} bytes")), "{reason}");
                    }
                    assert_eq!(lines.len(), if ending.is_empty() { 2 } else { 3 });
                }
            }
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let input = io::repeat(b'x').take(64 << 20);
        let mut splitter = Splitter::new(input, "test", Form::Urls(Canon::raw()), b'\n');
        let mut rejected = 0;
        while let Some(chunk) = splitter.next().unwrap() {
            assert!(splitter.buffer.len() <= BUFFER);
            rejected += chunk.lines.len();
        }
        assert_eq!(rejected, 1);
    }
}
