//! Helpers of the tests that drive the program `seen`.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test helpers: each test uses some of them, and a failure is the test's"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A directory of its own in which a test runs the program. Tests name files
/// relative to it; the store is `s` unless a test needs several.
pub(crate) struct Place(tempfile::TempDir);

/// What a run of the program left.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit status; the negative number of a signal that killed it.
    pub(crate) status: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    fn new(output: Output) -> Ran {
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("panicked"), "a panic: {err}");
        Ran {
            status: status(output.status),
            out: output.stdout,
            err,
        }
    }

    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Asserts the exit status and an empty standard error.
    #[track_caller]
    pub(crate) fn quiet(self, status: i32) -> Ran {
        assert_eq!(self.err, "", "standard error is not empty: {self:?}");
        self.status(status)
    }

    /// Asserts the exit status.
    #[track_caller]
    pub(crate) fn status(self, status: i32) -> Ran {
        assert_eq!(self.status, status, "standard error: {}", self.err);
        self
    }

    /// Asserts exit status 2 and a message that holds `words`.
    #[track_caller]
    pub(crate) fn fails_with(self, words: &str) -> Ran {
        let ran = self.status(2);
        assert!(ran.err.starts_with("seen: "), "no message: {}", ran.err);
        assert!(ran.err.contains(words), "{words:?} is not in: {}", ran.err);
        ran
    }
}

/// The exit status, or the negative number of the signal.
pub(crate) fn status(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| -status.signal().unwrap_or(999))
}

impl Place {
    pub(crate) fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn create(&self, name: &str) -> fs::File {
        fs::File::create(self.path(name)).unwrap()
    }

    pub(crate) fn mkdir(&self, name: &str) {
        fs::create_dir(self.path(name)).unwrap();
    }

    /// Names and contents of the files in a directory.
    pub(crate) fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.path(name), "", &mut files);
        files
    }

    /// The program with arguments, in this place, before it starts.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seen"));
        command
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end with this standard input.
    pub(crate) fn seen(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref();
        thread::scope(|scope| {
            scope.spawn(move || {
                // The program may end without reading everything.
                let _ = stdin.write_all(input);
            });
            Ran::new(child.wait_with_output().unwrap())
        })
    }

    /// Starts the program with an input that stays open.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdin(Stdio::piped()).spawn().unwrap()
    }

    /// The store's keys.
    #[track_caller]
    pub(crate) fn keys(&self, store: &str) -> Vec<String> {
        let listed = self.seen(&["list", store], "").quiet(0);
        listed.text().lines().map(str::to_owned).collect()
    }

    /// One number from `seen stats --json`.
    #[track_caller]
    pub(crate) fn stat(&self, store: &str, name: &str) -> u64 {
        let ran = self.seen(&["stats", "--json", store], "").quiet(0);
        let stats: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
        stats[name].as_u64().unwrap()
    }
}

fn collect(dir: &Path, under: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{under}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

/// Waits for the program to end by itself; kills it and fails if it does not.
#[track_caller]
pub(crate) fn end(mut child: Child) -> Ran {
    drop(child.stdin.take());
    wait(child)
}

/// The same, with the input left open.
#[track_caller]
pub(crate) fn wait(mut child: Child) -> Ran {
    let stdin = child.stdin.take();
    let until = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the program did not end within a minute");
        }
        thread::sleep(Duration::from_millis(5));
    }
    drop(stdin);
    Ran::new(child.wait_with_output().unwrap())
}

/// Sends a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{name} {}", child.id())])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// Different URLs of a few hosts, the same at every call.
pub(crate) fn urls(count: usize) -> Vec<String> {
    (0..count as u64)
        .map(|i| {
            let mixed = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 17;
            // No dictionary makes that much shorter.
            let noise = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!(
                "https://www{}.example/{mixed:x}/{noise:016x}-{i}.html",
                mixed % 97
            )
        })
        .collect()
}

/// Lines, each with its end.
pub(crate) fn lines(urls: &[String]) -> String {
    urls.iter().map(|url| format!("{url}\n")).collect()
}

/// The directory of the test data, or `None` with a printed line if it is absent.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("SEENDB_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let path = dir.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no test data at {}", path.display());
    None
}

/// A data file, decompressed if its name says so; `None` if the machine has no
/// `zstd`.
pub(crate) fn data_file(path: &Path) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|e| e != "zst") {
        return Some(fs::read(path).unwrap());
    }
    match Command::new("zstd").arg("-dcq").arg(path).output() {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            println!("skipped: cannot decompress {}", path.display());
            None
        }
    }
}

/// The files in a directory of the test data, sorted.
pub(crate) fn data_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// A device to write to; `None` with a printed line if the machine has none.
pub(crate) fn device(path: &str) -> Option<fs::File> {
    let device = fs::OpenOptions::new().write(true).open(path);
    if device.is_err() {
        println!("skipped: no {path}");
    }
    device.ok()
}
