//! What was forgotten or has expired leaves no trace once runs are merged: the disk holds
//! what it would if those URLs had never been there, and each of them is new once.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test, which weighs files"
)]

mod support;
#[allow(dead_code, reason = "each user takes what it needs")]
#[path = "support/urls.rs"]
mod urls;

use seendb::{Canon, Driver, Env, Seen};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::{SetClock, assert_clean, at, child, names, place, tell};

const AGE: u64 = 1_000;
const CHUNK: u64 = 1_000;

/// URLs in all; of ten, one stays.
const COUNT: u64 = 1_000_000;

fn stays(i: u64) -> bool {
    i.is_multiple_of(10)
}

fn open(path: &Path, clock: &Arc<SetClock>) -> Seen {
    let env = Env {
        clock: clock.clone(),
        ..Env::default()
    };
    let builder = Seen::builder(path)
        .memtable_size(4 << 20)
        .segment_size(4 << 20);
    builder.driver(Driver::Manual).env(env).open().unwrap()
}

/// All URLs that `which` takes, in pieces that fit into a batch.
fn pieces(which: impl Fn(u64) -> bool) -> impl Iterator<Item = Vec<String>> {
    (0..COUNT / CHUNK).map(move |piece| {
        let numbers = (piece * CHUNK..(piece + 1) * CHUNK).filter(|&i| which(i));
        numbers.map(|i| urls::url(5, i)).collect()
    })
}

fn insert(seen: &Seen, which: impl Fn(u64) -> bool) {
    for urls in pieces(which) {
        assert_eq!(seen.insert_many(&urls).unwrap(), vec![true; urls.len()]);
        while seen.step().unwrap() {}
    }
}

/// Bytes that a store takes on the disk when all is merged and it is closed.
fn bytes(seen: Seen) -> u64 {
    let path = seen.path().to_path_buf();
    seen.compact().unwrap();
    seen.close().unwrap();
    assert_clean(&path);
    let sizes = names(&path, "").into_iter();
    sizes
        .map(|name| std::fs::metadata(path.join(name)).unwrap().len())
        .sum()
}

/// The bytes of a store that never had what does not stay.
fn bytes_of_those_that_stay() -> u64 {
    let (_dir, path) = place();
    let seen = open(&path, &Arc::default());
    insert(&seen, stays);
    bytes(seen)
}

/// The store at `path`, from which nine of ten went, against one that never had them.
fn check(path: &Path, clock: &Arc<SetClock>, left: u64, how: &str) {
    let bare = bytes_of_those_that_stay();
    tell(&format!(
        "{how}: {left} bytes for {} of {} URLs, and {bare} if the others had never been there",
        COUNT / 10,
        COUNT
    ));
    assert!(left * 100 <= bare * 115, "{left} bytes, and {bare}");
    let seen = open(path, clock);
    assert_eq!(seen.len(), COUNT / 10);
    for urls in pieces(stays) {
        assert!(seen.get_many(&urls).unwrap().iter().all(Option::is_some));
    }
    insert(&seen, |i| !stays(i));
    for urls in pieces(|_| true) {
        assert_eq!(seen.insert_many(&urls).unwrap(), vec![false; urls.len()]);
    }
    assert_eq!(seen.len(), COUNT);
}

#[test]
fn of_what_was_forgotten() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    let seen = open(&path, &clock);
    insert(&seen, |_| true);
    for urls in pieces(|i| !stays(i)) {
        assert_eq!(seen.forget_many(&urls).unwrap(), vec![true; urls.len()]);
        while seen.step().unwrap() {}
    }
    assert_eq!(seen.len(), COUNT / 10);
    check(&path, &clock, bytes(seen), "forgotten");
}

#[test]
fn of_what_has_expired() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    clock.set(AGE);
    let env = Env {
        clock: clock.clone(),
        ..Env::default()
    };
    let age = Duration::from_secs(AGE);
    let aged = Seen::builder(&path).env(env).expire_after(age).create();
    aged.unwrap().close().unwrap();
    let seen = open(&path, &clock);
    insert(&seen, |i| !stays(i));
    clock.set(2 * AGE - 1);
    insert(&seen, stays);
    clock.set(2 * AGE);
    check(&path, &clock, bytes(seen), "expired");
}

