//! A drawing whose colours are the page's: they follow its light and dark scheme.

use super::super::super::failure::Failure;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::fmt::Display;

/// The width of all drawings; they scale with the page. Narrow, so that letters stay
/// legible on a telephone.
pub(super) const WIDTH: i32 = 380;
/// The height of letters.
pub(super) const LETTERS: i32 = 13;

/// A colour of the page, by the name of its CSS variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Colour(u8);

const NAMES: [&str; 7] = ["ink", "muted", "grid", "none", "bloom", "blocked", "fuse"];
pub(super) const INK: Colour = Colour(0);
pub(super) const MUTED: Colour = Colour(1);
pub(super) const GRID: Colour = Colour(2);

impl Colour {
    /// The colour of a kind of filter.
    pub(super) fn of(name: &str) -> Colour {
        let place = NAMES.iter().position(|known| *known == name);
        place
            .and_then(|place| u8::try_from(place).ok())
            .map_or(MUTED, Colour)
    }

    /// What stands for it until the drawing is done.
    fn stand_in(self) -> RGBColor {
        RGBColor(1, 2, self.0)
    }
}

/// Where a text stands beside its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Right,
    Left,
    Middle,
}

/// A drawing in the making, in pixels from the upper left.
pub(super) struct Canvas<'a>(DrawingArea<SVGBackend<'a>, Shift>);

/// Draws, and gives what belongs between `<svg>` and `</svg>`.
pub(super) fn draw(
    height: i32,
    paint: impl FnOnce(&Canvas<'_>) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut svg = String::new();
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let canvas = Canvas(SVGBackend::with_string(&mut svg, size).into_drawing_area());
    paint(&canvas)?;
    canvas.0.present().map_err(failed)?;
    drop(canvas);
    // The page writes the outermost element itself: it scales, and has a title.
    let inner = svg
        .split_once("<svg")
        .and_then(|(_, rest)| rest.split_once('>'));
    let (_, inner) = inner.ok_or_else(|| failed("it is no drawing"))?;
    let mut inner = inner.trim_end().trim_end_matches("</svg>").to_owned();
    for (place, name) in (0..).zip(NAMES) {
        let RGBColor(r, g, b) = Colour(place).stand_in();
        inner = inner.replace(
            &format!("\"#{r:02X}{g:02X}{b:02X}\""),
            &format!("\"var(--{name})\""),
        );
    }
    Ok(inner)
}

fn failed(why: impl Display) -> Failure {
    Failure::Found(format!(
        "cannot draw a chart: {why}; this is a bug to report"
    ))
}

impl Canvas<'_> {
    pub(super) fn bar(
        &self,
        from: (i32, i32),
        to: (i32, i32),
        colour: Colour,
    ) -> Result<(), Failure> {
        let bar = Rectangle::new([from, to], colour.stand_in().filled());
        self.0.draw(&bar).map_err(failed)
    }

    pub(super) fn line(
        &self,
        points: Vec<(i32, i32)>,
        colour: Colour,
        width: u32,
    ) -> Result<(), Failure> {
        let line = PathElement::new(points, colour.stand_in().stroke_width(width));
        self.0.draw(&line).map_err(failed)
    }

    /// A surface, lighter than its colour.
    pub(super) fn surface(&self, points: Vec<(i32, i32)>, colour: Colour) -> Result<(), Failure> {
        let surface = Polygon::new(points, colour.stand_in().mix(0.45));
        self.0.draw(&surface).map_err(failed)
    }

    pub(super) fn dot(&self, at: (i32, i32), colour: Colour) -> Result<(), Failure> {
        let dot = Circle::new(at, 5, colour.stand_in().filled());
        self.0.draw(&dot).map_err(failed)
    }

    pub(super) fn ring(&self, at: (i32, i32), colour: Colour) -> Result<(), Failure> {
        let ring = Circle::new(at, 5, colour.stand_in().stroke_width(2));
        self.0.draw(&ring).map_err(failed)
    }

    pub(super) fn text(
        &self,
        text: &str,
        at: (i32, i32),
        side: Side,
        colour: Colour,
    ) -> Result<(), Failure> {
        let side = match side {
            Side::Right => HPos::Left,
            Side::Left => HPos::Right,
            Side::Middle => HPos::Center,
        };
        // The backend divides by this.
        let font = ("sans-serif", f64::from(LETTERS) * 1.24).into_font();
        let colour = colour.stand_in();
        let style = TextStyle::from(font)
            .color(&colour)
            .pos(Pos::new(side, VPos::Center));
        self.0.draw_text(text, &style, at).map_err(failed)
    }
}

