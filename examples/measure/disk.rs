//! Bytes on disk, everything included.

use crate::goals::{Cell, Goal, Table};
use crate::stores::{self, LAYOUTS, Layout};
use crate::{Outcome, Plan, kernel, progress};
use std::path::PathBuf;

pub(crate) fn measure(plan: &Plan, table: &mut Table) -> Outcome<()> {
    for layout in &LAYOUTS {
        progress(&format!("bytes on {}", layout.name));
        let [eight, compacted] = bytes_a_url(plan, layout, false)?;
        let [eight_stamped, compacted_stamped] = bytes_a_url(plan, layout, true)?;
        let cell = |bytes, goal| Some(Cell::new(bytes, goal));
        table.figures(
            format!("{}, stamps off, bytes a URL", layout.name),
            cell(compacted, Goal::AtMost(layout.most)),
            cell(eight, Goal::None),
        );
        table.figures(
            "... that stamps add",
            cell(compacted_stamped - compacted, Goal::None),
            cell(eight_stamped - eight, Goal::None),
        );
    }
    Ok(())
}

/// With eight runs, and after `compact()`.
fn bytes_a_url(plan: &Plan, layout: &Layout, stamps: bool) -> Outcome<[f64; 2]> {
    let path: PathBuf = plan.dir.join("disk");
    let builder = || (layout.options)(stores::builder(&path)).stamps(stamps);
    let size = || Ok::<f64, Box<dyn std::error::Error>>(kernel::allocated(&path)? as f64);
    stores::load(plan, builder())?.close()?;
    let eight = size()?;
    let seen = builder().open()?;
    seen.compact()?;
    assert_eq!((seen.len(), seen.stats().runs), (plan.urls.len() as u64, 1));
    seen.close()?;
    let compacted = size()?;
    std::fs::remove_dir_all(&path)?;
    let count = plan.urls.len() as f64;
    Ok([eight / count, compacted / count])
}
