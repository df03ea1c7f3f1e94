//! What a lookup reads from the disk when nothing of the store is in the page cache.
//!
//! Requests are page faults that had to read (`majflt`): a fault reads with one request, and the
//! store's advice to read a block goes the way of faults. The disk's own counter counts the
//! same, and what all others read; it is printed beside.

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
            &a_lookup("faults"),
            requests,
        )?;
        if mode == "find" {
            row(
                "... of the one with the most",
                &|a| a.get("most faults"),
                Goal::None,
            )?;
        }
        let of_disk = "requests of the disk";
        if stores.iter().all(|answers| answers.get(of_disk).is_ok()) {
            row(
                "... as the disk counts them",
                &a_lookup(of_disk),
                Goal::None,
            )?;
        }
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
