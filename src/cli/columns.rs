//! Tables whose columns are cases to compare.

/// Rows with a name and a cell for each case. A row without cells is a heading.
#[derive(Debug, Default)]
pub(super) struct Columns(Vec<(String, Vec<String>)>);

/// Between columns.
const GAP: usize = 2;

impl Columns {
    /// Adds a row.
    pub(super) fn row(&mut self, name: &str, cells: Vec<String>) {
        self.0.push((name.to_owned(), cells));
    }

    /// The table: cells to the right, and as many columns beside each other as `width` has
    /// room for, at least one; the others follow below.
    pub(super) fn text(&self, width: usize) -> String {
        let long = |text: &String| text.chars().count();
        let names = self.0.iter().map(|(name, _)| long(name)).max();
        let names = names.unwrap_or_default();
        let cases = self.0.iter().map(|(_, cells)| cells.len()).max();
        let widths: Vec<_> = (0..cases.unwrap_or_default())
            .map(|case| {
                let cells = self.0.iter().filter_map(|(_, cells)| cells.get(case));
                GAP + cells.map(long).max().unwrap_or_default()
            })
            .collect();
        let mut blocks = Vec::new();
        let mut rest = widths.as_slice();
        while !rest.is_empty() {
            let mut taken = names;
            let fit = rest.iter().take_while(|column| {
                taken += *column;
                taken <= width
            });
            let (now, later) = rest.split_at(fit.count().max(1));
            let from = widths.len() - rest.len();
            blocks.push(self.block(names, from, now));
            rest = later;
        }
        blocks.join("\n")
    }

    /// The columns from one on, with these widths.
    fn block(&self, names: usize, from: usize, widths: &[usize]) -> String {
        let mut text = String::new();
        for (name, cells) in &self.0 {
            let mut line = format!("{name:<names$}");
            for (cell, width) in cells.iter().skip(from).zip(widths) {
                line.push_str(&format!("{cell:>width$}"));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cases: usize) -> Columns {
        let mut table = Columns::default();
        let cells = |of: &str| (0..cases).map(|case| format!("{of}{case}")).collect();
        table.row("name", cells("a"));
        table.row("heading", Vec::new());
        table.row("  n", cells("long"));
        table
    }

    #[test]
    fn cells_stand_below_each_other_at_the_right() {
        let text = "\
name        a0     a1
heading
  n      long0  long1
";
        assert_eq!(table(2).text(80), text);
    }

    #[test]
    fn what_has_no_room_beside_follows_below() {
        let text = "\
name        a0     a1
heading
  n      long0  long1

name        a2
heading
  n      long2
";
        assert_eq!(table(3).text(21), text);
        assert_eq!(table(3).text(27), text);
        assert_eq!(table(3).text(28).lines().count(), 3);
        assert_eq!(table(3).text(0).lines().count(), 11);
        assert_eq!(table(0).text(80), "");
    }
}
