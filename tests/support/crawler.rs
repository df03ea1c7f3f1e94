//! The example crawler as a process on a [`Site`].
//!
//! Cargo builds examples for `cargo test`; with `--test` alone it does not:
//! `cargo build --example crawl` before.
#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "test helpers: a failure is the test's"
)]

use super::site::Site;
use seendb::{Seen, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Cargo puts examples beside the directory of the tests.
fn program() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let profile = this.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples/crawl");
    assert!(path.exists(), "not built: cargo build --example crawl");
    path
}

/// Starts it at the front page, to crawl both of the site's names.
pub fn start(site: &Site, store: &Path, options: &[&str]) -> Child {
    let mut command = Command::new(program());
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    command
        .arg(store)
        .arg(site.url("/"))
        .args(["--host", site.other("/").trim_start_matches("http://")])
        .args(options)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Sends it what Ctrl-C sends.
pub fn interrupt(crawler: &Child) {
    let kill = format!("kill -INT {}", crawler.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
}

/// Waits for it to end by itself.
pub fn wait(crawler: &mut Child) -> ExitStatus {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = crawler.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > until {
            crawler.kill().unwrap();
            panic!("the crawler did not end within a minute");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What the store knows of each page.
pub fn states(store: &Path) -> BTreeMap<String, State> {
    let seen = Seen::open_read_only(store).unwrap();
    let entries = seen.scan("").unwrap().map(|entry| {
        let (key, record) = entry.unwrap();
        (String::from_utf8(key.to_vec()).unwrap(), record.state)
    });
    entries.collect()
}
