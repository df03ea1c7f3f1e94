//! Says what came of claims: what `fetched`, `failed` and `release` share.
//!
//! The store is open, and its lock held, for what was read at once, and never while waiting
//! for input: workers and those who settle for them take turns.

use super::batches::batches;
use super::failure::Failure;
use super::fate::Fate;
use super::feed::{Feed, Next};
use super::input::Input;
use super::interrupt;
use super::lines::{Chunk, Form, Line, Ready, each};
use super::progress::Progress;
use super::rejects::Rejects;
use super::settlement::Settlement;
use super::times;
use super::writer::Turns;
use super::{NOT_ALL, OK};
use crate::{Canon, Error, Lease, Seen, Token};
use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What a second signal leaves.
const AT_ONCE: &str = "stopped at once; what was settled before stays settled";

/// Which claims to settle.
#[derive(Debug, clap::Args)]
pub(super) struct Claims {
    /// The store's directory
    store: PathBuf,
    /// The URL; without one, lines are read
    #[arg(requires = "right", conflicts_with = "from")]
    url: Option<OsString>,
    /// The token that `seen claim` printed
    #[arg(group = "right")]
    token: Option<Token>,
    /// Without a token: whatever the URL's state is, set it
    #[arg(long, group = "right")]
    force: bool,
    /// A file with a claim a line; `-` or none is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Lines end with NUL
    #[arg(short = '0', long)]
    null: bool,
    #[command(flatten)]
    turns: Turns,
}

/// Settles all claims that are named; `fate` is what becomes of those of which a line says
/// nothing else.
pub(super) fn run(claims: &Claims, fate: Fate) -> Result<u8, Failure> {
    if claims.url.is_some() {
        fate.check().map_err(Failure::Usage)?;
    }
    let inputs = Input::all(claims.from.as_slice())?;
    let mut run = Run {
        claims,
        fate,
        rejects: Rejects::default(),
    };
    let result = match &claims.url {
        Some(url) => run.argument(url).map(|()| OK),
        None => run.lines(inputs),
    };
    run.rejects.finish(&Progress::none());
    match result? {
        OK if run.rejects.any() => Ok(NOT_ALL),
        status => Ok(status),
    }
}

struct Run<'a> {
    claims: &'a Claims,
    fate: Fate,
    rejects: Rejects,
}

/// A line that was taken apart.
struct Item<'a> {
    chunk: &'a Chunk,
    line: &'a Line,
    key: Cow<'a, [u8]>,
    token: Option<Token>,
    fate: Fate,
}

impl Item<'_> {
    fn key(&self) -> Ready<'_> {
        Ready(&self.key)
    }
}

