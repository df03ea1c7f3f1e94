//! The picture: for each of the main figures, a bar for each store, on a logarithmic scale.

use crate::figure::Figure;
use crate::report::{Cell, Report};
use crate::rivals::Name;
use crate::table;
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;

const PANELS: [(Figure, &str); 12] = [
    (Figure::InsertTime, "Check and insert, until synced"),
    (Figure::RestCpu, "... processor time, with background work"),
    (Figure::Miss, "Look up an absent URL"),
    (Figure::Hit, "Look up a present URL"),
    (Figure::MissMany, "Absent URLs, batches of 64"),
    (Figure::HitMany, "Present URLs, batches of 64"),
    (Figure::ColdMiss, "Absent URL, files not in memory"),
    (Figure::ColdHit, "Present URL, files not in memory"),
    (Figure::ColdHitRead, "... read from disk for it"),
    (Figure::DiskAllocated, "Disk"),
    (Figure::MemoryRest, "Anonymous memory after lookups"),
    (Figure::Open, "Open, and answer once"),
];

const COLUMNS: usize = 2;
const WIDTH: i32 = 1000;
const MARGIN: i32 = 20;
/// The picture's own title.
const HEAD: i32 = 64;
/// Of a panel: its title, each bar, and the scale below.
const TITLE: i32 = 34;
const BAR: i32 = 22;
const SCALE: i32 = 34;
/// Room for the names of stores, and for values behind bars.
const NAMES: i32 = 72;
const VALUES: i32 = 120;

const PAPER: RGBColor = RGBColor(255, 255, 255);
const INK: RGBColor = RGBColor(31, 35, 40);
const MUTED: RGBColor = RGBColor(101, 109, 118);
const GRID: RGBColor = RGBColor(222, 226, 230);
const OURS: RGBColor = RGBColor(9, 105, 218);
const OTHERS: RGBColor = RGBColor(140, 149, 159);
const SET: RGBColor = RGBColor(201, 148, 66);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The picture, as a file.
pub(crate) fn svg(report: &Report) -> Result<String> {
    let panels: Vec<Panel> = PANELS
        .iter()
        .filter_map(|(figure, title)| Panel::of(report, *figure, title))
        .collect();
    let rows: Vec<&[Panel]> = panels.chunks(COLUMNS).collect();
    let heights: i32 = rows.iter().map(|row| height(row)).sum();
    let size = (
        WIDTH.unsigned_abs(),
        (HEAD + heights + MARGIN).unsigned_abs(),
    );
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&PAPER).map_err(failed)?;
        let about = format!(
            "{} URLs ({}), mean {:.0} bytes; medians of {} rounds",
            table::number(report.count as f64),
            report.source,
            report.mean_length,
            report
                .rivals
                .iter()
                .map(|r| r.rounds.len())
                .max()
                .unwrap_or_default()
        );
        write(&area, &about, (MARGIN, 24), HPos::Left, 17.0, INK)?;
        let note = "Less is better. Logarithmic scales. In brackets: times the hash set's. \
                    * single calls, or built at once";
        write(&area, note, (MARGIN, 46), HPos::Left, 13.0, MUTED)?;
        let wide = (WIDTH - MARGIN) / COLUMNS as i32;
        let mut top = HEAD;
        for row in rows {
            let mut left = MARGIN;
            for panel in row {
                panel.draw(&area, (left, top), wide - MARGIN)?;
                left += wide;
            }
            top += height(row);
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

fn height(row: &[Panel]) -> i32 {
    let bars = row.iter().map(|panel| panel.bars.len()).max();
    TITLE + BAR * i32::try_from(bars.unwrap_or_default()).unwrap_or_default() + SCALE
}

/// The bars of a figure.
struct Panel {
    title: String,
    bars: Vec<(Name, Cell)>,
}

impl Panel {
    /// `None` where nothing was measured.
    fn of(report: &Report, figure: Figure, title: &str) -> Option<Panel> {
        let names = report.names().into_iter();
        let cells = names.filter_map(|name| Some((name, report.cell(name, figure)?)));
        let bars: Vec<(Name, Cell)> = cells.collect();
        let title = format!("{title}, {}", figure.title().1);
        (!bars.is_empty()).then_some(Panel { title, bars })
    }

    /// The decades that hold all values.
    fn decades(&self) -> (i32, i32) {
        let logs = self.bars.iter().map(|(_, cell)| log(cell.value));
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), log| {
            (low.min(log), high.max(log))
        });
        // The shortest bar is a tenth of a decade.
        let low = (low - 0.1).floor() as i32;
        (low, (high.ceil() as i32).max(low + 1))
    }

    fn draw(&self, area: &Area<'_>, (left, top): (i32, i32), width: i32) -> Result<()> {
        write(area, &self.title, (left, top + 14), HPos::Left, 14.0, INK)?;
        let (low, high) = self.decades();
        let (first, last) = (left + NAMES, left + width - VALUES);
        let across = |value: f64| {
            let share = (log(value) - f64::from(low)) / f64::from(high - low);
            first + (share.clamp(0.0, 1.0) * f64::from(last - first)).round() as i32
        };
        let top = top + TITLE;
        let bottom = top + BAR * i32::try_from(self.bars.len())?;
        // At most six marks, so that their names do not touch.
        let step = (high - low).div_euclid(6) + 1;
        for power in (low..=high).step_by(usize::try_from(step)?) {
            let x = across(10_f64.powi(power));
            line(area, (x, top - 4), (x, bottom + 2), GRID)?;
            let name = mark(power);
            write(area, &name, (x, bottom + 12), HPos::Center, 11.0, MUTED)?;
        }
        for (place, (name, cell)) in (0..).zip(&self.bars) {
            let (y, end) = (top + BAR * place, across(cell.value));
            let middle = y + BAR / 2;
            let (colour, ink) = match name {
                Name::Seendb => (OURS, OURS),
                Name::Set => (SET, INK),
                _ => (OTHERS, INK),
            };
            let bar = Rectangle::new([(first, y + 3), (end, y + BAR - 3)], colour.filled());
            area.draw(&bar).map_err(failed)?;
            write(
                area,
                name.title(),
                (first - 6, middle),
                HPos::Right,
                12.0,
                ink,
            )?;
            write(area, &label(cell), (end + 6, middle), HPos::Left, 12.0, ink)?;
        }
        Ok(())
    }
}

