//! `seen new`: prints the lines that were never seen before, and remembers them.
//!
//! A batch is first written to standard output, then remembered. So a kill at
//! any moment loses nothing: at worst the last batch was printed and not remembered,
//! and is printed again.

use super::failure::Failure;
use super::feed::{BATCH_LINES, Feed, Next};
use super::input::Input;
use super::interrupt::{self, Signal};
use super::lines::{Chunk, Form, Line, Ready, each};
use super::note::note_recovery;
use super::output::{Output, Reader, Stopped};
use super::progress::Progress;
use super::rejects::Rejects;
use super::target::Target;
use super::writer::{Options, Waiting};
use super::{NOT_ALL, OK, counters};
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen new crawl.seen urls.txt > fresh.txt
  extract-links page.html | seen new crawl.seen | fetch
  tail -f links.log | seen new crawl.seen --canon raw
  seen new --dry-run crawl.seen urls.txt | wc -l

Lines are printed as they came, in their order, the first of equal ones only. They
are remembered after they were written: a kill loses nothing and repeats at most the
last batch (1,000 lines). What was written into a pipe counts as printed, whether or
not its reader had read it. If the pipe is closed, only lines written whole are
remembered. Ctrl-C finishes the batch; a second one stops at once.

Exit status: 0 done (also if the output pipe was closed); 1 some lines were rejected;
2 failure; 130 after Ctrl-C, 143 after SIGTERM.";

/// What a second signal leaves.
const AT_ONCE: &str = "stopped at once; what was remembered before stays remembered";

/// Print the lines that were never seen before, and remember them
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory; created if there is none
    store: PathBuf,
    /// Files with a URL a line; `-` or none is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print without remembering; changes and creates nothing
    #[arg(long)]
    dry_run: bool,
    /// Records end with NUL, in the input and in the output
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    waiting: Waiting,
    #[command(flatten)]
    options: Options,
    /// Print this run's lookup counters as JSON on standard error
    #[arg(long)]
    counters: bool,
    /// No progress line and no notes; rejected lines and failures are still told
    #[arg(short, long)]
    quiet: bool,
}

/// Why the lines ended.
enum End {
    Input,
    Closed,
    Signal(Signal),
}

pub(super) fn run(args: Args) -> Result<u8, Failure> {
    // Before anything is created: a mistyped name changes nothing.
    let inputs = Input::all(&args.files)?;
    let mut output = Output::open()?;
    let target = if args.dry_run {
        Target::dry(&args.store, &args.options)?
    } else {
        Target::writer(&args.store, &args.options, &args.waiting)?
    };
    if let (Target::Store(store), false) = (&target, args.quiet) {
        note_recovery(store);
    }
    let separator = if args.null { 0 } else { b'\n' };
    output.end_last_line(separator);
    let form = Form::Urls(target.canon().clone());
    let mut feed = Feed::start(inputs, form, separator, interrupt::watch(AT_ONCE)?)?;
    let mut run = Run {
        limit: target.batch_bytes(),
        target,
        output,
        separator,
        rejects: Rejects::default(),
        progress: Progress::beside_output(args.quiet),
        lines: 0,
        new: 0,
    };
    let end = run.pump(&mut feed);
    run.progress.finish();
    run.rejects.finish(&run.progress);
    if args.counters {
        counters::print(run.target.store());
    }
    // Closing syncs what was remembered, also after a failure, which is the news then.
    let closed = run.target.close();
    let end = end?;
    closed?;
    Ok(match end {
        End::Signal(signal) => {
            if !args.quiet && !args.dry_run {
                run.progress
                    .note("interrupted; every line that was printed is remembered");
            }
            signal.status()
        }
        End::Closed => OK,
        End::Input if run.rejects.any() => NOT_ALL,
        End::Input => OK,
    })
}

struct Run {
    target: Target,
    limit: usize,
    output: Output,
    separator: u8,
    rejects: Rejects,
    progress: Progress,
    lines: u64,
    new: u64,
}

/// Lines that the policy accepts, with their keys.
#[derive(Default)]
struct Batch<'a> {
    keys: Vec<Ready<'a>>,
    lines: Vec<(&'a Chunk, &'a Line)>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn is_full(&self, next: usize, limit: usize) -> bool {
        self.keys.len() >= BATCH_LINES || (!self.keys.is_empty() && self.bytes + next > limit)
    }
}

impl Run {
    fn pump(&mut self, feed: &mut Feed) -> Result<End, Failure> {
        loop {
            let chunks = match feed.next()? {
                Next::Lines(chunks) => chunks,
                Next::End => return Ok(End::Input),
                Next::Stop(signal) => return Ok(End::Signal(signal)),
            };
            if let Some(end) = self.chunks(&chunks, feed)? {
                return Ok(end);
            }
        }
    }

    /// Works through chunks batch by batch.
    fn chunks(&mut self, chunks: &[Chunk], feed: &Feed) -> Result<Option<End>, Failure> {
        let mut batch = Batch::default();
        for (chunk, line) in each(chunks) {
            let key = match chunk.key(line) {
                Ok(key) => key,
                Err(reason) => {
                    self.lines += 1;
                    self.rejects.add(chunk, line, reason, &self.progress);
                    continue;
                }
            };
            let bytes = key.0.len() + crate::Batch::ITEM_OVERHEAD;
            if batch.is_full(bytes, self.limit) {
                if self.batch(&std::mem::take(&mut batch))? == Reader::Closed {
                    return Ok(Some(End::Closed));
                }
                if let Some(signal) = feed.stop() {
                    return Ok(Some(End::Signal(signal)));
                }
            }
            batch.keys.push(key);
            batch.lines.push((chunk, line));
            batch.bytes += bytes;
        }
        Ok(match self.batch(&batch)? {
            Reader::Open => None,
            Reader::Closed => Some(End::Closed),
        })
    }

    /// Prints what is new in a batch, and then remembers it.
    fn batch(&mut self, batch: &Batch<'_>) -> Result<Reader, Failure> {
        let is_new = self.target.which_are_new(&batch.keys)?;
        let mut bytes = Vec::with_capacity(batch.bytes);
        let mut keys = Vec::with_capacity(batch.keys.len());
        let mut ends = Vec::with_capacity(batch.keys.len());
        let new = is_new.into_iter().zip(batch.keys.iter().zip(&batch.lines));
        for (_, (key, (chunk, line))) in new.filter(|(new, _)| *new) {
            bytes.extend_from_slice(chunk.whole(line));
            if chunk.is_open(line) {
                // The last of an input, without an ending: what is printed next must
                // not go on with it.
                bytes.push(self.separator);
            }
            keys.push(*key);
            ends.push(bytes.len());
        }
        let (whole, result) = match self.output.write(&bytes) {
            Ok(()) => (keys.len(), Ok(Reader::Open)),
            Err(Stopped { written, failure }) => {
                let whole = ends.partition_point(|end| *end <= written);
                let end = whole.checked_sub(1).and_then(|last| ends.get(last));
                self.output.take_back(written - end.copied().unwrap_or(0));
                (whole, failure.map_or(Ok(Reader::Closed), Err))
            }
        };
        self.target
            .remember(keys.get(..whole).unwrap_or_default())?;
        self.lines += batch.keys.len() as u64;
        self.new += whole as u64;
        self.progress.lines(self.lines, self.new);
        result
    }
}
