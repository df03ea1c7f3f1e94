//! How long it takes to open a store: after a close, cold, and after a kill.

use crate::answers::{Answers, ask};
use crate::goals::{Cell, Goal, Table};
use crate::{BATCH, Outcome, Plan, kernel, median, progress};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Times that an opening is measured.
const OPENINGS: usize = 9;
/// Times that the page cache is dropped, or a process is killed.
const DROPS: usize = 3;

/// What openings came to.
pub(crate) struct Openings {
    pub(crate) millis: f64,
    pub(crate) blocks: f64,
}

/// Opens a store of so many entries after a close, again and again.
pub(crate) fn warm(store: &Path, mode: &str, entries: usize) -> Outcome<Openings> {
    // The first one brings into the page cache what is not there.
    ask(mode, store, &[])?;
    let ask = || -> Outcome<Answers> {
        let opened = ask(mode, store, &[])?;
        if opened.get("bytes read")? > 0.0 {
            return Err("files that were just read are not in the page cache".into());
        }
        Ok(opened)
    };
    openings(OPENINGS, entries, ask)
}

/// Opens a store whose files are not in the page cache.
pub(crate) fn cold(store: &Path, entries: usize) -> Outcome<Openings> {
    let ask = || -> Outcome<Answers> {
        kernel::evict(store)?;
        let opened = ask("write", store, &[])?;
        if opened.get("bytes read")? < opened.get("resident")? {
            return Err("the page cache was not dropped: the store is on no disk?".into());
        }
        Ok(opened)
    };
    openings(DROPS, entries, ask)
}

fn openings(
    times: usize,
    entries: usize,
    mut ask: impl FnMut() -> Outcome<Answers>,
) -> Outcome<Openings> {
    let opened = (0..times).map(|_| ask()).collect::<Outcome<Vec<_>>>()?;
    let all = |name: &str| -> Outcome<Vec<f64>> { opened.iter().map(|o| o.get(name)).collect() };
    assert!(all("entries")?.iter().all(|&n| n as usize == entries));
    Ok(Openings {
        millis: median(all("millis")?),
        blocks: all("blocks")?.into_iter().fold(0.0, f64::max),
    })
}

pub(crate) fn measure(
    plan: &Plan,
    compacted: &Path,
    eight: &Path,
    table: &mut Table,
) -> Outcome<()> {
    progress("opening");
    let count = plan.urls.len();
    let rows = [
        (
            "writing, after a close, files in the page cache",
            "write",
            50.0,
        ),
        (
            "reading, after a close, files in the page cache",
            "read",
            50.0,
        ),
        ("writing, after a close, cold", "cold", f64::NAN),
    ];
    for (name, mode, most) in rows {
        let open = |store| match mode {
            "cold" => cold(store, count),
            mode => warm(store, mode, count),
        };
        let [one, many] = [open(compacted)?, open(eight)?];
        let goal = if most.is_nan() {
            Goal::None
        } else {
            Goal::AtMost(most)
        };
        let cell = |figure, goal| Some(Cell::new(figure, goal));
        table.figures(
            format!("opening for {name}, ms"),
            cell(one.millis, goal),
            cell(many.millis, Goal::None),
        );
        let none = Goal::AtMost(0.0);
        table.figures(
            "... blocks read",
            cell(one.blocks, none),
            cell(many.blocks, none),
        );
    }
    Ok(())
}

/// Leaves more in the store than all others expect: the last that is measured.
pub(crate) fn measure_kills(plan: &Plan, store: &Path, table: &mut Table) -> Outcome<()> {
    let (mut times, mut blocks, mut recovered) = (Vec::new(), 0.0f64, 0.0f64);
    for kill in 0..DROPS {
        progress(&format!("opening after kill {kill}"));
        fill_log_and_kill(plan, store, kill)?;
        let opened = ask("write", store, &[])?;
        recovered = opened.get("recovered")?;
        assert!(recovered > 0.0, "the log had nothing");
        times.push(opened.get("millis")?);
        blocks = blocks.max(opened.get("blocks")?);
    }
    let cell = |figure, goal| Some(Cell::new(figure, goal));
    table.figures(
        "opening for writing, after a kill with a full log, ms",
        cell(median(times), Goal::AtMost(1000.0)),
        None,
    );
    table.figures("... blocks read", cell(blocks, Goal::AtMost(0.0)), None);
    table.figures(
        "... entries read from the log",
        cell(recovered, Goal::None),
        None,
    );
    Ok(())
}

/// A child opens the store and inserts what it is given until a log is full; then
/// it is killed.
fn fill_log_and_kill(plan: &Plan, store: &Path, round: usize) -> Outcome<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--child", "fill"])
        .arg(store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or("no way to the child")?;
    let mut from = BufReader::new(child.stdout.take().ok_or("no way from the child")?);
    let mut line = String::new();
    // Near misses with a mark of this round are new each time.
    'all: for pass in 0.. {
        for batch in 0..plan.absent.len().div_ceil(BATCH) {
            let mut text = Vec::new();
            for place in batch * BATCH..((batch + 1) * BATCH).min(plan.absent.len()) {
                text.extend_from_slice(plan.absent.get(place));
                text.extend_from_slice(format!("~{round}{pass}\n").as_bytes());
            }
            text.push(b'\n');
            to.write_all(&text)?;
            line.clear();
            from.read_line(&mut line)?;
            match line.trim() {
                "full" => break 'all,
                "more" => {}
                other => return Err(format!("the child answered {other:?}").into()),
            }
        }
    }
    // SIGKILL, where there is one.
    child.kill()?;
    child.wait()?;
    Ok(())
}
