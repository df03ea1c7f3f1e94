//! `seen forget`: URLs are new again.

use super::batches::batches;
use super::failure::Failure;
use super::feed::{BATCH_LINES, Feed, Next};
use super::input::Input;
use super::interrupt;
use super::lines::{Chunk, Form, Ready, each};
use super::note::note;
use super::output::{Answers, Reader};
use super::progress::Progress;
use super::rejects::Rejects;
use super::units::{count, counted, parse_host};
use super::writer::Turns;
use super::{NOT_ALL, OK};
use crate::{Query, Seen};
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const HELP: &str = "\
Examples:
  seen forget crawl.seen https://example.com/a https://example.com/b
  seen forget crawl.seen --dry-run --host example.com
  seen forget crawl.seen --yes --prefix https://example.com/calendar/
  seen list crawl.seen --state failed | seen forget crawl.seen --from -

Everything that is named is forgotten: the URLs, and those in the file, and those of the
hosts, and those with the prefixes. They are new again at once; a claim on them is lost.
example.com is not www.example.com. If hosts and prefixes have more than 1,000 URLs,
nothing is forgotten without --yes.

Exit status: 0 all were there, and are forgotten; 1 some URLs were not recorded, or were
rejected; 2 failure.";

/// So many are forgotten by host and prefix without more ado.
const UNASKED: usize = 1_000;

/// Forget URLs: they are new again
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// The store's directory
    store: PathBuf,
    /// URLs to forget
    #[arg(value_name = "URL", required_unless_present_any = ["hosts", "prefixes", "from"])]
    urls: Vec<OsString>,
    /// All URLs of this host, whatever their scheme and port; can be given several times
    #[arg(long = "host", value_name = "HOST", value_parser = parse_host)]
    hosts: Vec<String>,
    /// All keys that begin with this, as they are written; can be given several times
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<OsString>,
    /// A file with a URL a line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Change nothing; print the keys that would be forgotten
    #[arg(long)]
    dry_run: bool,
    /// Forget more than 1,000 URLs by host and prefix
    #[arg(long)]
    yes: bool,
    /// Lines end with NUL, in the input and in the output
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    turns: Turns,
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let inputs = match &args.from {
        Some(name) => Input::all(std::slice::from_ref(name))?,
        None => Vec::new(),
    };
    // Opening for writing would create a store where there is none.
    let store = Seen::open_read_only(&args.store)?;
    if !args.yes && !args.dry_run {
        check_count(args, &store, &args.selections())?;
    }
    let mut run = Run {
        args,
        store,
        dry: None,
        rejects: Rejects::default(),
        separator: if args.null { 0 } else { b'\n' },
        named: 0,
        forgotten: 0,
    };
    if args.dry_run {
        run.dry = Some(Dry {
            answers: Answers::open()?,
            printed: HashSet::new(),
        });
    }
    let result = run.all(inputs);
    run.rejects.finish(&Progress::none());
    if result? == Reader::Closed {
        return Ok(OK);
    }
    note(format_args!(
        "{} {} of {}",
        if args.dry_run {
            "would forget"
        } else {
            "forgot"
        },
        count(run.forgotten),
        counted(run.named, "URL", "URLs")
    ));
    let all = run.forgotten == run.named && !run.rejects.any();
    Ok(if all { OK } else { NOT_ALL })
}

impl Args {
    /// What is selected by host or prefix.
    fn selections(&self) -> Vec<Query> {
        let hosts = self.hosts.iter().map(|h| Query::new().host(h));
        let prefixes = self.prefixes.iter();
        hosts
            .chain(prefixes.map(|p| Query::new().prefix(p.as_bytes())))
            .map(Query::with_expired)
            .collect()
    }
}

/// Refuses to select more than a slip of the hand should forget.
fn check_count(args: &Args, store: &Seen, selections: &[Query]) -> Result<(), Failure> {
    if args.prefixes.iter().any(|prefix| prefix.is_empty()) {
        let why =
            "an empty prefix is that of every URL, and nothing was forgotten; `--yes` forgets them";
        return Err(Failure::Usage(why.to_owned()));
    }
    let mut found = 0;
    for query in selections {
        for entry in store.query(query)? {
            entry?;
            found += 1;
            if found > UNASKED {
                return Err(Failure::Usage(format!(
                    "the hosts and prefixes have more than {} URLs ({} so far), and nothing was forgotten; `--dry-run` prints them, `--yes` forgets them",
                    count(UNASKED as u64),
                    count(found as u64)
                )));
            }
        }
    }
    Ok(())
}

