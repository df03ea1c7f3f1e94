//! Kills at random moments: what was printed before a kill is remembered except at
//! most the last batch, and nothing is ever lost.

#[path = "support/program.rs"]
mod support;

use std::collections::HashSet;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};
use support::{Place, lines, urls, wait};

const BATCH: usize = 1_000;

/// Whole lines; an unterminated last one is ignored.
fn whole(bytes: &[u8]) -> Vec<String> {
    bytes
        .split_inclusive(|&b| b == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect()
}

#[test]
fn the_union_of_what_was_printed_is_complete() {
    let place = Place::new();
    let all = urls(200_000);
    place.write("links", lines(&all));

    // How long a whole run takes here, for kills to fall into it.
    let start = Instant::now();
    place.seen(&["new", "other", "links"], "").quiet(0);
    let whole_run = start.elapsed();

    let mut printed = HashSet::new();
    let mut midway = 0;
    // Odd steps through the run are as good as random ones, and can be repeated.
    for kill in 0_u32..10 {
        let output = format!("out{kill}");
        let mut child = place
            .command(&["new", "s", "-q", "links"])
            .stdout(Stdio::from(place.create(&output)))
            .spawn()
            .unwrap();
        thread::sleep(whole_run / 97 * (kill * 37 % 61) + Duration::from_millis(1));
        let done = child.try_wait().unwrap();
        child.kill().unwrap();
        let ran = wait(child);
        assert!(ran.status == -9 || done.is_some(), "{ran:?}");

        let before_kill = whole(&place.read(&output));
        if !place.exists("s") {
            assert!(before_kill.is_empty());
            continue;
        }
        // The kill may have been in the middle of creating the store: then nothing
        // was printed, and the next run finishes it.
        let ran = place.seen(&["has", "s", "--from", &output], "");
        if before_kill.is_empty() {
            continue;
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
        midway += usize::from(done.is_none());
        printed.extend(before_kill);
        place.seen(&["verify", "s", "-q"], "").quiet(0);
    }
    assert!(
        midway > 0,
        "no kill fell into a run that had printed something"
    );
    let last = place.seen(&["new", "s", "-q", "links"], "").quiet(0);
    printed.extend(whole(&last.out));
    let missing = all.iter().filter(|url| !printed.contains(*url)).count();
    assert_eq!((missing, printed.len()), (0, all.len()));

    place.seen(&["verify", "s", "-q"], "").quiet(0);
    let again = place.seen(&["new", "s", "-q", "links"], "").quiet(0);
    assert!(again.out.is_empty());
    let mut sorted = all;
    sorted.sort();
    assert!(place.keys("s") == sorted);
}
