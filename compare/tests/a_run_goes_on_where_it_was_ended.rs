//! Results are kept, and a load that was killed goes on in the store that it left.

mod program;

use program::{compare, stdout};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn plan(dir: &Path) -> Command {
    let mut command = compare(dir);
    command.arg("--resume").arg(dir);
    command.args("--generate 200000 --rounds 1 --lookups 1000 --cold 100".split(' '));
    command.args(["--stage", "3"]);
    command
}

#[test]
fn a_run_goes_on_where_it_was_ended() {
    for name in ["seendb", "fjall", "redb", "lmdb", "sqlite"] {
        let dir = tempfile::tempdir().unwrap();
        let mut first = plan(dir.path());
        first
            .args(["--only", name])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut first = first.spawn().unwrap();
        let progress = dir.path().join(format!("1-{name}-load.progress"));
        let start = Instant::now();
        while !progress.exists() {
            assert!(start.elapsed() < Duration::from_secs(120), "{name}");
            std::thread::sleep(Duration::from_millis(2));
        }
        // SIGKILL; the process that fills the store ends with it.
        first.kill().unwrap();
        first.wait().unwrap();

        let second = plan(dir.path()).args(["--only", name]).output().unwrap();
        let told = String::from_utf8_lossy(&second.stderr);
        assert!(second.status.success(), "{name}: {told}");
        assert!(told.contains("goes on at batch"), "{name}: {told}");
        assert!(!progress.exists(), "{name}");

        let third = plan(dir.path()).args(["--only", name]).output().unwrap();
        assert_eq!(third.stdout, second.stdout, "{name}: it was measured again");
    }
}

#[test]
fn results_of_something_else_are_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("urls.txt");
    let lines: String = (0..500)
        .map(|n| format!("https://example.com/{n}\n"))
        .collect();
    fs::write(&file, lines).unwrap();
    let kept = dir.path().join("kept");
    let of = |lookups: &str| {
        let mut command = compare(dir.path());
        command.arg(&file).arg("--resume").arg(&kept);
        command.args([
            "--only",
            "set,seendb",
            "--rounds",
            "1",
            "--lookups",
            lookups,
        ]);
        command
    };
    assert!(stdout(&mut of("400")).contains("urls.txt: 500 URLs"));
    let other = of("300").output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    let told = String::from_utf8_lossy(&other.stderr);
    assert!(told.contains("results of other URLs or options"), "{told}");
}
