//! Where a result goes: a file that is there whole or not at all.

#![allow(
    clippy::disallowed_methods,
    reason = "the program's output is no file of a store"
)]

use super::super::failure::Failure;
use super::super::output::print;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// An output that was found to be writable, before the work begins.
#[derive(Debug)]
pub(super) enum Outlet {
    Stdout,
    /// A device or a pipe.
    Special(PathBuf),
    /// A file with a name of its own until it is whole: one that is there stays as it is
    /// until then, and nothing is left of a run that ends early.
    File {
        path: PathBuf,
        file: NamedTempFile,
    },
}

impl Outlet {
    /// `-` is standard output.
    pub(super) fn open(path: &Path) -> Result<Outlet, Failure> {
        if path == Path::new("-") {
            return Ok(Outlet::Stdout);
        }
        Outlet::file(path).map_err(|e| failed(path, &e))
    }

    fn file(path: &Path) -> io::Result<Outlet> {
        // A link stays one: what it points to is replaced.
        let path = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(e) if e.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
            Err(e) => return Err(e),
        };
        match fs::metadata(&path) {
            Ok(there) if there.is_dir() => {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Ok(there) if !there.is_file() => return Ok(Outlet::Special(path)),
            // What may not be written must not be replaced.
            Ok(_) => drop(OpenOptions::new().append(true).open(&path)?),
            Err(_) => {}
        }
        let dir = match path.parent() {
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".seen-bench-")
            // As for any new file; the system takes off what the user's mask says.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(dir)?;
        Ok(Outlet::File { path, file })
    }

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Outlet::Stdout)
    }

    /// Writes all of it.
    pub(super) fn write(self, text: &str) -> Result<(), Failure> {
        match self {
            Outlet::Stdout => print(text),
            Outlet::Special(path) => OpenOptions::new()
                .write(true)
                .open(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|e| failed(&path, &e)),
            Outlet::File { path, mut file } => file
                .write_all(text.as_bytes())
                .and_then(|()| file.persist(&path).map_err(|e| e.error))
                .map(drop)
                .map_err(|e| failed(&path, &e)),
        }
    }
}

/// An option, and the path that it has.
type Named<'a> = (&'a str, &'a Option<PathBuf>);

/// Refuses to write over what is read, and twice to one file.
pub(super) fn check(read: &[Named<'_>], written: &[Named<'_>]) -> Result<(), Failure> {
    let real = |(name, path): &Named<'_>| {
        let path = path.as_deref().filter(|path| *path != Path::new("-"))?;
        // One that is not there yet is none of those that are.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Some((name.to_string(), real))
    };
    let mut known: Vec<_> = read.iter().filter_map(real).collect();
    for (name, path) in written.iter().filter_map(real) {
        if let Some((other, _)) = known.iter().find(|(_, other)| *other == path) {
            return Err(Failure::Usage(format!(
                "{name} would replace what {other} names, {}; give another file",
                path.display()
            )));
        }
        known.push((name, path));
    }
    Ok(())
}

fn failed(path: &Path, source: &io::Error) -> Failure {
    Failure::Found(format!(
        "cannot write {}: {source}; give another path, or `-` for standard output",
        path.display()
    ))
}