fn log(value: f64) -> f64 {
    value.max(1e-3).log10()
}

/// A power of ten, in few letters.
fn mark(power: i32) -> String {
    match power {
        6.. => format!("{}M", 10_f64.powi(power - 6)),
        3.. => format!("{}k", 10_f64.powi(power - 3)),
        _ => format!("{}", 10_f64.powi(power)),
    }
}

fn label(cell: &Cell) -> String {
    let mut text = table::number(cell.value);
    if cell.otherwise {
        text.push('*');
    }
    if let Some(ratio) = cell.to_set {
        text += &format!(" ({})", table::ratio(ratio));
    }
    text
}

fn line(area: &Area<'_>, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Result<()> {
    let line = PathElement::new(vec![from, to], colour.stroke_width(1));
    area.draw(&line).map_err(failed)
}

fn write(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    side: HPos,
    size: f64,
    colour: RGBColor,
) -> Result<()> {
    // The backend divides by this.
    let font = ("sans-serif", size * 1.24).into_font();
    let style = TextStyle::from(font)
        .color(&colour)
        .pos(Pos::new(side, VPos::Center));
    area.draw_text(text, &style, at).map_err(failed)
}

fn failed(why: impl Display) -> anyhow::Error {
    anyhow!("cannot draw: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::sample;

    #[test]
    fn a_picture_shows_each_store_and_escapes() {
        let svg = svg(&sample()).unwrap();
        for part in [
            "hash set",
            "seendb",
            "fjall",
            "6,000 (20.0)",
            "Disk",
            "&lt;some&gt;",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("Anonymous"), "{svg}");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("href") && !svg.contains("@font"), "{svg}");
    }

    #[test]
    fn scales_hold_all_values() {
        let panel = |values: &[f64]| Panel {
            title: String::new(),
            bars: values
                .iter()
                .map(|&value| {
                    let cell = Cell {
                        value,
                        to_set: None,
                        to_seendb: None,
                        otherwise: false,
                    };
                    (Name::Set, cell)
                })
                .collect(),
        };
        assert_eq!(panel(&[20.0, 3_000.0]).decades(), (1, 4));
        assert_eq!(panel(&[10.0, 1_000.0]).decades(), (0, 3));
        assert_eq!(panel(&[5.0]).decades(), (0, 1));
        assert_eq!(panel(&[0.0]).decades(), (-4, -3));
        assert_eq!(
            [mark(-1), mark(0), mark(2), mark(4), mark(6)],
            ["0.1", "1", "100", "10k", "1M"]
        );
    }
}
