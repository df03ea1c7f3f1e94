//! Kills at random moments: what was printed before a kill is remembered except at
//! most the last batch, and nothing is ever lost.
//!
//! `SEENDB_TEST_LONG=1` kills 20 times as often.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/program.rs"]
mod support;

use std::collections::HashSet;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use support::{Place, lines, urls, wait};

const BATCH: usize = 1_000;
/// Each kill is of a run with one of these, and a memory that makes it flush and merge.
const DURABILITIES: [&str; 3] = ["1ms", "immediate", "manual"];

/// Whole lines; an unterminated last one is ignored.
fn whole(bytes: &[u8]) -> Vec<String> {
    bytes
        .split_inclusive(|&b| b == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

/// Kills of runs on one store.
const KILLS: u32 = 12;

#[test]
fn the_union_of_what_was_printed_is_complete() {
    let stores = match std::env::var_os("SEENDB_TEST_LONG") {
        Some(_) => 20,
        None => 1,
    };
    let place = Place::new();
    let all = urls(200_000);
    place.write("links", lines(&all));

    // How long a whole run takes here, for kills to fall into it.
    let start = Instant::now();
    let run = ["new", "other", "links", "--memtable", "1MiB"];
    place.seen(&run, "").quiet(0);
    let whole_run = start.elapsed();

    let mut sorted = all.clone();
    sorted.sort();
    let mut midway = 0;
    for number in 0..stores {
        let store = format!("s{number}");
        let mut printed = HashSet::new();
        for kill in number * KILLS..(number + 1) * KILLS {
            // Odd steps through the run are as good as random ones, and can be repeated.
            let after = whole_run / 291 * (kill * 37 % 61) + Duration::from_millis(1);
            midway += usize::from(kill_one(&place, &store, kill, after, &mut printed));
            kill_a_merge(&place, &store, after / 8);
        }
        let last = place.seen(&["new", &store, "-q", "links"], "").quiet(0);
        printed.extend(whole(&last.out));
        let missing = all.iter().filter(|url| !printed.contains(*url)).count();
        assert_eq!((missing, printed.len()), (0, all.len()));

        place.seen(&["verify", &store, "-q"], "").quiet(0);
        let again = place.seen(&["new", &store, "-q", "links"], "").quiet(0);
        assert!(again.out.is_empty());
        assert!(place.keys(&store) == sorted);
    }
    println!("{midway} of {} kills fell into a run", stores * KILLS);
    assert!(
        midway > 0,
        "no kill fell into a run that had printed something"
    );
}

/// Kills a run; whether it had printed something, and not yet all.
fn kill_one(
    place: &Place,
    store: &str,
    kill: u32,
    after: Duration,
    printed: &mut HashSet<String>,
) -> bool {
    let durability = DURABILITIES[kill as usize % DURABILITIES.len()];
    let run = ["new", store, "-q", "links", "--durability", durability];
    let mut child = place
        .command(&[&run[..], &["--memtable", "1MiB"]].concat())
        .stdout(Stdio::from(place.create("out")))
        .spawn()
        .unwrap();
    thread::sleep(after);
    let done = child.try_wait().unwrap();
    child.kill().unwrap();
    let ran = wait(child);
    assert!(ran.status == -9 || done.is_some(), "{ran:?}");

    let before_kill = whole(&place.read("out"));
    if !place.exists(store) {
        assert!(before_kill.is_empty());
        return false;
    }
    // The kill may have been in the middle of creating the store: then nothing
    // was printed, and the next run finishes it.
    let ran = place.seen(&["has", store, "--from", "out"], "");
    if before_kill.is_empty() {
        return false;
    }
    let answers = whole(&ran.out);
    let remembered = answers
        .iter()
        .take(before_kill.len())
        .take_while(|answer| answer.starts_with("seen\t"))
        .count();
    assert!(
        remembered + BATCH >= before_kill.len(),
        "kill {kill}: {} lines printed, {remembered} remembered: {}",
        before_kill.len(),
        ran.err
    );
    printed.extend(before_kill);
    place.seen(&["verify", store, "-q"], "").quiet(0);
    done.is_none()
}

/// Kills `seen compact`, which loses nothing and leaves no damage.
fn kill_a_merge(place: &Place, store: &str, after: Duration) {
    let before = place.seen(&["list", store], "");
    let mut child = place.start(&["compact", store, "-q"]);
    thread::sleep(after);
    child.kill().unwrap();
    wait(child);
    let after = place.seen(&["list", store], "");
    // The same, also where the creation of the store was cut short.
    assert!(before.out == after.out && before.status == after.status);
    if before.status == 0 {
        place.seen(&["verify", store, "-q"], "").quiet(0);
    }
}
