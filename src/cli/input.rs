//! The inputs of a command: files, or standard input.

#![allow(
    clippy::disallowed_methods,
    reason = "these are the user's input files, not files of a store"
)]

use super::failure::Failure;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// One input.
#[derive(Debug, Clone)]
pub(super) enum Input {
    Stdin,
    File(PathBuf),
}

impl Input {
    /// The inputs that were named: `-` is standard input, and so is no name at all.
    ///
    /// Each is checked, so that a command with a mistyped name does nothing. They
    /// are opened when their turn comes: there may be more than a process can
    /// have open.
    pub(super) fn all(names: &[PathBuf]) -> Result<Vec<Input>, Failure> {
        if names.is_empty() {
            return Ok(vec![Input::Stdin]);
        }
        names.iter().map(|name| Input::check(name)).collect()
    }

    fn check(name: &Path) -> Result<Input, Failure> {
        if name == Path::new("-") {
            return Ok(Input::Stdin);
        }
        let input = Input::File(name.to_path_buf());
        let check = || {
            let metadata = fs::metadata(name)?;
            if metadata.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            // Opening a named pipe twice would disturb its writer.
            if metadata.is_file() {
                File::open(name)?;
            }
            Ok(())
        };
        check().map_err(|source| input.failure(source))?;
        Ok(input)
    }

    /// The input as a file without a buffer.
    pub(super) fn open(&self) -> Result<File, Failure> {
        match self {
            Input::Stdin => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            Input::File(path) => File::open(path),
        }
        .map_err(|source| self.failure(source))
    }

    /// The input in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Input::Stdin => "standard input".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }

    /// The input in front of a line number.
    pub(super) fn label(&self) -> String {
        match self {
            Input::Stdin => "stdin".to_owned(),
            Input::File(path) => path.display().to_string(),
        }
    }

    pub(super) fn failure(&self, source: io::Error) -> Failure {
        Failure::Input {
            name: self.name(),
            source,
        }
    }
}
