//! What a lookup reads from the disk when nothing of the store is in the page cache.
//!
//! Requests are those that the disk has completed, as its own counter has it: also of what all
//! others read meanwhile. Where there is no such counter, they are page faults that had to read
//! (`majflt`), which what is read on advice need not be; these are printed beside.

use crate::answers::{Answers, ask};
use crate::goals::{Cell, Goal, Table};
use crate::questions::Questions;
use crate::{Outcome, kernel, progress};
use std::path::Path;

pub(crate) fn measure(
    questions: &Questions,
    compacted: &Path,
    eight: &Path,
    table: &mut Table,
) -> Outcome<()> {
    for (mode, name, urls) in [
        ("find", "hit", &questions.present),
        ("miss", "miss", &questions.absent),
    ] {
        progress(&format!("cold, {name}"));
        let run = |store| -> Outcome<Answers> {
            kernel::evict(store)?;
            let answers = ask(mode, store, &[urls])?;
            // A block that is not in the page cache has to be read.
            if answers.get("bytes")? < 0.9 * answers.get("block bytes")? {
                return Err("the page cache was not dropped: the store is on no disk?".into());
            }
            Ok(answers)
        };
        let stores = [run(compacted)?, run(eight)?];
        let rate = stores[0].get("asked rate")?;
        let requests = Goal::AtMost(if mode == "find" { 1.0 } else { rate });
        let bytes = if mode == "find" {
            Goal::AtMost(8192.0)
        } else {
            Goal::None
        };
        let mut row = |text: &str, part: &dyn Fn(&Answers) -> Outcome<f64>, goal| -> Outcome<()> {
            let [one, many] = [part(&stores[0])?, part(&stores[1])?];
            table.figures(
                text.replace("KIND", name),
                Some(Cell::new(one, goal)),
                Some(Cell::new(many, Goal::None)),
            );
            Ok(())
        };
        let a_lookup = |part: &'static str| {
            move |answers: &Answers| Ok(answers.get(part)? / answers.get("lookups")?)
        };
        row(
            "cold KIND, requests a lookup",
            &a_lookup("requests"),
            requests,
        )?;
        if mode == "find" {
            row(
                "... of the one with the most",
                &|a| a.get("most requests"),
                Goal::None,
            )?;
        }
        row(
            "... page faults that had to read",
            &a_lookup("faults"),
            Goal::None,
        )?;
        row(
            "... blocks, as the store counts them",
            &a_lookup("blocks"),
            Goal::None,
        )?;
        row("... bytes read a lookup", &a_lookup("bytes"), bytes)?;
        if mode == "find" {
            row(
                "... of the one with the most",
                &|a| a.get("most bytes"),
                Goal::None,
            )?;
        }
        row(
            "... µs a lookup",
            &|a| Ok(a.get("nanos")? / a.get("lookups")? / 1e3),
            Goal::None,
        )?;
    }
    Ok(())
}