struct Run<'a> {
    args: &'a Args,
    /// Read-only: it tells what is selected.
    store: Seen,
    dry: Option<Dry>,
    rejects: Rejects,
    separator: u8,
    named: u64,
    forgotten: u64,
}

/// A dry run: prints what would be forgotten.
struct Dry {
    answers: Answers,
    printed: HashSet<Vec<u8>>,
}

impl Run<'_> {
    fn all(&mut self, inputs: Vec<Input>) -> Result<Reader, Failure> {
        let form = Form::Urls(self.store.canon().clone());
        let arguments = Chunk::of_arguments(&form, &self.args.urls);
        if self.chunks(&[arguments])? == Reader::Closed {
            return Ok(Reader::Closed);
        }
        if !inputs.is_empty() {
            let mut feed = Feed::start(inputs, form, self.separator, interrupt::none())?;
            while let Next::Lines(chunks) = feed.next()? {
                if self.chunks(&chunks)? == Reader::Closed {
                    return Ok(Reader::Closed);
                }
            }
        }
        // Last: a URL that is named and selected too was there.
        for query in self.args.selections() {
            if self.selection(&query)? == Reader::Closed {
                return Ok(Reader::Closed);
            }
        }
        Ok(Reader::Open)
    }

    fn chunks(&mut self, chunks: &[Chunk]) -> Result<Reader, Failure> {
        let mut keys = Vec::new();
        for (chunk, line) in each(chunks) {
            match chunk.key(line) {
                Ok(key) => keys.push(key),
                Err(reason) => self.rejects.add(chunk, line, reason, &Progress::none()),
            }
        }
        self.forget(&keys)
    }

    fn selection(&mut self, query: &Query) -> Result<Reader, Failure> {
        // What another selection had is not there any more.
        self.store.refresh()?;
        let mut scan = self.store.query(query)?;
        loop {
            let some: Vec<_> = scan.by_ref().take(BATCH_LINES).collect::<Result<_, _>>()?;
            if some.is_empty() {
                return Ok(Reader::Open);
            }
            let printed = |key: &Vec<u8>| match &self.dry {
                Some(dry) => dry.printed.contains(key),
                None => false,
            };
            let keys = some.iter().map(|(key, _)| key);
            let keys: Vec<_> = keys
                .filter(|key| !printed(key))
                .map(|key| Ready(key))
                .collect();
            if self.forget(&keys)? == Reader::Closed {
                return Ok(Reader::Closed);
            }
        }
    }

    fn forget(&mut self, keys: &[Ready<'_>]) -> Result<Reader, Failure> {
        self.named += keys.len() as u64;
        if self.dry.is_some() {
            return self.print(keys);
        }
        if keys.is_empty() {
            return Ok(Reader::Open);
        }
        let (args, forgotten) = (self.args, &mut self.forgotten);
        let builder = || Seen::builder(&args.store);
        args.turns.take(builder, |store| {
            for batch in batches(store, keys, |key| key.0) {
                let there = store.forget_many(batch)?;
                *forgotten += there.into_iter().filter(|there| *there).count() as u64;
            }
            Ok(Reader::Open)
        })
    }

    fn print(&mut self, keys: &[Ready<'_>]) -> Result<Reader, Failure> {
        let Some(dry) = &mut self.dry else {
            return Ok(Reader::Open);
        };
        let known = self.store.get_many(keys)?;
        for (key, _) in keys.iter().zip(known).filter(|(_, known)| known.is_some()) {
            if dry.printed.insert(key.0.to_vec()) {
                self.forgotten += 1;
                if dry.answers.line(&[key.0], self.separator)? == Reader::Closed {
                    return Ok(Reader::Closed);
                }
            }
        }
        // More may be long in coming.
        dry.answers.flush()
    }
}
