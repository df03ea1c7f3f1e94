//! `seen repair` makes a new store of all that is intact, and prints all that is not.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use seendb::{Durability, Seen};
use std::fs;
use support::{Place, lines, signal, urls, wait};

const IN_SEGMENTS: usize = 9_000;

/// A store `s` as a kill leaves it: two runs of some segments, and a log of 50 batches.
fn killed() -> Place {
    let place = Place::new();
    let seen = Seen::builder(place.path("live"))
        .memtable_size(1 << 20)
        .segment_size(64 << 10)
        .durability(Durability::Manual)
        .create()
        .unwrap();
    let urls = urls(IN_SEGMENTS + 50);
    for part in urls[..IN_SEGMENTS].chunks(IN_SEGMENTS / 2) {
        seen.extend(part).unwrap();
        seen.flush().unwrap();
    }
    for url in &urls[IN_SEGMENTS..] {
        seen.insert(url).unwrap();
    }
    place.mkdir("s");
    for (name, bytes) in place.files("live") {
        place.write(&format!("s/{name}"), bytes);
    }
    drop(seen);
    fs::remove_dir_all(place.path("live")).unwrap();
    place
}

fn of(place: &Place, end: &str) -> Vec<String> {
    let names = place.files("s").into_keys();
    names.filter(|name| name.ends_with(end)).collect()
}

#[test]
fn a_sound_store_loses_nothing() {
    let place = killed();
    let before = place.files("s");
    let ran = place.seen(&["repair", "s", "--into", "new"], "").quiet(0);
    let text = ran.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.contains("9,050 entries in new, nothing lost"),
        "{text}"
    );
    assert_eq!(place.files("s"), before);
    assert_eq!(place.keys("new"), place.keys("s"));
    place.seen(&["verify", "new"], "").quiet(0);
}

#[test]
fn a_block_a_log_tail_and_a_segment_are_listed_and_the_rest_is_there() {
    let place = killed();
    let all = place.keys("s");
    let segments = of(&place, ".seg");
    let log = of(&place, ".log").pop().unwrap();
    let mut bytes = place.read(&format!("s/{}", segments[0]));
    bytes[10_000] ^= 1;
    place.write(&format!("s/{}", segments[0]), &bytes);
    fs::remove_file(place.path(&format!("s/{}", segments[1]))).unwrap();
    let mut bytes = place.read(&format!("s/{log}"));
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    bytes[end - 500..end].fill(0xee);
    place.write(&format!("s/{log}"), &bytes);
    place.seen(&["list", "s"], "").fails_with("seen repair");

    let before = place.files("s");
    let ran = place.seen(&["repair", "s", "--into", "new"], "").quiet(1);
    let text = ran.text();
    let lost: Vec<&str> = text.lines().filter(|l| l.starts_with("lost: ")).collect();
    assert_eq!(lost.len(), 3, "{text}");
    let line = |name: &str| *lost.iter().find(|line| line.contains(name)).unwrap();
    assert!(
        line(&segments[0]).contains("keys between \"https://www"),
        "{text}"
    );
    assert!(line(&segments[0]).contains("checksum"), "{text}");
    assert!(line(&segments[1]).contains("found no file"), "{text}");
    assert!(line(&log).contains("batch "), "{text}");
    assert!(text.contains("\nolder: a URL that was"), "{text}");
    assert!(text.ends_with("3 parts lost\n"), "{text}");
    assert_eq!(place.files("s"), before);

    let new = place.keys("new");
    assert!(new.len() > 5_000 && new.len() < all.len(), "{}", new.len());
    let mut all = all.iter();
    assert!(new.iter().all(|key| all.any(|one| one == key)));
    place.seen(&["verify", "new"], "").quiet(0);
    // What was lost is new again, once.
    let urls = urls(IN_SEGMENTS + 50);
    let again = place.seen(&["new", "new", "-q"], lines(&urls)).quiet(0);
    assert_eq!(again.text().lines().count(), urls.len() - new.len());
    assert_eq!(place.keys("new").len(), urls.len());
}