impl Run<'_> {
    fn argument(&mut self, url: &OsString) -> Result<(), Failure> {
        let canon = self.canon()?;
        let chunk = Chunk::of_arguments(&Form::Records, std::slice::from_ref(url));
        let mut items = Vec::new();
        for line in &chunk.lines {
            let settlement = Settlement {
                url: Cow::Borrowed(url.as_bytes()),
                token: self.claims.token,
                fate: self.fate.clone(),
            };
            items.extend(self.item(&canon, &chunk, line, Ok(settlement)));
        }
        self.turn(&items)
    }

    /// The exit status, but for lines that were rejected.
    fn lines(&mut self, inputs: Vec<Input>) -> Result<u8, Failure> {
        let separator = if self.claims.null { 0 } else { b'\n' };
        let signals = interrupt::watch(AT_ONCE)?;
        let mut feed = Feed::start(inputs, Form::Records, separator, signals)?;
        // The `claim` at the other end of the pipe may yet have to create the store.
        let mut next = feed.next()?;
        let canon = self.canon()?;
        loop {
            let chunks = match next {
                Next::Lines(chunks) => chunks,
                Next::End => return Ok(OK),
                Next::Stop(signal) => return Ok(signal.status()),
            };
            let mut items = Vec::new();
            for (chunk, line) in each(&chunks) {
                let settlement = match chunk.key(line) {
                    Ok(text) => Settlement::parse(text.0, &self.fate, self.claims.force),
                    Err(_) => Err("it is longer than a URL and its fields can be".to_owned()),
                };
                items.extend(self.item(&canon, chunk, line, settlement));
            }
            self.turn(&items)?;
            next = feed.next()?;
        }
    }

    /// The store's policy. Opening for writing would create a store where there is none.
    fn canon(&self) -> Result<Canon, Failure> {
        let store = Seen::open_read_only(&self.claims.store)?;
        let canon = store.canon().clone();
        store.close()?;
        Ok(canon)
    }

    /// Makes the key; tells of what is rejected.
    fn item<'a>(
        &mut self,
        canon: &Canon,
        chunk: &'a Chunk,
        line: &'a Line,
        settlement: Result<Settlement<'a>, String>,
    ) -> Option<Item<'a>> {
        let item = settlement.and_then(|Settlement { url, token, fate }| {
            let key = match url {
                Cow::Borrowed(url) => canon.apply(url),
                Cow::Owned(url) => canon.apply(&url).map(|key| Cow::Owned(key.into_owned())),
            };
            Ok(Item {
                chunk,
                line,
                key: key.map_err(|reason| reason.to_string())?,
                token,
                fate,
            })
        });
        item.map_err(|reason| self.rejects.add(chunk, line, reason, &Progress::none()))
            .ok()
    }

    fn turn(&mut self, items: &[Item<'_>]) -> Result<(), Failure> {
        if items.is_empty() {
            return Ok(());
        }
        let claims = self.claims;
        claims.turns.take(
            || Seen::builder(&claims.store),
            |store| {
                for batch in batches(store, items, |item| item.key.as_ref()) {
                    if claims.force {
                        force(store, batch)?;
                    } else {
                        self.settle(store, batch)?;
                    }
                }
                Ok(())
            },
        )
    }

    /// Settles a batch as a whole, or, if that cannot be, each claim alone: one that is lost
    /// does not hold up the others.
    fn settle(&mut self, store: &Seen, items: &[Item<'_>]) -> Result<(), Failure> {
        let mut batch = store.batch();
        let mut held: Vec<(&Item<'_>, Lease)> = Vec::with_capacity(items.len());
        for item in items {
            let Some(token) = item.token else {
                continue;
            };
            if let Some(lease) = self.unless_lost(item, store.lease(item.key(), token))? {
                item.fate.add(&mut batch, &lease);
                held.push((item, lease));
            }
        }
        match store.apply(batch) {
            // Two lines settle the same claim.
            Err(Error::LeaseLost { .. }) => {
                for (item, lease) in held {
                    self.unless_lost(item, item.fate.settle(&lease))?;
                }
                Ok(())
            }
            applied => Ok(applied.map(drop)?),
        }
    }

    /// Tells of a claim that is lost.
    fn unless_lost<T>(
        &mut self,
        item: &Item<'_>,
        result: crate::Result<T>,
    ) -> Result<Option<T>, Failure> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::LeaseLost { found, .. }) => {
                let reason = format_args!("the claim is lost: {found}");
                let (chunk, line) = (item.chunk, item.line);
                self.rejects.add(chunk, line, reason, &Progress::none());
                Ok(None)
            }
            Err(other) => Err(other.into()),
        }
    }
}

/// Sets states, whatever they were.
fn force(store: &Seen, items: &[Item<'_>]) -> Result<(), Failure> {
    let keys: Vec<_> = items.iter().map(Item::key).collect();
    let known = store.get_many(&keys)?;
    let now = times::now();
    let mut batch = store.batch();
    for (item, known) in items.iter().zip(known) {
        batch.put(item.key(), item.fate.state(now, known.as_ref()))?;
    }
    store.apply(batch)?;
    Ok(())
}
