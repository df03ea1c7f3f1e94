//! `seen has`: says which URLs were seen.

use super::failure::Failure;
use super::feed::{BATCH_LINES, Feed, Next};
use super::input::Input;
use super::interrupt;
use super::lines::{Chunk, Form, Line, SHOWN, each};
use super::output::{Answers, Reader};
use super::progress::Progress;
use super::rejects::Rejects;
use super::{FAILED, NOT_ALL, OK, counters};
use crate::{InvalidUrl, Seen};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "\
Examples:
  seen has crawl.seen https://example.com/a https://example.com/b
  seen has crawl.seen --from urls.txt | grep '^unseen'
  seen has crawl.seen < urls.txt

Prints a line for each URL: `seen`, `unseen` or `invalid`, a tab, the URL as it was
given. Why a URL is invalid is told on standard error. With neither URL nor --from it
reads standard input, and answers as the lines come. Works beside a running writer.

Exit status: 0 all were seen; 1 some were not; 2 some are invalid under the store's
policy, or another failure.";

/// While a stream is read, a writer's news are taken in at most this often.
const REFRESH: Duration = Duration::from_secs(1);

/// Say which URLs were seen; changes nothing
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// URLs to look up
    #[arg(value_name = "URL")]
    urls: Vec<OsString>,
    /// A file with a URL a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Records end with NUL, in the input and in the output
    #[arg(short = '0', long)]
    null: bool,
    /// Print this run's lookup counters as JSON on standard error
    #[arg(long)]
    counters: bool,
}

pub(super) fn run(args: Args) -> Result<u8, Failure> {
    let inputs = match &args.from {
        Some(name) => Input::all(std::slice::from_ref(name))?,
        None if args.urls.is_empty() => vec![Input::Stdin],
        None => Vec::new(),
    };
    let store = Seen::open_read_only(&args.store)?;
    let mut run = Run {
        answers: Answers::open()?,
        refreshed: Instant::now(),
        store,
        unseen: false,
        rejects: Rejects::default(),
        separator: if args.null { 0 } else { b'\n' },
    };
    let result = run.all(&args.urls, inputs);
    run.rejects.finish(&Progress::none());
    if args.counters {
        counters::print(Some(&run.store));
    }
    result?;
    Ok(match (run.rejects.any(), run.unseen) {
        (true, _) => FAILED,
        (false, true) => NOT_ALL,
        (false, false) => OK,
    })
}

struct Run {
    store: Seen,
    refreshed: Instant,
    answers: Answers,
    unseen: bool,
    rejects: Rejects,
    separator: u8,
}

impl Run {
    fn all(&mut self, urls: &[OsString], inputs: Vec<Input>) -> Result<(), Failure> {
        let form = Form::Urls(self.store.canon().clone());
        let given = Chunk::of_arguments(&form, urls);
        if self.chunks(&[given])? == Reader::Closed || inputs.is_empty() {
            return Ok(());
        }
        let mut feed = Feed::start(inputs, form, self.separator, interrupt::none())?;
        while let Next::Lines(chunks) = feed.next()? {
            if self.refreshed.elapsed() > REFRESH {
                self.store.refresh()?;
                self.refreshed = Instant::now();
            }
            if self.chunks(&chunks)? == Reader::Closed {
                break;
            }
        }
        Ok(())
    }

    /// Answers for some lines and writes the answers out: more may be long in coming.
    fn chunks(&mut self, chunks: &[Chunk]) -> Result<Reader, Failure> {
        let lines: Vec<_> = each(chunks).collect();
        for batch in lines.chunks(BATCH_LINES) {
            if self.batch(batch)? == Reader::Closed {
                return Ok(Reader::Closed);
            }
        }
        self.answers.flush()
    }

    fn batch(&mut self, batch: &[(&Chunk, &Line)]) -> Result<Reader, Failure> {
        let keys: Vec<_> = batch.iter().filter_map(|(c, l)| c.key(l).ok()).collect();
        let mut records = self.store.get_many(&keys)?.into_iter();
        for (chunk, line) in batch {
            let url = chunk.text(line);
            let reader = match chunk.key(line) {
                Ok(_) => {
                    let seen = records.next().flatten().is_some();
                    self.unseen |= !seen;
                    let word: &[u8] = if seen { b"seen\t" } else { b"unseen\t" };
                    self.answers.line(&[word, url], self.separator)?
                }
                Err(reason) => {
                    self.rejects.add(chunk, line, reason, &Progress::none());
                    let (shown, cut) = shorten(url, reason);
                    self.answers
                        .line(&[b"invalid\t", shown, cut], self.separator)?
                }
            };
            if reader == Reader::Closed {
                return Ok(Reader::Closed);
            }
        }
        Ok(Reader::Open)
    }
}

/// A URL that is too long is not kept whole: its beginning is shown.
fn shorten<'a>(url: &'a [u8], reason: &InvalidUrl) -> (&'a [u8], &'static [u8]) {
    match reason {
        InvalidUrl::TooLong { .. } => (url.get(..SHOWN).unwrap_or(url), b"..."),
        _ => (url, b""),
    }
}
