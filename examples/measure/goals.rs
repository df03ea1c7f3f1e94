//! The table: what was measured, what is wanted, and whether it is so.

/// What a figure has to be.
#[derive(Clone, Copy, Default)]
pub(crate) enum Goal {
    #[default]
    None,
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    /// The goal, and what came of it.
    pub(crate) fn told(self, figure: f64) -> [String; 2] {
        let (goal, reached) = match self {
            Goal::None => return [String::new(), String::new()],
            Goal::AtMost(most) => (format!("≤ {most}"), figure <= most),
            Goal::AtLeast(least) => (format!("≥ {least}"), figure >= least),
        };
        // A figure that is no number reaches nothing.
        [goal, if reached { "reached" } else { "**missed**" }.into()]
    }
}

/// What was measured on one store.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    /// The time, where the figure is a ratio of times.
    nanos: Option<f64>,
    figure: f64,
    goal: Goal,
}

impl Cell {
    pub(crate) fn new(figure: f64, goal: Goal) -> Cell {
        Cell {
            nanos: None,
            figure,
            goal,
        }
    }

    /// A ratio, and the time it came from.
    pub(crate) fn ratio(nanos: f64, ratio: f64, goal: Goal) -> Cell {
        Cell {
            nanos: Some(nanos),
            figure: ratio,
            goal,
        }
    }
}

/// One thing that is measured: in nanoseconds of the set, after `compact()`, and with eight
/// runs. What is not told apart by runs is under the first of these.
struct Row {
    name: String,
    set: Option<f64>,
    compacted: Option<Cell>,
    eight: Option<Cell>,
}

/// Rows in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// A row of times and their ratios to the set's.
    pub(crate) fn times(
        &mut self,
        name: impl Into<String>,
        set: f64,
        compacted: Cell,
        eight: Option<Cell>,
    ) {
        self.rows.push(Row {
            name: name.into(),
            set: Some(set),
            compacted: Some(compacted),
            eight,
        });
    }

    /// A row without times.
    pub(crate) fn figures(
        &mut self,
        name: impl Into<String>,
        compacted: Option<Cell>,
        eight: Option<Cell>,
    ) {
        self.rows.push(Row {
            name: name.into(),
            set: None,
            compacted,
            eight,
        });
    }

    pub(crate) fn print(&self) {
        if self.rows.is_empty() {
            return;
        }
        println!(
            "\n| | set, ns | compact(), ns | figure | goal | | 8 runs, ns | figure | goal | |"
        );
        println!("|---|--:|--:|--:|--:|---|--:|--:|--:|---|");
        for row in &self.rows {
            let nanos = |nanos: Option<f64>| nanos.map_or(String::new(), |n| format!("{n:.0}"));
            print!("| {} | {} |", row.name, nanos(row.set));
            for cell in [row.compacted, row.eight] {
                let Some(cell) = cell else {
                    print!(" | | | |");
                    continue;
                };
                let [goal, mark] = cell.goal.told(cell.figure);
                print!(
                    " {} | {} | {goal} | {mark} |",
                    nanos(cell.nanos),
                    digits(cell.figure)
                );
            }
            println!();
        }
    }
}

/// A number with as many digits as say something.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
