//! The URLs of a run: where they come from, and those that will be asked for.

use super::super::failure::Failure;
use super::super::feed::{Feed, Next};
use super::super::input::Input;
use super::super::lines::{Form, each};
use super::super::progress::Progress;
use super::super::rejects::Rejects;
use super::super::units::count;
use super::absent;
use super::ended::{Ended, Stop};
use super::generator::{self, Dice};
use super::keys::OwnedKey;
use super::questions::Samples;
use super::sample::Sample;
use super::urls::{Spooling, Urls};
use crate::{Canon, Seen};
use std::path::Path;

/// What was gathered before anything is measured.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) urls: Urls,
    pub(super) samples: Samples,
    /// Lines or keys; the same URL may come twice in a list.
    pub(super) keys: u64,
    pub(super) rejects: Rejects,
    /// Of the URLs given as absent, how many were not.
    pub(super) dropped: u64,
}

/// How to gather.
pub(super) struct Gather<'a> {
    pub(super) canon: Canon,
    /// URLs to ask for, of each sort.
    pub(super) size: usize,
    pub(super) seed: u64,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
}

impl Gather<'_> {
    /// The lines of a list, kept at `spool`.
    pub(super) fn list(
        &self,
        input: Input,
        spool: &Path,
        absent: Option<Input>,
    ) -> Result<Source, Ended> {
        let name = input.name();
        let mut rejects = Rejects::default();
        let mut spooling = Spooling::create(spool)?;
        let mut sample = Sample::new(self.size, self.seed);
        self.lines(input, &mut rejects, &mut |key| {
            sample.offer(key);
            spooling.push(key)
        })?;
        let keys = sample.offered();
        if keys == 0 {
            rejects.finish(self.progress);
            return Err(nothing(&name).into());
        }
        let urls = Urls::Spooled(spooling.finish()?);
        self.finish(urls, sample.into_keys(), keys, rejects, absent)
    }

    /// The first `count` of the generator. The URLs that come after them, on the same
    /// hosts, are absent.
    pub(super) fn generate(&self, count: u64, absent: Option<Input>) -> Result<Source, Ended> {
        let urls = Urls::Generated {
            seed: self.seed,
            count,
        };
        let mut dice = Dice(self.seed);
        let size = self.size as u64;
        let mut present = Vec::new();
        for place in 0..size.min(count) {
            if place.is_multiple_of(absent::STRIDE as u64) {
                self.stop.check()?;
            }
            // One of each of so many equal parts.
            let at = |place: u64| {
                let scaled = u128::from(place) * u128::from(count) / u128::from(size.min(count));
                u64::try_from(scaled).unwrap_or(count)
            };
            let (from, to) = (at(place), at(place + 1));
            let index = from + dice.below((to - from).max(1));
            present.push(generator::url(self.seed, index).into_bytes().into());
        }
        if absent.is_some() {
            return self.finish(urls, present, count, Rejects::default(), absent);
        }
        let mut absent = Vec::new();
        for (place, index) in (count..).take(self.size).enumerate() {
            if place.is_multiple_of(absent::STRIDE) {
                self.stop.check()?;
            }
            absent.push(generator::url(self.seed, index).into_bytes().into());
        }
        Ok(Source {
            samples: Samples { present, absent },
            urls,
            keys: count,
            rejects: Rejects::default(),
            dropped: 0,
        })
    }

    /// The keys of a store.
    pub(super) fn store(&self, store: Seen, absent: Option<Input>) -> Result<Source, Ended> {
        let name = store.path().display().to_string();
        let urls = Urls::Store(store);
        let mut sample = Sample::new(self.size, self.seed);
        urls.walk(self.stop, &mut |keys| {
            keys.iter().for_each(|key| sample.offer(key));
            self.progress.doing("reading the store");
            Ok(())
        })?;
        let keys = sample.offered();
        if keys == 0 {
            return Err(nothing(&name).into());
        }
        self.finish(urls, sample.into_keys(), keys, Rejects::default(), absent)
    }

    /// Adds the absent URLs: from a list, or made.
    fn finish(
        &self,
        urls: Urls,
        present: Vec<OwnedKey>,
        keys: u64,
        mut rejects: Rejects,
        absent: Option<Input>,
    ) -> Result<Source, Ended> {
        let (absent, dropped) = match absent {
            None => {
                self.progress.doing("making absent URLs");
                let made = absent::make(&present, self.size, !self.seed, &urls, self.stop)?;
                (made, 0)
            }
            Some(input) => {
                let name = input.name();
                let mut sample = Sample::new(self.size, !self.seed);
                self.lines(input, &mut rejects, &mut |key| {
                    sample.offer(key);
                    Ok(())
                })?;
                let (absent, dropped) = absent::only(sample.into_keys(), &urls, self.stop)?;
                if absent.is_empty() {
                    rejects.finish(self.progress);
                    return Err(Failure::Found(format!(
                        "no URL of {name} is absent; without --absent they are made"
                    ))
                    .into());
                }
                (absent, dropped)
            }
        };
        Ok(Source {
            urls,
            samples: Samples { present, absent },
            keys,
            rejects,
            dropped,
        })
    }

    fn lines(
        &self,
        input: Input,
        rejects: &mut Rejects,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Ended> {
        let form = Form::Urls(self.canon.clone());
        let mut feed = Feed::start(vec![input], form, b'\n', self.stop.signals())?;
        let mut lines = 0;
        loop {
            let chunks = match feed.next()? {
                Next::Lines(chunks) => chunks,
                Next::End => return Ok(()),
                Next::Stop(signal) => return Err(Ended::Signal(signal)),
            };
            for (chunk, line) in each(&chunks) {
                lines += 1;
                match chunk.key(line) {
                    Ok(key) => visit(key.0)?,
                    Err(reason) => rejects.add(chunk, line, reason, self.progress),
                }
            }
            self.progress
                .doing(&format!("reading URLs, {}", count(lines)));
        }
    }
}

fn nothing(name: &str) -> Failure {
    Failure::Found(format!(
        "there is no URL in {name}; give a list with a URL a line, or `--generate 10M`"
    ))
}
