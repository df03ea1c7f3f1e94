//! How keys are coded is a matter of bytes and time alone.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use seendb::{Canon, Codec, Seen};
use std::path::Path;

const URLS: usize = 60_000;

/// One of 1,999 words of five letters.
fn word(i: usize) -> String {
    let mixed = (i % 1_999).wrapping_mul(0x9e37_79b9);
    let letter = |at: u32| char::from(b'a' + (mixed >> at) as u8 % 26);
    [3, 8, 13, 18, 23].map(letter).iter().collect()
}

fn url(i: usize) -> String {
    let site = i % 97;
    let [a, b, c] = [7, 13, 31].map(|times| word(i * times + i / 1_000));
    format!("https://www.site{site}.example.com/{a}/{b}-{c}-{i}.html")
}

/// Bytes of all segments.
fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let segments = files.filter(|file| file.path().extension().is_some_and(|e| e == "seg"));
    segments.map(|file| file.metadata().unwrap().len()).sum()
}

fn check(seen: &Seen) {
    let urls: Vec<String> = (0..URLS).map(url).collect();
    let absent: Vec<String> = urls.iter().map(|url| format!("{url}0")).collect();
    assert!(seen.get_many(&urls).unwrap().iter().all(Option::is_some));
    assert!(seen.get_many(&absent).unwrap().iter().all(Option::is_none));
    for url in urls.iter().step_by(41) {
        assert!(seen.contains(url).unwrap());
        assert!(!seen.contains(&url[..url.len() - 1]).unwrap());
    }
}

#[test]
fn answers_are_the_same_and_files_are_smaller() {
    let dir = tempfile::tempdir().unwrap();
    let sizes = Codec::ALL.map(|codec| {
        let path = dir.path().join(codec.name());
        let builder = || Seen::builder(&path).canon(Canon::raw()).stamps(false);
        let seen = builder()
            .codec(codec)
            .memtable_size(1 << 20)
            .open()
            .unwrap();
        for chunk in (0..URLS).map(url).collect::<Vec<_>>().chunks(1000) {
            seen.insert_many(chunk).unwrap();
        }
        check(&seen);
        seen.flush().unwrap();
        check(&seen);
        seen.close().unwrap();
        // It is the store's own now.
        let seen = builder().open().unwrap();
        seen.compact().unwrap();
        check(&seen);
        seen.close().unwrap();
        assert!(
            Seen::builder(&path)
                .verify(&mut |_| {})
                .unwrap()
                .damage
                .is_empty()
        );
        size(&path)
    });
    let [plain, standard, dense] = sizes;
    println!("bytes: {plain} plain, {standard} standard, {dense} dense");
    assert!(standard * 4 < plain * 3 && dense < standard, "{sizes:?}");
}

#[test]
fn compacting_codes_anew_what_was_coded_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("crawl.seen");
    let builder = || Seen::builder(&path).canon(Canon::raw()).stamps(false);
    let compacted = |builder: seendb::Builder| {
        let seen = builder.open().unwrap();
        seen.insert_many(&(0..URLS).map(url).collect::<Vec<_>>())
            .unwrap();
        seen.compact().unwrap();
        check(&seen);
        let merges = seen.stats().merges;
        seen.close().unwrap();
        (size(&path), merges)
    };
    let (plain, _) = compacted(builder().codec(Codec::Plain));
    assert_eq!(compacted(builder()), (plain, 0), "nothing was to do");
    let (dense, merges) = compacted(builder().codec(Codec::Dense));
    assert!(dense * 4 < plain * 3 && merges == 1, "{dense} {plain}");
    assert_eq!(compacted(builder()), (dense, 0), "nothing was to do");
}
