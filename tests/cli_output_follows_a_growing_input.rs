//! A batch ends when no more input is waiting, so `seen new` works on `tail -f`.

#[path = "support/program.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use support::{Place, end};

#[test]
fn a_line_comes_out_while_the_input_stays_open() {
    let place = Place::new();
    let mut child = place.start(&["new", "s"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, receiver) = channel();
    let reader = thread::spawn(move || {
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            sender.send(std::mem::take(&mut line)).unwrap();
        }
    });
    for i in 0..5 {
        let line = format!("http://{i}.example/\n");
        stdin.write_all(line.as_bytes()).unwrap();
        let printed = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(printed, line);
    }
    // Half a line is no line.
    stdin.write_all(b"http://half.exam").unwrap();
    assert!(receiver.recv_timeout(Duration::from_millis(300)).is_err());
    stdin.write_all(b"ple/\n").unwrap();
    let printed = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(printed, "http://half.example/\n");
    drop(stdin);
    reader.join().unwrap();
    end(child).quiet(0);
}

#[test]
fn a_steady_trickle_does_not_hold_lines_back() {
    let place = Place::new();
    let mut child = place.start(&["new", "s"]);
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || {
        // Never a pause of the length that ends a batch, and never a full batch.
        for i in 0..800 {
            writeln!(stdin, "http://{i}.example/").unwrap();
            thread::sleep(Duration::from_millis(2));
        }
    });
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    assert!(
        !writer.is_finished(),
        "the first line came before the last was written"
    );
    let rest = stdout.lines().count();
    assert_eq!((first.as_str(), rest), ("http://0.example/\n", 799));
    writer.join().unwrap();
    end(child).quiet(0);
}
