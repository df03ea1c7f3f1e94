//! Memory that a store takes beside its memtables, which are empty here.

use crate::Outcome;
use crate::answers::ask;
use crate::goals::{Cell, Goal, Table};
use crate::progress;
use crate::questions::Questions;
use std::path::Path;

/// Bytes of anonymous memory a URL that are wanted at most.
pub(crate) const MOST: f64 = 1.6;

/// Bytes of memory.
pub(crate) struct Memory {
    /// Anonymous, that opening added.
    pub(crate) opened: f64,
    /// Anonymous, added by then and by lookups.
    pub(crate) anonymous: f64,
    /// Anonymous, of the whole process.
    pub(crate) in_all: f64,
    /// Pages of mapped files: the kernel takes them back when it needs room.
    pub(crate) mapped: f64,
}

pub(crate) fn of(store: &Path, questions: &Questions) -> Outcome<Memory> {
    let answers = ask("remember", store, &[&questions.present, &questions.absent])?;
    Ok(Memory {
        opened: answers.get("opened")?,
        anonymous: answers.get("anonymous")?,
        in_all: answers.get("in all")?,
        mapped: answers.get("mapped")?,
    })
}

pub(crate) fn measure(
    count: usize,
    questions: &Questions,
    compacted: &Path,
    eight: &Path,
    table: &mut Table,
) -> Outcome<()> {
    progress("memory");
    let [one, many] = [of(compacted, questions)?, of(eight, questions)?];
    for (name, part, goal) in [
        (
            "anonymous memory beside memtables after lookups, bytes a URL",
            (|memory| memory.anonymous) as fn(&Memory) -> f64,
            Goal::AtMost(MOST),
        ),
        ("... that opening added", |memory| memory.opened, Goal::None),
        (
            "... of the whole process",
            |memory| memory.in_all,
            Goal::None,
        ),
        (
            "pages of mapped files, bytes a URL",
            |memory| memory.mapped,
            Goal::None,
        ),
    ] {
        let cell = |memory: &Memory, goal| Some(Cell::new(part(memory) / count as f64, goal));
        table.figures(name, cell(&one, goal), cell(&many, Goal::None));
    }
    Ok(())
}
