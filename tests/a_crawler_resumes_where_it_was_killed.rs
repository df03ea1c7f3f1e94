//! The example crawler is killed at different moments and started again on the same
//! store: it goes on from there, fetches every page, and none again that was settled.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

#[path = "support/crawler.rs"]
mod crawler;
#[path = "support/site.rs"]
mod site;

use crawler::{interrupt, states, wait};
use seendb::{State, Token};
use site::{Moment, PAGES, Request, Site};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_128;

const DELAY: Duration = Duration::from_millis(20);
const RETRY: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 4;
const SECTION: usize = PAGES + 4;

/// What kills left behind.
#[derive(Default)]
struct Kills {
    /// How often each page had been answered when it was found settled as fetched.
    settled: HashMap<String, usize>,
    /// The claims on each page that a kill caught before they were settled.
    caught: HashMap<String, BTreeSet<Token>>,
}

#[test]
fn every_page_is_fetched_and_none_again() {
    let site = Site::open();
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("crawl.seen");
    let mut kills = Kills::default();
    let moments = [Moment::Asked, Moment::Answered, Moment::After];
    for moment in moments.into_iter().cycle().take(6) {
        site.begin_run(Some((2, moment)));
        let mut crawler = start(&site, &store);
        site.wait_for_the_moment();
        if moment == Moment::After {
            // Time enough to settle it, and to be about to ask for the next.
            thread::sleep(DELAY / 2);
        }
        crawler.kill().unwrap();
        crawler.wait().unwrap();
        kills.look_at(&store, &site);
    }

    // Ctrl-C lets go of what is in hand.
    let before = claimed(&store);
    site.begin_run(Some((2, Moment::After)));
    let mut crawler = start(&site, &store);
    site.wait_for_the_moment();
    interrupt(&crawler);
    assert!(wait(&mut crawler).success());
    let after = claimed(&store);
    assert!(after.is_subset(&before), "{after:?}, {before:?} before");

    // A kill while it waits to try failures again.
    site.begin_run(None);
    let mut crawler = start(&site, &store);
    thread::sleep(RETRY);
    crawler.kill().unwrap();
    crawler.wait().unwrap();
    kills.look_at(&store, &site);

    site.begin_run(None);
    assert!(wait(&mut start(&site, &store)).success());

    println!("caught by a kill: {:?}", kills.caught);
    assert!(kills.caught.len() >= 2 && !kills.settled.is_empty());
    let states = states(&store);
    the_store_knows_what_became_of_each(&site, &states);
    no_page_was_asked_for_without_need(&site, &states, &kills);
    the_site_was_asked_politely(&site);
}

fn the_store_knows_what_became_of_each(site: &Site, states: &BTreeMap<String, State>) {
    let mut expected = BTreeMap::new();
    for number in 1..=PAGES {
        expected.insert(site.url(&format!("/pages/{number}")), "200");
        expected.insert(site.other(&format!("/pages/{number}")), "200");
    }
    for path in ["/", "/flaky", "/busy", "/cut", "/picture"] {
        expected.insert(site.url(path), "200");
    }
    expected.insert(site.other("/landing"), "200");
    expected.insert(site.url("/moved"), "301");
    expected.insert(site.url("/moved/out"), "302");
    expected.insert(site.url("/missing"), "404 Not Found");
    expected.insert(site.url("/gone"), "410 Gone");
    expected.insert(site.url("/broken"), "500 Internal Server Error");
    expected.insert(site.url("/huge"), "a page of more than 100000 bytes");
    expected.insert(site.url("/private/page"), "robots.txt forbids it");

    let trap = site.url("/trap/");
    let mut trapped = 0;
    for (url, state) in states {
        let came = match state {
            State::Fetched { status, .. } => status.to_string(),
            State::Failed {
                reason,
                retry_at: None,
                ..
            } => reason.clone(),
            other => panic!("{url} is not done: {other:?}"),
        };
        if url.starts_with(&trap) {
            trapped += 1;
            assert_eq!(came, "200", "{url}");
        } else {
            assert_eq!(expected.remove(url), Some(came.as_str()), "{url}");
        }
    }
    assert!(expected.is_empty(), "missing: {expected:?}");
    assert_eq!(trapped, SECTION, "the trap is bounded, across kills too");

    let fine = Some(xxh3_128(b"fine").to_be_bytes());
    let content = |url: &str| match &states[url] {
        State::Fetched { content, .. } => *content,
        _ => None,
    };
    assert_eq!(content(&site.url("/flaky")), fine);
    assert_eq!(content(&site.url("/moved")), None);
    match &states[&site.url("/broken")] {
        State::Failed { attempts, .. } => assert!(*attempts >= ATTEMPTS, "{attempts}"),
        other => panic!("{other:?}"),
    }
}

