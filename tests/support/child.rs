//! Runs a test of this very program in another process.
//!
//! The child is a `#[test]` that does nothing unless [`argument`] gives it one.
//! It reports lines on standard error, where the test harness prints nothing.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, Command, Stdio};

const VARIABLE: &str = "SEENDB_TEST_CHILD";

/// What the parent gave the child; `None` in a process that is no child.
pub fn argument() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Starts the test `name` of this program with an argument.
pub fn start(name: &str, argument: &str) -> (Child, BufReader<ChildStderr>) {
    start_under(&[], name, argument)
}

/// Starts it as the command that another program is given.
pub fn start_under(
    program: &[&str],
    name: &str,
    argument: &str,
) -> (Child, BufReader<ChildStderr>) {
    let this = std::env::current_exe().unwrap();
    let mut command = match program {
        [] => Command::new(this),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(this);
            command
        }
    };
    let mut child = command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(VARIABLE, argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    (child, lines)
}

/// Reports a line to the parent: when this returns, the parent will read it, even
/// if the child is killed.
pub fn report(line: &str) {
    let line = format!("@{line}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The next line that the child reported, `None` at the end. What it says
/// otherwise, a panic's message say, fails the parent.
pub fn next_line(lines: &mut BufReader<ChildStderr>) -> Option<String> {
    let mut line = String::new();
    // A line without an end was cut by the kill.
    if lines.read_line(&mut line).unwrap() == 0 || !line.ends_with('\n') {
        return None;
    }
    match line.trim_end().strip_prefix('@') {
        Some(line) => Some(line.to_string()),
        None => {
            let mut rest = String::new();
            let _ = std::io::Read::read_to_string(lines, &mut rest);
            panic!("the child said: {line}{rest}");
        }
    }
}
