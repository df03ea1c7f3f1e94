//! What each worker does with a page: claim it, fetch it, settle it with its links.

use crate::Outcome;
use crate::budget::Budget;
use crate::fetch::{Failure, Fetcher, Page};
use crate::options::Options;
use crate::sections::Sections;
use crate::stop::Stop;
use crate::turns::{End, Turn, Turns};
use seendb::{Claim, Error, Key, Lease, Query, Seen, StateKind};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;
use url::{Position, Url};

/// The longest wait for another try.
const MAX_RETRY: Duration = Duration::from_secs(24 * 60 * 60);

/// What the workers share.
pub(crate) struct Work<'a> {
    seen: &'a Seen,
    turns: &'a Turns,
    options: &'a Options,
    stop: &'a Stop,
    fetcher: Fetcher,
    sections: Sections<'a>,
    budget: Budget,
}

impl<'a> Work<'a> {
    pub(crate) fn new(
        seen: &'a Seen,
        turns: &'a Turns,
        options: &'a Options,
        stop: &'a Stop,
    ) -> Outcome<Work<'a>> {
        let fetched = seen.query(&Query::new().state(StateKind::Fetched))?.count() as u64;
        Ok(Work {
            seen,
            turns,
            options,
            stop,
            fetcher: Fetcher::new(options),
            sections: Sections::new(seen, options.max_section),
            budget: Budget::new(options.max_pages.saturating_sub(fetched)),
        })
    }

    /// Takes one turn after the other, until there are no more.
    pub(crate) fn run(&self, number: usize) -> Outcome<()> {
        let name = format!("crawl {number}");
        while let Some(mut turn) = self.turns.take(self.stop) {
            let end = self.one(&name, &mut turn)?;
            self.turns.end(turn, end);
        }
        Ok(())
    }

    fn one(&self, name: &str, turn: &mut Turn) -> Outcome<End> {
        let url = &turn.url;
        let Some(robots) = turn.robots.as_ref().filter(|robots| robots.is_fresh()) else {
            return match self.fetcher.robots(url) {
                Ok(robots) => {
                    turn.robots = Some(robots);
                    Ok(End::AskedAside)
                }
                Err(failure) => {
                    self.refuse(name, url, failure)?;
                    Ok(End::Asked)
                }
            };
        };
        if !robots.allow(&url[Position::BeforePath..Position::AfterQuery]) {
            self.refuse(name, url, Failure::for_good("robots.txt forbids it"))?;
            return Ok(End::NotAsked);
        }
        if !self.budget.take(self.stop) {
            return Ok(End::NotAsked);
        }
        let Some(lease) = self.claim(name, url)? else {
            self.budget.give_back();
            return Ok(End::NotAsked);
        };
        match self.fetcher.page(url) {
            Ok(page) => {
                self.budget.use_up();
                self.fetched(&lease, page)?;
            }
            Err(failure) => {
                self.budget.give_back();
                self.failed(&lease, failure)?;
            }
        }
        Ok(End::Asked)
    }

    /// `None` if somebody was quicker, or it was settled since it was found to be due.
    fn claim(&self, name: &str, url: &Url) -> Outcome<Option<Lease>> {
        match self.seen.claim(url.as_str(), name, self.options.lease)? {
            Claim::Granted(lease) => Ok(Some(lease)),
            _ => Ok(None),
        }
    }

    /// Settles a page that was not asked for.
    fn refuse(&self, name: &str, url: &Url, failure: Failure) -> Outcome<()> {
        match self.claim(name, url)? {
            Some(lease) => self.failed(&lease, failure),
            None => Ok(()),
        }
    }

    /// The page is done and its links are known in one step: a kill leaves both or none.
    fn fetched(&self, lease: &Lease, page: Page) -> Outcome<()> {
        let mut batch = self.seen.batch();
        batch.fetched(lease, page.status, page.hash);
        for link in self.new_links(page.links)? {
            batch.insert(link)?;
        }
        match self.seen.apply(batch) {
            Ok(applied) => {
                let new = applied.new.iter().filter(|new| **new).count();
                say(&format!("{} {}, {new} new links", page.status, lease.key()))
            }
            Err(error) => lost(error),
        }
    }

    /// Those of the links that are to be recorded.
    fn new_links(&self, links: Vec<Url>) -> Outcome<Vec<Key>> {
        // By key: two spellings of one page are one link.
        let mut wanted = BTreeMap::new();
        for link in links
            .into_iter()
            .filter(|link| self.options.sites.has(link))
        {
            wanted.insert(self.seen.key(link.as_str())?, link);
        }
        let mut new = Vec::new();
        for (key, link) in wanted {
            if !self.seen.contains(&key)? && self.sections.admit(&link)? {
                new.push(key);
            }
        }
        Ok(new)
    }

    fn failed(&self, lease: &Lease, failure: Failure) -> Outcome<()> {
        let attempts = lease.attempts();
        let again = failure.again.filter(|_| attempts < self.options.attempts);
        // Doubled for each attempt before.
        let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let wait = self.options.retry.saturating_mul(doubled);
        let again = again.map(|least| least.max(wait).min(MAX_RETRY));
        match lease.failed(&failure.reason, again) {
            Ok(()) => {
                let next = match again {
                    Some(wait) => format!("again in {} s", wait.as_secs()),
                    None => "not again".into(),
                };
                say(&format!(
                    "failed {}: {}; {next}",
                    lease.key(),
                    failure.reason
                ))
            }
            Err(error) => lost(error),
        }
    }
}

/// A page that took longer than its claim may be somebody else's by now.
fn lost(error: Error) -> Outcome<()> {
    match error {
        Error::LeaseLost { .. } => say(&error.to_string()),
        _ => Err(error.into()),
    }
}

/// Prints a line; nobody may be there to read it any more, which ends the crawl.
fn say(line: &str) -> Outcome<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