fn no_page_was_asked_for_without_need(
    site: &Site,
    states: &BTreeMap<String, State>,
    kills: &Kills,
) {
    let answers = site.answers();
    for (url, before) in &kills.settled {
        assert_eq!(
            answers[url], *before,
            "{url} was settled, and asked for again"
        );
    }
    for url in states.keys() {
        let path = url
            .get(url.rfind(&format!(":{}", site.port)).unwrap()..)
            .unwrap();
        let needed = match path.split_once('/').map(|(_, path)| path) {
            Some("flaky") => 3,
            Some("busy" | "cut") => 2,
            Some("broken") => ATTEMPTS as usize,
            Some("private/page") => 0,
            _ => 1,
        };
        let caught = kills.caught.get(url).map_or(0, BTreeSet::len);
        let answered = answers.get(url).copied().unwrap_or(0);
        // A kill may have taken an answer, or a claim before it was answered.
        assert!(
            (needed.saturating_sub(caught)..=needed + caught).contains(&answered),
            "{url}: {answered} answers, {needed} needed, {caught} caught by a kill"
        );
        assert!(answered > 0 || needed == 0, "{url} was never answered");
    }
    let strange = |url: &&String| !states.contains_key(*url) && !url.ends_with("/robots.txt");
    let strange: Vec<_> = answers.keys().filter(strange).collect();
    assert!(strange.is_empty(), "not in the store: {strange:?}");
}

fn the_site_was_asked_politely(site: &Site) {
    let requests = site.requests();
    for host in ["127.0.0.1", "localhost"] {
        let of_host = requests.iter().filter(|r| r.host.starts_with(host));
        let of_host: Vec<&Request> = of_host.collect();
        for pair in of_host.windows(2) {
            let [before, next] = pair else { continue };
            if before.run == next.run {
                let (answered, _) = before.answered.unwrap();
                let gap = next.read_at.duration_since(answered);
                assert!(gap >= DELAY, "{gap:?} from {} to {}", before.url, next.url);
            }
        }
    }
    // Times count in whole seconds, so that one may be missing.
    let waits = [
        ("/broken", vec![RETRY, 2 * RETRY, 4 * RETRY]),
        ("/flaky", vec![RETRY, 2 * RETRY]),
        ("/busy", vec![Duration::from_secs(3)]),
        ("/cut", vec![RETRY]),
    ];
    for (path, waits) in waits {
        let url = site.url(path);
        let tries: Vec<_> = requests.iter().filter(|r| r.url == url).collect();
        for (pair, wait) in tries.windows(2).zip(waits) {
            let gap = pair[1].read_at.duration_since(pair[0].read_at);
            let least = wait.saturating_sub(Duration::from_secs(1));
            assert!(gap >= least, "{path} was tried again after {gap:?}");
        }
    }
}

impl Kills {
    /// What the store says after a kill.
    fn look_at(&mut self, store: &Path, site: &Site) {
        let answers = site.answers();
        for (url, state) in states(store) {
            let answered = answers.get(&url).copied().unwrap_or(0);
            match state {
                State::Fetched { .. } => {
                    self.settled.entry(url).or_insert(answered);
                }
                State::Claimed { token, .. } => {
                    self.caught.entry(url).or_default().insert(token);
                }
                _ => {}
            }
        }
    }
}

fn claimed(store: &Path) -> BTreeSet<String> {
    let claimed = |(url, state)| matches!(state, State::Claimed { .. }).then_some(url);
    states(store).into_iter().filter_map(claimed).collect()
}

fn start(site: &Site, store: &Path) -> Child {
    let section = SECTION.to_string();
    let attempts = ATTEMPTS.to_string();
    let options = [
        ["--workers", "3"],
        ["--delay", "0.02"],
        ["--retry", "1"],
        ["--timeout", "1.5"],
        ["--lease", "2"],
        ["--attempts", &attempts],
        ["--max-section", &section],
        ["--max-body", "100000"],
    ];
    crawler::start(site, store, options.as_flattened())
}
