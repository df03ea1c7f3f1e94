//! The table: a row for each figure, and below it its ratios; a column for each store.

use crate::figure::Figure;
use crate::report::{Cell, Report};
use crate::rivals::Name;
use std::fmt::Write;

/// The table as text: aligned, or as Markdown.
pub(crate) fn text(report: &Report, markdown: bool) -> String {
    let names = report.names();
    let mut rows = vec![header(&names)];
    let mut footnote = false;
    for figure in Figure::ALL {
        let cells: Vec<Option<Cell>> = names
            .iter()
            .map(|name| report.cell(*name, figure))
            .collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        footnote |= cells.iter().flatten().any(|cell| cell.otherwise);
        rows.extend(lines(figure, &cells));
    }
    let mut text = report.about();
    text.push_str("\n\n");
    text.push_str(&if markdown {
        as_markdown(&rows)
    } else {
        aligned(&rows)
    });
    text.push('\n');
    if footnote {
        text.push_str(
            "* For want of such a call, otherwise than the row says: single calls, or built of \
             all URLs at once.\n",
        );
    }
    for line in &report.skipped {
        let _ = writeln!(text, "Left out: {line}.");
    }
    let _ = writeln!(text, "{}", report.versions());
    text
}

fn header(names: &[Name]) -> Vec<String> {
    let names = names.iter().map(|name| name.title().to_owned());
    [String::new(), String::new()]
        .into_iter()
        .chain(names)
        .collect()
}

/// The row of a figure, and those of its ratios that anything has.
fn lines(figure: Figure, cells: &[Option<Cell>]) -> Vec<Vec<String>> {
    let (title, unit) = figure.title();
    let row = |title: &str, unit: &str, show: &dyn Fn(&Cell) -> Option<String>| {
        let mut row = vec![title.to_owned(), unit.to_owned()];
        row.extend(cells.iter().map(|cell| {
            let shown = cell.as_ref().and_then(show);
            shown.unwrap_or_default()
        }));
        row
    };
    let values = row(title, unit, &|cell| {
        let mark = if cell.otherwise { "*" } else { "" };
        Some(number(cell.value) + mark)
    });
    let to_set = row("", "x hash set", &|cell| cell.to_set.map(ratio));
    let to_seendb = row("", "x seendb", &|cell| cell.to_seendb.map(ratio));
    let ratios = [to_set, to_seendb].into_iter();
    let some = ratios.filter(|row| row.iter().skip(2).any(|cell| !cell.is_empty()));
    std::iter::once(values).chain(some).collect()
}

/// A value with three digits or more.
pub(crate) fn number(value: f64) -> String {
    if value < 9.995 {
        return format!("{value:.2}");
    }
    if value < 99.95 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn ratio(value: f64) -> String {
    number(value)
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // A mark stands behind the digits that are below each other.
            let width = *width;
            let _ = match column {
                0 | 1 => write!(line, "{cell:<width$}  "),
                _ => write!(line, "{cell:>width$}  "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn as_markdown(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if place == 0 {
            let rule: Vec<&str> = (0..row.len())
                .map(|column| if column < 2 { "---" } else { "---:" })
                .collect();
            let _ = writeln!(text, "|{}|", rule.join("|"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;

    #[test]
    fn numbers_have_digits_that_count() {
        let numbers = [0.0, 0.123, 9.994, 9.996, 45.67, 99.96, 1_234.5, 1_234_567.0];
        let texts = numbers.map(number);
        let wanted = [
            "0.00",
            "0.12",
            "9.99",
            "10.0",
            "45.7",
            "100",
            "1,234",
            "1,234,567",
        ];
        assert_eq!(texts, wanted);
    }

    #[test]
    fn text_has_a_row_for_each_figure_and_its_ratios() {
        let text = text(&sample(), false);
        let line = |start: &str| {
            let mut lines = text.lines().skip_while(|line| !line.starts_with(start));
            let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            let mut next = || -> Vec<String> { lines.next().map(cells).unwrap_or_default() };
            [next(), next(), next()]
        };
        let [hit, to_set, to_seendb] = line("hit, single calls");
        assert_eq!(hit[3..], ["ns", "300", "1,500", "6,000"]);
        assert_eq!(to_set, ["x", "hash", "set", "5.00", "20.0"]);
        assert_eq!(to_seendb, ["x", "seendb", "0.20", "4.00"]);
        let [disk, ratio, _] = line("disk, allocated");
        assert_eq!(disk[2..], ["bytes/URL", "30.0", "150"]);
        assert_eq!(ratio, ["x", "seendb", "5.00"]);
        assert!(!text.contains("cold hit"), "{text}");
        assert!(text.contains("Left out: something."), "{text}");
        assert!(text.ends_with("fjall 3.1\n"), "{text}");
    }

    #[test]
    fn markdown_has_the_same_number_of_cells_in_each_row() {
        let text = text(&sample(), true);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 2 + 3 + 2);
        for row in rows {
            assert_eq!(row.matches('|').count(), 6, "{row}");
        }
    }
}
