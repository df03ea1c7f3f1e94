//! On a disk that is really full, `seen new` fails with a message that says what to do,
//! what it had remembered stays, and other commands go on.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[allow(
    dead_code,
    unreachable_pub,
    reason = "helpers of tests, of which each test uses some"
)]
#[path = "support/child.rs"]
mod child;
#[path = "support/small_disk.rs"]
mod small_disk;
#[path = "support/program.rs"]
mod support;

use small_disk::{Disk, cut, namespace, take_all_room};
use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use support::{Place, end, lines, urls};

/// Lines in a batch.
const BATCH: usize = 1_000;

#[test]
fn on_tmpfs() {
    on(0);
}

#[test]
fn on_ext4() {
    on(4096);
}

fn on(number: u32) {
    let command = match namespace() {
        Ok(command) => command,
        Err(why) => return println!("skipped, as no disk can be mounted: {why}"),
    };
    let (mut process, mut said) =
        child::start_under(command, "child_with_a_small_disk", &number.to_string());
    let mut last = None;
    while let Some(line) = child::next_line(&mut said) {
        println!("{:?}: {line}", Disk::numbered(number));
        last = Some(line);
    }
    assert!(process.wait().unwrap().success(), "after {last:?}");
    assert!(last.is_some_and(|last| last == "done" || last.starts_with("skipped")));
}

#[test]
fn child_with_a_small_disk() {
    let Some(number) = child::argument() else {
        return;
    };
    let place = Place::new();
    if let Err(why) = Disk::numbered(number.parse().unwrap()).mount(24, &place.path("disk")) {
        return child::report(&format!("skipped, as it cannot be mounted: {why}"));
    }
    for durability in ["manual", "immediate", "10ms"] {
        fill(&place, durability);
        fs::remove_dir_all(place.path("disk/s")).unwrap();
    }
    child::report("done");
}

/// The lines that a run printed, to a file on another disk.
fn printed(place: &Place, output: &str) -> Vec<String> {
    let text = String::from_utf8(place.read(output)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn fill(place: &Place, durability: &str) {
    let all = urls(150_000);
    place.write("links", lines(&all));
    let others = place.path("disk/others");
    take_all_room(&others);
    cut(&others, 4 << 20);

    let new = |output: &str| {
        let options = ["--memtable", "1MiB", "--durability", durability];
        let run = ["new", "disk/s", "-q", "links"];
        let mut command = place.command(&[&run[..], &options].concat());
        command.stdout(Stdio::from(place.create(output)));
        end(command.spawn().unwrap())
    };
    let ran = new("first").fails_with("No space left on device");
    assert!(ran.err.contains("make room on that disk"), "{}", ran.err);
    let mut known: HashSet<String> = printed(place, "first").into_iter().collect();
    child::report(&format!(
        "{durability}: {} lines; {}",
        known.len(),
        ran.err.trim_end()
    ));
    assert!(known.len() > 2 * BATCH && known.len() < all.len());

    // What was printed is remembered, but for the batch that failed.
    let answers = place.seen(&["has", "disk/s", "--from", "first"], "");
    let unseen = answers.text().matches("unseen\t").count();
    assert!(unseen <= BATCH, "{unseen} were printed and forgotten");
    place.seen(&["verify", "disk/s", "-q"], "").quiet(0);
    assert!(place.stat("disk/s", "entries") >= (known.len() - unseen) as u64);

    // With no room at all nothing is lost by trying.
    take_all_room(&place.path("disk/more"));
    new("again").fails_with("No space left on device");
    known.extend(printed(place, "again"));
    place.seen(&["verify", "disk/s", "-q"], "").quiet(0);

    fs::remove_file(place.path("disk/more")).unwrap();
    fs::remove_file(others).unwrap();
    new("rest").quiet(0);
    known.extend(printed(place, "rest"));
    assert_eq!(known.len(), all.len());
    assert!(new("nothing").quiet(0).out.is_empty() && printed(place, "nothing").is_empty());
    assert_eq!(place.stat("disk/s", "entries"), all.len() as u64);
}
