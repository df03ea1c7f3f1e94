//! A store with the denser codec, against one with the default.

use crate::goals::{Cell, Goal, Table};
use crate::lookups::Form;
use crate::questions::Questions;
use crate::{Outcome, Plan, median, memory, progress, stores};
use seendb::Codec;
use std::path::{Path, PathBuf};

/// Makes the store, compacted.
pub(crate) fn load(plan: &Plan) -> Outcome<PathBuf> {
    let path = plan.dir.join("dense");
    let seen = stores::load(plan, stores::builder(&path).codec(Codec::Dense))?;
    seen.compact()?;
    seen.close()?;
    Ok(path)
}

/// Both take turns, and the figures are ratios of their times.
pub(crate) fn lookups(plan: &Plan, default: &Path, dense: &Path, table: &mut Table) -> Outcome<()> {
    progress("lookups, dense");
    let [default, dense] = [default, dense].map(|path| stores::builder(path).open());
    let (default, dense) = (default?, dense?);
    for (name, urls, present, goal) in [
        ("miss", &plan.absent, false, Goal::None),
        ("hit", &plan.lookups, true, Goal::AtMost(1.3)),
    ] {
        let mut times = Vec::new();
        for _ in 0..=plan.rounds {
            let one = Form::Loop.time_store(&default, urls, present)?;
            times.push((Form::Loop.time_store(&dense, urls, present)?, one));
        }
        // The first round brings everything into memory.
        times.remove(0);
        let nanos = median(times.iter().map(|&(dense, _)| dense));
        let ratio = median(times.iter().map(|(dense, default)| dense / default));
        let cell = Some(Cell::ratio(nanos, ratio, goal));
        table.figures(
            format!("{name}, `Codec::Dense`, to the default's"),
            cell,
            None,
        );
    }
    default.close()?;
    dense.close()?;
    Ok(())
}

pub(crate) fn remembered(
    plan: &Plan,
    questions: &Questions,
    dense: &Path,
    table: &mut Table,
) -> Outcome<()> {
    let memory = memory::of(dense, questions)?;
    let bytes = memory.anonymous / plan.urls.len() as f64;
    let cell = Some(Cell::new(bytes, Goal::AtMost(1.9)));
    table.figures("anonymous memory, `Codec::Dense`, bytes a URL", cell, None);
    Ok(())
}
