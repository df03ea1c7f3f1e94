//! `seen claim`: prints the lines that this worker is to fetch.
//!
//! The store is open, and its lock held, for what was read at once: not while waiting for
//! input, and not while writing to an output that may be slow.

use super::batches::batches;
use super::failure::Failure;
use super::feed::{Feed, Next};
use super::input::Input;
use super::interrupt;
use super::lines::{Chunk, Form, Line, Ready, each};
use super::output::{Output, Reader, Stopped};
use super::progress::Progress;
use super::rejects::Rejects;
use super::units::parse_lease;
use super::worker::{of_this_process, parse_worker};
use super::writer::{Options, Turns};
use super::{NOT_ALL, OK};
use crate::{Claim, Error, InvalidUrl, Seen, Token};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Examples:
  seen claim crawl.seen urls.txt > mine.txt
  seen claim crawl.seen < urls.txt | worker | seen fetched crawl.seen
  seen due crawl.seen | seen claim crawl.seen --worker w1 --lease 1h | worker

Prints each line whose URL is granted to this worker, a tab, and a token, which `seen
fetched`, `failed` and `release` take. A URL is granted if it is new, or was only seen; if
a claim on it ran out; if it failed and is to be tried again by now; or if its record
expired. It is not granted while somebody has it, and not when it is done.

The store is locked for each batch only, so several workers run at once. What waits in a
pipe is claimed: its lease should be long enough. A kill loses nothing: what was granted
and not printed is granted again when its lease is over. If the pipe is closed, what was
not written whole is given back. Ctrl-C finishes the batch.

Exit status: 0 done (also if the output pipe was closed); 1 some lines were rejected;
2 failure; 130 after Ctrl-C, 143 after SIGTERM.";

/// What a second signal leaves.
const AT_ONCE: &str = "stopped at once; what was granted is granted until its lease is over";

/// Print the lines that are granted to this worker, each with a token
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory; created if there is none
    store: PathBuf,
    /// Files with a URL a line; `-` or none is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The name that is told to others, up to 64 bytes [default: host name and process id]
    #[arg(long, value_name = "NAME", value_parser = parse_worker)]
    worker: Option<String>,
    /// How long the URLs are this worker's
    #[arg(long, value_name = "DURATION", default_value = "10min", value_parser = parse_lease)]
    lease: Duration,
    /// Claim at most so many lines at once: few for a worker that is slow, since leases
    /// begin together
    #[arg(long, value_name = "N", default_value = "1000")]
    batch: NonZeroUsize,
    /// Lines end with NUL, in the input and in the output
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    turns: Turns,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    // Before anything is created: a mistyped name changes nothing.
    let inputs = Input::all(&args.files)?;
    let mut output = Output::open()?;
    let separator = if args.null { 0 } else { b'\n' };
    output.end_last_line(separator);
    let mut run = Run {
        args,
        worker: args.worker.clone().unwrap_or_else(of_this_process),
        output,
        separator,
        rejects: Rejects::default(),
    };
    // Creates the store, and tells its policy.
    let canon = run.take(|store| Ok(store.canon().clone()))?;
    let signals = interrupt::watch(AT_ONCE)?;
    let mut feed = Feed::start(inputs, Form::Urls(canon), separator, signals)?;
    let status = run.pump(&mut feed);
    run.rejects.finish(&Progress::none());
    match status? {
        OK if run.rejects.any() => Ok(NOT_ALL),
        status => Ok(status),
    }
}

struct Run<'a> {
    args: &'a Args,
    worker: String,
    output: Output,
    separator: u8,
    rejects: Rejects,
}

/// A line that can be claimed.
struct Item<'a> {
    chunk: &'a Chunk,
    line: &'a Line,
    key: Ready<'a>,
}

impl Item<'_> {
    /// The URL as it was given; one that holds a tab, as its key.
    fn shown(&self) -> &[u8] {
        let text = self.chunk.text(self.line);
        if text.contains(&b'\t') {
            self.key.0
        } else {
            text
        }
    }
}

type Grant<'a, 'b> = (&'b Item<'a>, Token);

