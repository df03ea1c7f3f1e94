//! Commands that change nothing open read-only, beside a running writer.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use support::{Place, end};

#[test]
fn readers_see_what_a_running_writer_has_remembered() {
    let place = Place::new();
    let mut writer = place.start(&["new", "s"]);
    let mut stdin = writer.stdin.take().unwrap();
    let mut stdout = BufReader::new(writer.stdout.take().unwrap());
    for i in 0..3 {
        // The second line comes out after the first was remembered.
        for part in ["a", "b"] {
            writeln!(stdin, "http://{i}.example/{part}").unwrap();
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
        }
        let url = format!("http://{i}.example/a");
        place.seen(&["has", "s", &url], "").quiet(0);
        place.seen(&["get", "s", &url], "").quiet(0);
        assert!(place.keys("s").contains(&url));
        assert!(place.stat("s", "entries") > 2 * i);
        place.seen(&["verify", "s"], "").quiet(0);
    }
    drop(stdin);
    end(writer).quiet(0);
}