/// By host: any scheme, user and port, upper or lower case, and no other host. By prefix:
/// of keys, as they are written.
#[test]
fn of_a_host_or_a_prefix() {
    let of_the_host = [
        "http://example.com/",
        "https://example.com/",
        "https://EXAMPLE.com/a?b#c",
        "https://example.com:8080/a",
        "https://me:secret@example.com/",
        "ftp://example.com/a",
    ];
    let others = [
        "https://www.example.com/",
        "https://example.com.au/",
        "https://example.org/example.com/",
        "https://example.org/?u=https://example.com/",
        "https://example.com@example.org/",
        "https://notexample.com/",
    ];
    for name in ["example.com", "EXAMPLE.COM"] {
        let (_dir, path) = place();
        let seen = Seen::open(&path).unwrap();
        for url in of_the_host.iter().chain(&others) {
            assert!(seen.insert(url).unwrap(), "{url}");
        }
        seen.flush().unwrap();
        assert_eq!(seen.forget_host(name).unwrap(), of_the_host.len() as u64);
        assert_eq!(seen.forget_host(name).unwrap(), 0);
        assert_eq!(seen.len(), others.len() as u64);
        for url in of_the_host {
            assert!(!seen.contains(url).unwrap(), "{url}");
            assert!(seen.insert(url).unwrap(), "{url}");
        }
        assert!(others.iter().all(|url| seen.contains(url).unwrap()));
    }
    let (_dir, path) = place();
    let seen = Seen::builder(&path).canon(Canon::raw()).open().unwrap();
    for key in ["a", "a/", "a/b", "a0", "b/a/", "A/"] {
        seen.insert(key).unwrap();
    }
    assert_eq!(seen.forget_prefix("a/").unwrap(), 2);
    assert_eq!(seen.forget_prefix("c").unwrap(), 0);
    assert_eq!(support::keys(&seen), [&b"A/"[..], b"a", b"a0", b"b/a/"]);
    assert_eq!(seen.forget_prefix("").unwrap(), 4);
    assert!(seen.is_empty());
}

/// Keys that have expired are not forgotten once more, and do not count.
#[test]
fn of_no_more_than_there_is() {
    let (_dir, path) = place();
    let clock = Arc::new(SetClock::default());
    let env = Env {
        clock: clock.clone(),
        ..Env::default()
    };
    let age = Duration::from_secs(AGE);
    let seen = Seen::builder(&path).env(env).expire_after(age);
    let seen = seen.open().unwrap();
    clock.set(1);
    seen.insert("https://example.com/old").unwrap();
    clock.set(AGE);
    let mut batch = seen.batch();
    batch.insert("https://example.com/").unwrap();
    batch.at(at(AGE));
    seen.apply(batch).unwrap();
    clock.set(AGE + 1);
    let urls = ["https://example.com/", "https://example.com/"];
    assert_eq!(seen.forget_many(&urls).unwrap(), [true, false]);
    assert_eq!(seen.forget_host("example.com").unwrap(), 0);
    seen.compact().unwrap();
    assert!(seen.is_empty());
}

/// Keys that the child forgets.
const MANY: u64 = 60_000;

#[test]
fn child_forgets_a_prefix() {
    let Some(path) = child::argument() else {
        return;
    };
    let seen = Seen::open(path).unwrap();
    child::report("begins");
    seen.forget_prefix("https://example.com/").unwrap();
    child::report("ends");
}

/// A process that is killed in the middle has forgotten some; the next completes it.
#[test]
fn when_it_was_interrupted_in_the_middle() {
    let (dir, path) = place();
    let seen = Seen::open(&path).unwrap();
    let url = |i: u64| format!("https://example.com/{i}");
    assert_eq!(seen.extend((0..MANY).map(url)).unwrap(), MANY);
    seen.insert("https://example.org/").unwrap();
    seen.close().unwrap();
    let mut middles = 0;
    for round in 0..40 {
        let copy = dir.path().join(format!("copy{round}"));
        support::copy_dir(&path, &copy);
        let argument = copy.display().to_string();
        let (mut process, mut lines) = child::start("child_forgets_a_prefix", &argument);
        assert_eq!(child::next_line(&mut lines).as_deref(), Some("begins"));
        std::thread::sleep(Duration::from_millis(2 * round));
        process.kill().unwrap();
        process.wait().unwrap();
        let seen = Seen::open(&copy).unwrap();
        let left = seen.len() - 1;
        assert_eq!(support::keys(&seen).len() as u64, left + 1);
        assert_eq!(seen.forget_prefix("https://example.com/").unwrap(), left);
        assert_eq!(support::keys(&seen), [b"https://example.org/"]);
        drop(seen);
        std::fs::remove_dir_all(&copy).unwrap();
        middles += u64::from((1..MANY).contains(&left));
        if middles == 3 {
            return;
        }
    }
    assert!(middles > 0);
}
