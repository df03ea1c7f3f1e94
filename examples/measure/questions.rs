//! Files of URLs to ask for, for processes of their own: a line each.

use crate::Outcome;
use crate::corpus::Corpus;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Files of URLs that a store has, and of others.
pub(crate) struct Questions {
    pub(crate) present: PathBuf,
    pub(crate) absent: PathBuf,
}

impl Questions {
    /// `dir` must not exist.
    pub(crate) fn write(dir: &Path, present: &Corpus, absent: &Corpus) -> Outcome<Questions> {
        std::fs::create_dir(dir)?;
        let questions = Questions {
            present: dir.join("present"),
            absent: dir.join("absent"),
        };
        for (path, urls) in [(&questions.present, present), (&questions.absent, absent)] {
            let mut out = BufWriter::new(File::create(path)?);
            for url in urls.iter() {
                out.write_all(url)?;
                out.write_all(b"\n")?;
            }
            out.flush()?;
        }
        Ok(questions)
    }
}

/// The URLs of such a file, one after the other.
pub(crate) fn read(path: &Path) -> Outcome<impl Iterator<Item = std::io::Result<Vec<u8>>>> {
    Ok(BufReader::new(File::open(path)?).split(b'\n'))
}