impl Run<'_> {
    /// Opens the store for a moment.
    fn take<T>(&self, work: impl FnOnce(&Seen) -> Result<T, Failure>) -> Result<T, Failure> {
        let args = self.args;
        args.turns.take(|| args.options.builder(&args.store), work)
    }

    /// The exit status, but for lines that were rejected.
    fn pump(&mut self, feed: &mut Feed) -> Result<u8, Failure> {
        loop {
            let chunks = match feed.next()? {
                Next::Lines(chunks) => chunks,
                Next::End => return Ok(OK),
                Next::Stop(signal) => return Ok(signal.status()),
            };
            if let Some(status) = self.chunks(&chunks, feed)? {
                return Ok(status);
            }
        }
    }

    /// Claims and prints some lines; the exit status if they are the last.
    fn chunks(&mut self, chunks: &[Chunk], feed: &Feed) -> Result<Option<u8>, Failure> {
        let mut items = Vec::new();
        for (chunk, line) in each(chunks) {
            match chunk.key(line) {
                // Who settles what is printed must not read another URL or token in it.
                Ok(key) if key.0.contains(&b'\t') || key.0.starts_with(b"{") => {
                    let why = "a key with a tab, or that begins with {, cannot be told from what \
                               stands behind it";
                    let reason = InvalidUrl::Unparsable(why.to_owned());
                    self.rejects.add(chunk, line, &reason, &Progress::none());
                }
                Ok(key) => items.push(Item { chunk, line, key }),
                Err(reason) => self.rejects.add(chunk, line, reason, &Progress::none()),
            }
        }
        for items in items.chunks(self.args.batch.get()) {
            let mut grants = Vec::new();
            let claimed = self.take(|store| self.claim(store, items, &mut grants));
            // What was granted before a failure is this worker's too.
            let printed = self.print(&grants);
            claimed?;
            if printed? == Reader::Closed {
                return Ok(Some(OK));
            }
            if let Some(signal) = feed.stop() {
                return Ok(Some(signal.status()));
            }
        }
        Ok(None)
    }

    fn claim<'a, 'b>(
        &self,
        store: &Seen,
        items: &'b [Item<'a>],
        grants: &mut Vec<Grant<'a, 'b>>,
    ) -> Result<(), Failure> {
        for batch in batches(store, items, |item| item.key.0) {
            let keys: Vec<_> = batch.iter().map(|item| item.key).collect();
            let claims = store.claim_many(&keys, &self.worker, self.args.lease)?;
            for (item, claim) in batch.iter().zip(claims) {
                if let Claim::Granted(lease) = claim {
                    grants.push((item, lease.token()));
                }
            }
        }
        Ok(())
    }

    fn print(&mut self, grants: &[Grant<'_, '_>]) -> Result<Reader, Failure> {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(grants.len());
        for (item, token) in grants {
            bytes.extend_from_slice(item.shown());
            bytes.extend_from_slice(format!("\t{token}").as_bytes());
            bytes.push(self.separator);
            ends.push(bytes.len());
        }
        let Err(Stopped { written, failure }) = self.output.write(&bytes) else {
            return Ok(Reader::Open);
        };
        let whole = ends.partition_point(|end| *end <= written);
        let end = whole.checked_sub(1).and_then(|last| ends.get(last));
        self.output.take_back(written - end.copied().unwrap_or(0));
        self.release(grants.get(whole..).unwrap_or_default())?;
        failure.map_or(Ok(Reader::Closed), Err)
    }

    /// Gives back what nobody was told of.
    fn release(&self, grants: &[Grant<'_, '_>]) -> Result<(), Failure> {
        self.take(|store| {
            for grants in batches(store, grants, |(item, _)| item.key.0) {
                let mut batch = store.batch();
                for (item, token) in grants {
                    match store.lease(item.key, *token) {
                        Ok(lease) => batch.release(&lease),
                        // It ran out meanwhile, and is somebody else's.
                        Err(Error::LeaseLost { .. }) => {}
                        Err(other) => return Err(other.into()),
                    }
                }
                store.apply(batch)?;
            }
            Ok(())
        })
    }
}
