//! Rows of paired measurements: a set and one or more stores, in turns.

use crate::median;

/// A row: for each column, the times of every round. The first is the set's.
pub(crate) struct Row {
    name: &'static str,
    goal: Option<f64>,
    columns: Vec<Vec<f64>>,
}

impl Row {
    /// `goal`: the largest ratio to the set that is wanted in the second column.
    pub(crate) fn new(name: &'static str, goal: Option<f64>) -> Row {
        Row {
            name,
            goal,
            columns: Vec::new(),
        }
    }

    /// Notes a time in a column.
    pub(crate) fn note(&mut self, column: usize, nanos: f64) {
        while self.columns.len() <= column {
            self.columns.push(Vec::new());
        }
        self.columns[column].push(nanos);
    }

    /// The median over rounds of the ratio to the set in the same round.
    fn ratio(&self, column: usize) -> f64 {
        let pairs = self.columns[0].iter().zip(&self.columns[column]);
        median(pairs.map(|(set, store)| store / set).collect())
    }

    fn print(&self, columns: usize) {
        let set = median(self.columns[0].clone());
        print!("| {:<46} | {set:>7.0} |", self.name);
        for column in 1..columns {
            if let Some(times) = self.columns.get(column) {
                let ratio = self.ratio(column);
                print!(" {:>7.0} | {ratio:>5.2} |", median(times.clone()));
            } else {
                print!("       - |     - |");
            }
        }
        match self.goal {
            Some(goal) if self.ratio(1) <= goal => println!(" {goal:>4} holds |"),
            Some(goal) => println!(" {goal:>4} MISSED |"),
            None => println!("            |"),
        }
    }
}

/// Prints rows under the names of their columns.
pub(crate) fn print(title: &str, stores: &[&str], rows: &[Row]) {
    println!("\n{title}: ns a URL, and the ratio to the set\n");
    print!("| {:<46} |     set |", "");
    for store in stores {
        print!(" {store} | ratio |");
    }
    println!(" goal       |");
    println!("|---{}|---|", "|---".repeat(1 + 2 * stores.len()));
    for row in rows {
        row.print(1 + stores.len());
    }
}
