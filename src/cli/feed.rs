//! A thread that reads the inputs, and the lines as they become ready.
//!
//! Reading, splitting and canonicalizing happen beside the store's work. What
//! travels through the channel are chunks of many lines, a bounded number of them.

use super::failure::Failure;
use super::input::Input;
use super::interrupt::Signal;
use super::lines::{Chunk, Form};
use super::splitter::Splitter;
use crossbeam_channel::{Receiver, Sender, bounded, select};
use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// A batch holds at most this many lines.
pub(super) const BATCH_LINES: usize = 1_000;
/// Lines wait at most this long for others to join their batch,
const PATIENCE: Duration = Duration::from_millis(100);
/// and only while the next ones come within this time.
const PAUSE: Duration = Duration::from_millis(5);
/// Chunks in the channel.
const AHEAD: usize = 4;
/// How long to wait for an input that others made non-blocking.
const NOT_READY: Duration = Duration::from_millis(10);

/// What comes next from the inputs.
pub(super) enum Next {
    /// Lines, until there are enough for a batch or the input paused.
    Lines(Vec<Chunk>),
    /// The inputs are at their end.
    End,
    /// The user, or the system, asks the program to stop.
    Stop(Signal),
}

/// The lines of all inputs.
pub(super) struct Feed {
    chunks: Receiver<Result<Chunk, Failure>>,
    signals: Receiver<Signal>,
    /// What was received behind lines that had to be given out first.
    after: Option<Result<Next, Failure>>,
}

impl Feed {
    /// Starts to read.
    pub(super) fn start(
        inputs: Vec<Input>,
        form: Form,
        separator: u8,
        signals: Receiver<Signal>,
    ) -> Result<Feed, Failure> {
        let (sender, chunks) = bounded(AHEAD);
        thread::Builder::new()
            .name("seen-read".to_owned())
            .spawn(move || {
                if let Err(failure) = read_all(&inputs, &form, separator, &sender) {
                    // If the receiver is gone, the command has ended.
                    let _ = sender.send(Err(failure));
                }
            })
            .map_err(|e| Failure::System("start a thread", e))?;
        Ok(Feed {
            chunks,
            signals,
            after: None,
        })
    }

    /// Waits for lines.
    pub(super) fn next(&mut self) -> Result<Next, Failure> {
        if let Some(after) = self.after.take() {
            return after;
        }
        // `select!` is fair; a signal goes first.
        if let Some(signal) = self.stop() {
            return Ok(Next::Stop(signal));
        }
        let first = select! {
            recv(self.signals) -> signal => match signal {
                Ok(signal) => return Ok(Next::Stop(signal)),
                Err(_) => self.chunks.recv(),
            },
            recv(self.chunks) -> chunk => chunk,
        };
        match first {
            Err(_) => Ok(Next::End),
            Ok(Err(failure)) => Err(failure),
            Ok(Ok(chunk)) => Ok(Next::Lines(self.gather(chunk))),
        }
    }

    /// Adds the chunks that are ready, or come soon, until a batch is full.
    fn gather(&mut self, first: Chunk) -> Vec<Chunk> {
        let until = Instant::now() + PATIENCE;
        let mut lines = first.lines.len();
        let mut chunks = vec![first];
        while lines < BATCH_LINES {
            let wait = until.saturating_duration_since(Instant::now()).min(PAUSE);
            match self.chunks.recv_timeout(wait) {
                Ok(Ok(chunk)) => {
                    lines += chunk.lines.len();
                    chunks.push(chunk);
                }
                Ok(Err(failure)) => {
                    self.after = Some(Err(failure));
                    break;
                }
                Err(_) => break,
            }
        }
        chunks
    }

    /// Whether the program was asked to stop.
    pub(super) fn stop(&self) -> Option<Signal> {
        self.signals.try_recv().ok()
    }
}

fn read_all(
    inputs: &[Input],
    form: &Form,
    separator: u8,
    sender: &Sender<Result<Chunk, Failure>>,
) -> Result<(), Failure> {
    for input in inputs {
        let file: File = input.open()?;
        let mut lines = Splitter::new(file, &input.label(), form.clone(), separator);
        loop {
            match lines.next() {
                Ok(None) => break,
                Ok(Some(chunk)) if chunk.lines.is_empty() => {}
                Ok(Some(chunk)) => {
                    if sender.send(Ok(chunk)).is_err() {
                        return Ok(());
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(NOT_READY),
                Err(e) => return Err(input.failure(e)),
            }
        }
    }
    Ok(())
}
