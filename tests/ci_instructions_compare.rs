//! A call that takes more instructions than before fails unless a commit says why; what
//! cannot be compared is skipped, and says so.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(
    clippy::disallowed_methods,
    reason = "a copy of a script, not files of a store"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/instructions")
}

/// Status and what was printed.
fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn on_prepared_tables() {
    let (status, text) = said(&Command::new(script()).arg("--self-test").output().unwrap());
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(text, "21 comparisons are as they must be\n");
}

#[test]
fn on_tables_from_files() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let before = file("before", "call instructions\nhit_segment 4000\n");
    let after = file("after", "call instructions\nhit_segment 4400\n");
    let nothing = file("nothing", "");
    let why = file(
        "why",
        "Instructions: hit_segment +10 %, because blocks are decoded.\n",
    );
    for (bodies, expected) in [(&nothing, Some(1)), (&why, Some(0))] {
        let mut compare = Command::new(script());
        compare.arg("--compare").args([&before, &after, bodies]);
        let (status, text) = said(&compare.output().unwrap());
        assert_eq!(status, expected, "{text}");
        assert!(text.contains("4400   +10.0 %"), "{text}");
    }
}

/// A checkout of a single commit, and what the script says in it with the programs that
/// `PATH` has, and with `valgrind` if that is wanted.
fn in_a_checkout_of_one_commit(valgrind: bool, parent: Option<&str>) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("checkout");
    std::fs::create_dir_all(root.join(".ci")).unwrap();
    std::fs::copy(script(), root.join(".ci/instructions")).unwrap();
    let commit = [
        "git init --quiet",
        "git add .",
        "git -c user.name=n -c user.email=n@example.com commit --quiet -m first",
    ];
    let git = Command::new("sh")
        .args(["-c", &commit.join(" && ")])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(git.status.success(), "{git:?}");
    let programs = dir.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let mut wanted = vec!["bash", "dirname", "mktemp", "git", "rm", "env"];
    if valgrind {
        // Whatever is there under this name: nothing is to be counted.
        wanted.push("true");
    }
    let path = std::env::var_os("PATH").unwrap();
    for name in wanted {
        let real = std::env::split_paths(&path)
            .map(|folder| folder.join(name))
            .find(|program| program.exists())
            .unwrap();
        let name = if name == "true" { "valgrind" } else { name };
        std::os::unix::fs::symlink(real, programs.join(name)).unwrap();
    }
    let mut command = Command::new(root.join(".ci/instructions"));
    command.env("PATH", &programs).env_remove("SEENDB_PARENT");
    if let Some(parent) = parent {
        command.env("SEENDB_PARENT", parent);
    }
    said(&command.output().unwrap())
}

#[test]
fn without_valgrind_it_is_skipped() {
    let (status, text) = in_a_checkout_of_one_commit(false, None);
    let told = "skipped: valgrind is not installed\n";
    assert_eq!((status, text.as_str()), (Some(0), told));
}

#[test]
fn without_a_parent_it_is_skipped() {
    let (status, text) = in_a_checkout_of_one_commit(true, None);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.starts_with("skipped: there is no commit before"),
        "{text}"
    );
}

#[test]
fn a_parent_that_was_named_must_be_there() {
    let (status, text) = in_a_checkout_of_one_commit(true, Some("nowhere"));
    assert_eq!(status, Some(2), "{text}");
    assert!(
        text.contains("SEENDB_PARENT=nowhere: no such commit"),
        "{text}"
    );
}
