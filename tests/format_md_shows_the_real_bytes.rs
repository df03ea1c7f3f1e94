//! The hex example in docs/format.md is what this build writes, byte for byte.
//!
//! After a deliberate change of the format,
//! `SEENDB_UPDATE_DOCS=1 cargo test --test format_md_shows_the_real_bytes` writes it
//! anew.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the test reads files beside the store"
)]

use seendb::env::{Clock, Entropy, Env};
use seendb::fuzz::{Block, Codes};
use seendb::{Canon, Driver, Seen};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};

#[derive(Debug)]
struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> SystemTime {
        // 2026-01-01 00:00:00 UTC.
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// 1, 2, 3 and so on.
#[derive(Debug)]
struct Counting(AtomicU8);

impl Entropy for Counting {
    fn fill(&self, buf: &mut [u8]) -> std::io::Result<()> {
        for byte in buf {
            *byte = self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (line, bytes) in bytes.chunks(16).enumerate() {
        write!(text, "{:04x} ", line * 16).unwrap();
        for byte in bytes {
            write!(text, " {byte:02x}").unwrap();
        }
        let printable = |b: &u8| {
            if b.is_ascii_graphic() {
                *b as char
            } else {
                '.'
            }
        };
        let shown: String = bytes.iter().map(printable).collect();
        writeln!(text, "{}  {shown}", "   ".repeat(16 - bytes.len())).unwrap();
    }
    text
}

/// Puts the dump of a file between its marks in the page.
fn put(page: &str, name: &str, bytes: &[u8]) -> String {
    let begin = format!("<!-- begin {name} -->\n");
    let end = format!("<!-- end {name} -->");
    let from = page.find(&begin).expect("the mark is in the page") + begin.len();
    let to = page.find(&end).expect("the mark is in the page");
    format!(
        "{}```text\n{}```\n{}",
        &page[..from],
        hex(bytes),
        &page[to..]
    )
}

/// A dictionary, and a block that is coded with it.
fn coded() -> (Vec<u8>, Vec<u8>) {
    let strings: [&[u8]; 2] = [b".com/", b"ttps://"];
    let mut dictionary = vec![9, strings.len() as u8, 0, 0, 0];
    for string in strings {
        dictionary.push(string.len() as u8);
        dictionary.extend_from_slice(string);
    }
    let codes = Codes::decode(&dictionary).unwrap();
    let keys = ["https://a.com/", "https://b.com/x"];
    let entries = keys.map(|key| (key.as_bytes().to_vec(), Vec::new()));
    let block = Block::build(&entries, false, "https://a.".len(), &codes);
    (dictionary, block)
}

#[test]
fn the_example_is_what_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("example.seen");
    let env = Env {
        clock: Arc::new(Fixed),
        entropy: Arc::new(Counting(AtomicU8::new(1))),
        ..Env::default()
    };
    let seen = Seen::builder(&path)
        .canon(Canon::raw())
        .driver(Driver::Manual)
        .env(env)
        .create()
        .unwrap();
    let mut batch = seen.batch();
    batch.insert("https://example.com/b").unwrap();
    batch.insert("https://example.com/a?x=%C3%A9").unwrap();
    batch.position(7);
    seen.apply(batch).unwrap();
    let used = seen.stats().log_bytes;
    let mut log = std::fs::read(path.join("000001.log")).unwrap();
    log.truncate(usize::try_from(used).unwrap());
    seen.flush().unwrap();
    let segment = std::fs::read(path.join("000002.seg")).unwrap();
    let manifest = std::fs::read(path.join("MANIFEST")).unwrap();

    let page_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/format.md");
    let page = std::fs::read_to_string(&page_path).unwrap();
    let mut expected = put(&page, "000001.log", &log);
    expected = put(&expected, "000002.seg", &segment);
    expected = put(&expected, "MANIFEST", &manifest);
    let (dictionary, block) = coded();
    expected = put(&expected, "a dictionary", &dictionary);
    expected = put(&expected, "a block", &block);
    if std::env::var_os("SEENDB_UPDATE_DOCS").is_some() {
        std::fs::write(&page_path, &expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "docs/format.md shows other bytes than this build writes"
    );
}
