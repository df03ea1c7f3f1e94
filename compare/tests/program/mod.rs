//! The program, run by tests.

use std::path::Path;
use std::process::Command;

/// The program, which makes its stores in a directory.
pub(crate) fn compare(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seendb-compare"));
    command.arg("--dir").arg(dir);
    command
}

/// What it prints; it must succeed.
pub(crate) fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8(output.stdout).unwrap()
}
