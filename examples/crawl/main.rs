//! A small polite crawler that keeps nothing but a store.
//!
//! ```text
//! cargo run --release --example crawl -- STORE [URL]... [OPTION]...
//!
//! --host HOST       another site to stay on, HOST or HOST:PORT; those of the URLs are given
//! --workers N       requests at a time, 4 by default, never two to one site
//! --delay S         seconds between two requests to one site, 1 by default
//! --timeout S       seconds for one request, 30 by default
//! --lease S         seconds for which a page is claimed, 120 by default
//! --retry S         seconds until a failure is tried again, 60 by default; each time twice
//!                   as long, and at most a day
//! --attempts N      how often a page is tried, 5 by default
//! --max-pages N     pages fetched in all, those of earlier runs included; 100000 by default
//! --max-section N   URLs recorded under one first step of a path, such as everything under
//!                   /calendar: the bound on a trap of endless URLs; 10000 by default
//! --max-body BYTES  the largest page, 2000000 by default
//! --agent NAME      the User-Agent, whose first word robots.txt may name
//! ```
//!
//! Run it again with the same store and it goes on, after Ctrl-C, a kill or a crash alike;
//! then URLs are needed only to say which sites to stay on. There is no frontier beside the
//! store: what is to be fetched is what `Seen::due` gives, that is, what was found, what
//! failed and is to be tried again, and what was claimed by a run that is no more. A page
//! and the links on it are recorded in one batch, so that no kill can come between the two.
//!
//! Robots.txt is obeyed. A redirect is a page with one link: its target. Every page ends
//! as fetched, with its status and a hash of its content, or as failed, with the reason,
//! which `Seen::get` tells. A failure of the server or on the way to it is tried again; an
//! answer such as 404 is final.
//!
//! | module | |
//! |---|---|
//! | `feed` | takes what is due from the store |
//! | `turns` | holds a few pages of each site until it may be asked again |
//! | `worker` | claims, fetches, settles |
//! | `fetch` | one request, and what came of it |
//! | `links`, `robots` | parsers |
//! | `sites`, `sections` | which links are followed |
#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

mod budget;
mod feed;
mod fetch;
mod links;
mod options;
mod robots;
mod sections;
mod sites;
mod stop;
mod turns;
mod worker;

use options::Options;
use seendb::Seen;
use std::error::Error;
use std::process::ExitCode;
use stop::Stop;
use turns::Turns;
use worker::Work;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    match crawl() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crawl: {error}");
            ExitCode::FAILURE
        }
    }
}

fn crawl() -> Outcome<()> {
    let options = Options::from_args(std::env::args().skip(1))?;
    let stop = Stop::on_signals()?;
    let seen = Seen::open(&options.store)?;
    seen.insert_many(&options.start)?;

    let turns = Turns::new(options.delay);
    let work = Work::new(&seen, &turns, &options, &stop)?;
    let ended = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=options.workers)
            .map(|number| {
                let work = &work;
                let stop = &stop;
                scope.spawn(move || stop.on_error(work.run(number)))
            })
            .collect();
        let fed = stop.on_error(feed::feed(&seen, &turns, &options.sites, &stop));
        turns.close();
        let worked = workers.into_iter().map(|worker| match worker.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        worked.fold(fed, Outcome::and)
    });

    let states = seen.stats().states;
    seen.close()?;
    ended?;
    println!(
        "{} fetched, {} failed, {} claimed, {} still to be fetched",
        states.fetched, states.failed, states.claimed, states.seen
    );
    Ok(())
}
