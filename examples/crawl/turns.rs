//! Whose turn it is: a few pages of each site, of which one may be in the hands of a
//! worker, and the next only after a delay.
//!
//! This is no frontier. What is lost here is still due in the store.

use crate::robots::Robots;
use crate::sites::site_of;
use crate::stop::{STEP, Stop};
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use url::Url;

/// Pages held for one site: enough to keep it busy until the store is read again.
const ROOM: usize = 16;

pub(crate) struct Turns {
    delay: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    sites: HashMap<String, Site>,
    /// Whether a site had no more pages since that was last asked.
    ran_dry: bool,
    closed: bool,
}

struct Site {
    pages: VecDeque<Url>,
    in_hand: bool,
    free_at: Instant,
    robots: Option<Robots>,
}

/// A page, and all that its site is asked meanwhile.
pub(crate) struct Turn {
    pub(crate) url: Url,
    pub(crate) robots: Option<Robots>,
}

/// How a turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The site was asked for the page.
    Asked,
    /// The site was asked for something else, and the page is still to come.
    AskedAside,
    /// The site was not asked.
    NotAsked,
}

impl Turns {
    pub(crate) fn new(delay: Duration) -> Turns {
        Turns {
            delay,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Takes in a page, if there is room for one more of its site.
    pub(crate) fn offer(&self, url: Url) {
        let mut state = self.lock();
        let site = state.sites.entry(site_of(&url).to_owned());
        let site = site.or_insert_with(|| Site {
            pages: VecDeque::new(),
            in_hand: false,
            free_at: Instant::now(),
            robots: None,
        });
        if site.pages.len() < ROOM && !site.pages.contains(&url) {
            site.pages.push_back(url);
            self.changed.notify_all();
        }
    }

    /// A page whose site may be asked now; waits for one. `None` at the end.
    pub(crate) fn take(&self, stop: &Stop) -> Option<Turn> {
        let mut state = self.lock();
        loop {
            if state.closed || stop.is_wanted() {
                return None;
            }
            let now = Instant::now();
            let waiting = state.sites.values_mut();
            let waiting = waiting.filter(|site| !site.in_hand && !site.pages.is_empty());
            let mut wait = STEP;
            if let Some(site) = waiting.min_by_key(|site| site.free_at) {
                if site.free_at > now {
                    wait = wait.min(site.free_at - now);
                } else if let Some(url) = site.pages.pop_front() {
                    site.in_hand = true;
                    let robots = site.robots.take();
                    return Some(Turn { url, robots });
                }
            }
            state = self.wait(state, wait);
        }
    }

    /// Gives the site free for the next turn.
    pub(crate) fn end(&self, turn: Turn, how: End) {
        let mut state = self.lock();
        let mut ran_dry = false;
        if let Some(site) = state.sites.get_mut(site_of(&turn.url)) {
            site.in_hand = false;
            site.robots = turn.robots;
            if how != End::NotAsked {
                site.free_at = Instant::now() + self.delay;
            }
            if how == End::AskedAside {
                site.pages.push_front(turn.url);
            }
            ran_dry = site.pages.is_empty();
        }
        state.ran_dry |= ran_dry;
        self.changed.notify_all();
    }

    /// Whether there is no page, and none in anybody's hands.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        let mut sites = state.sites.values();
        sites.all(|site| !site.in_hand && site.pages.is_empty())
    }

    /// Waits until a site has run dry since this was called last.
    pub(crate) fn wait_for_a_dry_one(&self, stop: &Stop) {
        let mut state = self.lock();
        while !state.ran_dry && !stop.is_wanted() {
            state = self.wait(state, STEP);
        }
        state.ran_dry = false;
    }

    /// There will be no more pages.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals notify nobody, so that no wait is long.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, time: Duration) -> MutexGuard<'a, State> {
        let woken = self.changed.wait_timeout(state, time);
        woken.unwrap_or_else(PoisonError::into_inner).0
    }
}