/// A horizontal or vertical scale: from values to pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) values: (f64, f64),
    pub(super) pixels: (i32, i32),
    pub(super) logarithmic: bool,
}

impl Scale {
    /// The pixel of a value; those outside are put on the edge.
    pub(super) fn at(&self, value: f64) -> i32 {
        let scaled = |value: f64| {
            if self.logarithmic {
                value.max(1e-12).ln()
            } else {
                value
            }
        };
        let (from, to) = (scaled(self.values.0), scaled(self.values.1));
        let share = ((scaled(value) - from) / (to - from).max(1e-12)).clamp(0.0, 1.0);
        let (first, last) = (f64::from(self.pixels.0), f64::from(self.pixels.1));
        (first + share * (last - first)).round() as i32
    }

    /// Values for marks, round ones.
    pub(super) fn marks(&self) -> Vec<f64> {
        let (from, to) = self.values;
        if self.logarithmic {
            let decade = |value: f64| value.max(1e-12).log10();
            let powers = decade(from).floor() as i32..=decade(to).ceil() as i32;
            let marks = |steps: &[f64]| -> Vec<f64> {
                let all = powers.clone().flat_map(|power| {
                    let decade = 10_f64.powi(power);
                    steps.iter().map(move |step| step * decade)
                });
                // A power of ten that is an end may be a little beyond it.
                let within = |mark: &f64| (from * 0.999..=to * 1.001).contains(mark);
                all.filter(within).collect()
            };
            let whole = marks(&[1.0]);
            return match whole.len() {
                0 | 1 => marks(&[1.0, 2.0, 5.0]),
                // Their names must not touch.
                2..=6 => whole,
                more => whole.into_iter().step_by(more.div_ceil(6)).collect(),
            };
        }
        let rough = (to - from) / 4.0;
        let power = 10_f64.powf(rough.max(1e-12).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|n| n * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let count = ((to - from) / step).floor() as i32;
        (0..=count).map(|n| from + f64::from(n) * step).collect()
    }
}

/// The range of the positive values; `None` if there is none.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let positive = values.filter(|value| *value > 0.0);
    let (least, most) = positive.fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    (least <= most).then_some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_has_the_colours_of_the_page_only() {
        let svg = draw(50, |canvas| {
            canvas.bar((0, 0), (10, 10), Colour::of("fuse"))?;
            canvas.surface(vec![(0, 0), (5, 5), (0, 5)], Colour::of("bloom"))?;
            canvas.ring((5, 5), GRID)?;
            canvas.dot((5, 5), INK)?;
            canvas.line(vec![(0, 0), (9, 9)], MUTED, 2)?;
            canvas.text("<a & b>", (5, 5), Side::Middle, Colour::of("unknown"))
        })
        .unwrap();
        for name in ["fuse", "bloom", "grid", "ink", "muted"] {
            assert!(svg.contains(&format!("\"var(--{name})\"")), "{name}: {svg}");
        }
        assert!(!svg.contains('#'), "{svg}");
        assert!(!svg.contains("<svg") && !svg.contains("</svg"), "{svg}");
        assert!(svg.contains("&lt;a &amp; b&gt;"), "{svg}");
    }

    #[test]
    fn scales_put_values_in_their_place() {
        let scale = Scale {
            values: (0.0, 8.0),
            pixels: (100, 300),
            logarithmic: false,
        };
        assert_eq!(
            [scale.at(0.0), scale.at(4.0), scale.at(99.0)],
            [100, 200, 300]
        );
        assert_eq!(scale.marks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        let scale = Scale {
            values: (0.001, 0.1),
            pixels: (0, 200),
            logarithmic: true,
        };
        assert_eq!(
            [scale.at(0.0), scale.at(0.01), scale.at(0.1)],
            [0, 100, 200]
        );
        assert_eq!(scale.marks().len(), 3);
        let scale = Scale {
            values: (0.004, 0.04),
            ..scale
        };
        assert_eq!(scale.marks().len(), 3);
        let scale = Scale {
            values: (1.0, 1e8),
            ..scale
        };
        assert_eq!(scale.marks(), [1.0, 1e2, 1e4, 1e6, 1e8]);
        assert_eq!(range([0.0, 0.02, 0.5].into_iter()), Some((0.02, 0.5)));
        assert_eq!(range([0.0].into_iter()), None);
    }
}