#[test]
fn damage_that_costs_nothing_is_told_and_is_no_loss() {
    let place = killed();
    let all = place.keys("s");
    fs::remove_file(place.path("s/MANIFEST")).unwrap();
    place.write("s/000900.seg", "mine");
    let ran = place.seen(&["repair", "s", "--into", "new"], "").quiet(0);
    let text = ran.text();
    assert!(
        text.contains("no entry lost: s/MANIFEST is damaged"),
        "{text}"
    );
    assert!(text.contains("not taken: 000900.seg"), "{text}");
    assert_eq!(place.keys("new"), all);
}

#[test]
fn whoever_feeds_the_store_is_told_where_to_resume() {
    let place = Place::new();
    let seen = Seen::open(place.path("s")).unwrap();
    let mut batch = seen.batch();
    batch.insert("https://a.example/").unwrap();
    batch.position(7);
    seen.apply(batch).unwrap();
    seen.close().unwrap();
    fs::remove_file(place.path("s/MANIFEST")).unwrap();
    let ran = place.seen(&["repair", "s", "--into", "new"], "").quiet(0);
    let resume = "goes on from its beginning, not from position 7";
    assert!(ran.text().contains(resume), "{}", ran.text());
}

#[test]
fn bad_paths_are_refused_with_what_to_do() {
    let place = killed();
    let repair = |from: &str, into: &str| place.seen(&["repair", from, "--into", into], "");
    repair("nothing", "new").fails_with("there is no store");
    repair("s", "s").fails_with("a store exists already");
    repair("s", "s/new").fails_with("outside of the store");
    place.write("file", "");
    repair("file", "new").fails_with("is not a store");
    repair("s", "file").fails_with("is not a store");
    place.seen(&["repair", "s"], "").status(2);
    assert!(!place.exists("new"));
    let held = Seen::open(place.path("s")).unwrap();
    repair("s", "new").fails_with("end that first");
    drop(held);
}

#[test]
fn ctrl_c_leaves_the_old_store_and_no_other() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let place = killed();
        // Blocks to look for, byte by byte: enough to do until the signal comes.
        let segment = format!("s/{}", of(&place, ".seg")[0]);
        let file = fs::OpenOptions::new()
            .write(true)
            .open(place.path(&segment));
        file.unwrap().set_len(1 << 40).unwrap();
        fs::remove_file(place.path("s/MANIFEST")).unwrap();
        let child = place.start(&["repair", "s", "--into", "new"]);
        let started = std::time::Instant::now();
        while !place.exists("new/REPAIR.tmp") {
            assert!(started.elapsed() < std::time::Duration::from_secs(30));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        signal(&child, name);
        let ran = wait(child).status(status);
        assert!(
            ran.err.contains("interrupted") && ran.out.is_empty(),
            "{ran:?}"
        );
        assert!(place.files("new").is_empty());
        assert!(place.exists(&segment));
    }
}

#[test]
fn more_segments_than_open_files_are_all_taken() {
    let place = Place::new();
    let seen = Seen::builder(place.path("s"))
        .memtable_size(4 << 20)
        .segment_size(64 << 10)
        .durability(Durability::Manual)
        .create()
        .unwrap();
    seen.extend(urls(120_000)).unwrap();
    seen.flush().unwrap();
    seen.compact().unwrap();
    seen.close().unwrap();
    assert!(of(&place, ".seg").len() > 24);
    let limited = |files: u32, into: &str| {
        let run = format!("ulimit -n {files} && exec \"$0\" repair s --into {into}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &run, env!("CARGO_BIN_EXE_seen")]);
        command.current_dir(place.path("")).output().unwrap()
    };
    for manifest in [true, false] {
        if !manifest {
            fs::remove_file(place.path("s/MANIFEST")).unwrap();
        }
        let into = format!("new-{manifest}");
        let ran = limited(24, &into);
        let text = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(
            text.contains("120,000 entries") && text.contains("nothing lost"),
            "{ran:?}"
        );
        // With fewer still it is an error, and nothing passes for lost.
        for files in 4..12 {
            let ran = limited(files, "few");
            let text = String::from_utf8_lossy(&ran.stdout).into_owned();
            let tells_loss = text.lines().any(|line| line.starts_with("lost: "));
            assert!(!tells_loss, "{files}: {ran:?}");
            fs::remove_dir_all(place.path("few")).ok();
        }
    }
}
