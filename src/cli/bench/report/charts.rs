//! The charts: a row for each store, or a point.

use super::super::super::failure::Failure;
use super::super::outcome::{Outcome, Phase, Store};
use super::super::table::{expected, measured, ratio_title, time};
use super::super::variant::percent;
use super::canvas::{Canvas, Colour, GRID, INK, LETTERS, MUTED, Scale, Side, WIDTH, draw, range};

/// Where rows begin: the names are left of it.
const LEFT: i32 = 104;
/// Where rows end: what stands at the right of it.
const RIGHT: i32 = 60;
/// The height of a row.
const ROW: i32 = 24;

/// A drawing with its height.
pub(super) struct Chart {
    pub(super) height: i32,
    pub(super) svg: String,
}

fn chart(
    height: i32,
    paint: impl FnOnce(&Canvas<'_>) -> Result<(), Failure>,
) -> Result<Chart, Failure> {
    let svg = draw(height, paint)?;
    Ok(Chart { height, svg })
}

fn colour(store: &Store) -> Colour {
    Colour::of(store.variant.kind.name())
}

fn rows(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / 64).min(1_000)
}

/// Marks along the bottom, with lines up to `top`.
fn bottom(
    canvas: &Canvas<'_>,
    scale: Scale,
    (top, base): (i32, i32),
    name: impl Fn(f64) -> String,
) -> Result<(), Failure> {
    for mark in scale.marks() {
        let x = scale.at(mark);
        canvas.line(vec![(x, top), (x, base)], GRID, 1)?;
        canvas.text(&name(mark), (x, base + LETTERS), Side::Middle, MUTED)?;
    }
    Ok(())
}

/// Blocks read for each lookup: bars, by hit ratio.
pub(super) fn reads(outcome: &Outcome) -> Result<Chart, Failure> {
    let ratios = &outcome.run.hit_ratios;
    let group = ROW * rows(outcome.stores.len()) + ROW + 10;
    let height = group * rows(ratios.len());
    let phases = || outcome.stores.iter().flat_map(|store| &store.phases);
    let most = phases().map(Phase::reads).fold(0.0, f64::max).max(1e-9);
    let scale = Scale {
        values: (0.0, most),
        pixels: (LEFT, WIDTH - RIGHT),
        logarithmic: false,
    };
    chart(height, |canvas| {
        let mut y = 0;
        for &ratio in ratios {
            canvas.text(&ratio_title(ratio), (0, y + ROW / 2), Side::Right, INK)?;
            y += ROW;
            let end = y + group - ROW - 10;
            canvas.line(vec![(LEFT, y), (LEFT, end)], GRID, 1)?;
            for store in &outcome.stores {
                let middle = y + ROW / 2;
                y += ROW;
                let Some(phase) = store.phase(ratio) else {
                    continue;
                };
                let x = scale.at(phase.reads());
                canvas.text(
                    &store.variant.to_string(),
                    (LEFT - 8, middle),
                    Side::Left,
                    INK,
                )?;
                canvas.bar(
                    (LEFT, middle - 8),
                    (x.max(LEFT + 1), middle + 8),
                    colour(store),
                )?;
                canvas.text(
                    &reads_text(phase.reads()),
                    (x + 6, middle),
                    Side::Right,
                    INK,
                )?;
            }
            y += 10;
        }
        Ok(())
    })
}

/// Reads a lookup, with as many digits as tell something.
pub(super) fn reads_text(reads: f64) -> String {
    match reads {
        reads if reads >= 0.1 => format!("{reads:.2}"),
        reads if reads > 0.0 && reads < 0.000_05 => format!("{reads:.1e}"),
        reads => format!("{reads:.4}"),
    }
}

/// The rate that was asked for, that theory expects, and that was measured. `None` without
/// a rate that is above zero.
pub(super) fn rates(outcome: &Outcome) -> Result<Option<Chart>, Failure> {
    let stores: Vec<&Store> = outcome.stores.iter().filter(|s| s.has_filters()).collect();
    let all = stores
        .iter()
        .flat_map(|store| [store.variant.rate, expected(store), measured(store)]);
    let Some((least, most)) = range(all.flatten()) else {
        return Ok(None);
    };
    let scale = Scale {
        values: (least / 1.6, most * 1.6),
        pixels: (LEFT + 6, WIDTH - RIGHT),
        logarithmic: true,
    };
    let (top, row) = (ROW + 6, ROW + 8);
    let base = top + row * rows(stores.len());
    chart(base + 2 * LETTERS, |canvas| {
        legend(canvas)?;
        bottom(canvas, scale, (top, base), percent)?;
        for (place, store) in (0..).zip(&stores) {
            let middle = top + row * place + row / 2;
            canvas.text(
                &store.variant.to_string(),
                (LEFT - 8, middle),
                Side::Left,
                INK,
            )?;
            if let Some(asked) = store.variant.rate.filter(|rate| *rate > 0.0) {
                let x = scale.at(asked);
                canvas.line(vec![(x, middle - 14), (x, middle + 14)], INK, 2)?;
            }
            if let Some(expected) = expected(store).filter(|rate| *rate > 0.0) {
                canvas.ring((scale.at(expected), middle - 7), colour(store))?;
            }
            if let Some(rate) = measured(store) {
                if rate > 0.0 {
                    canvas.dot((scale.at(rate), middle + 7), colour(store))?;
                }
                canvas.text(&percent(rate), (WIDTH, middle), Side::Left, INK)?;
            }
        }
        Ok(())
    })
    .map(Some)
}

fn legend(canvas: &Canvas<'_>) -> Result<(), Failure> {
    let y = ROW / 2;
    canvas.line(vec![(LEFT, y - 8), (LEFT, y + 8)], INK, 2)?;
    canvas.text("asked", (LEFT + 10, y), Side::Right, MUTED)?;
    canvas.ring((LEFT + 66, y), INK)?;
    canvas.text("expected", (LEFT + 77, y), Side::Right, MUTED)?;
    canvas.dot((LEFT + 150, y), INK)?;
    canvas.text("measured", (LEFT + 161, y), Side::Right, MUTED)
}

/// Parts of a decade that times are counted in.
const BINS: i32 = 12;
/// The height of a distribution.
const RIDGE: i32 = 34;

/// How long lookups take, by store: how many take about so long.
pub(super) fn latency(outcome: &Outcome, ratio: f64) -> Result<Option<Chart>, Failure> {
    let phases: Vec<(&Store, &Phase)> = outcome
        .stores
        .iter()
        .filter_map(|store| Some((store, store.phase(ratio)?)))
        .collect();
    let times = |(_, phase): &(&Store, &Phase)| {
        let at = |percent| phase.latency.value_at_percentile(percent) as f64;
        [at(0.1), at(99.9)]
    };
    let Some((least, most)) = range(phases.iter().flat_map(times)) else {
        return Ok(None);
    };
    let values = (least / 1.3, most * 1.3);
    let scale = Scale {
        values,
        pixels: (LEFT, WIDTH - 16),
        logarithmic: true,
    };
    let (top, row) = (ROW + 6, RIDGE + 14);
    let base = top + row * rows(phases.len());
    chart(base + 2 * LETTERS, |canvas| {
        let y = ROW / 2;
        canvas.dot((LEFT + 5, y), INK)?;
        canvas.text("half", (LEFT + 16, y), Side::Right, MUTED)?;
        canvas.ring((LEFT + 66, y), INK)?;
        canvas.text("99 %", (LEFT + 77, y), Side::Right, MUTED)?;
        canvas.line(vec![(LEFT + 130, y - 8), (LEFT + 130, y + 8)], INK, 2)?;
        canvas.text("99.9 % are faster", (LEFT + 140, y), Side::Right, MUTED)?;
        bottom(canvas, scale, (top, base), mark_of_time)?;
        for (place, (store, phase)) in (0..).zip(&phases) {
            let floor = top + row * place + RIDGE + 8;
            canvas.text(
                &store.variant.to_string(),
                (LEFT - 8, floor - RIDGE / 2),
                Side::Left,
                INK,
            )?;
            canvas.surface(ridge(phase, scale, floor), colour(store))?;
            canvas.line(vec![(LEFT, floor), (WIDTH - 16, floor)], GRID, 1)?;
            let x = |percent| scale.at(phase.latency.value_at_percentile(percent) as f64);
            canvas.line(vec![(x(99.9), floor - 8), (x(99.9), floor + 6)], INK, 2)?;
            canvas.ring((x(99.0), floor), INK)?;
            canvas.dot((x(50.0), floor), INK)?;
        }
        Ok(())
    })
    .map(Some)
}

/// A round time: `1 µs`, `200 ns`.
fn mark_of_time(ns: f64) -> String {
    time(ns.round() as u64).replace(".0 ", " ")
}

/// The outline of a distribution: lookups by the part of a decade that their time is in.
fn ridge(phase: &Phase, scale: Scale, floor: i32) -> Vec<(i32, i32)> {
    let (from, to) = scale.values;
    let bins = ((to / from).log10() * f64::from(BINS)).ceil() as i32;
    let edge = |bin: i32| (from * 10_f64.powf(f64::from(bin) / f64::from(BINS))).min(to);
    let counts: Vec<u64> = (0..bins)
        .map(|bin| {
            let (low, high) = (edge(bin) as u64, edge(bin + 1) as u64);
            phase
                .latency
                .count_between(low, high.saturating_sub(1).max(low))
        })
        .collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let mut points = vec![(scale.at(from), floor)];
    for (bin, count) in (0..).zip(&counts) {
        let height = (*count as f64 / most as f64 * f64::from(RIDGE)).round() as i32;
        // Steps, as in any histogram.
        points.push((scale.at(edge(bin)), floor - height));
        points.push((scale.at(edge(bin + 1)), floor - height));
    }
    points.push((scale.at(to), floor));
    points
}

/// Bits that a classic Bloom filter takes for each key at a rate: -ln p / (ln 2)².
fn bloom_bits(rate: f64) -> f64 {
    -rate.ln() / std::f64::consts::LN_2.powi(2)
}

/// Memory against the rate that it buys. `None` without a rate that is above zero.
pub(super) fn memory(outcome: &Outcome) -> Result<Option<Chart>, Failure> {
    let mut points: Vec<(&Store, f64)> = outcome
        .stores
        .iter()
        .filter_map(|store| {
            let above_zero = |rate: &f64| *rate > 0.0;
            let rate = measured(store).filter(above_zero);
            let rate = rate.or_else(|| expected(store).filter(above_zero))?;
            Some((store, rate))
        })
        .collect();
    let Some((least, most)) = range(points.iter().map(|(_, rate)| *rate)) else {
        return Ok(None);
    };
    let least = least / 3.0;
    let across = Scale {
        values: (least, (most * 3.0).min(0.9)),
        pixels: (34, WIDTH - 100),
        logarithmic: true,
    };
    let bits = |store: &Store| store.stats.filter.bits_per_key;
    let highest = points
        .iter()
        .map(|(store, _)| bits(store))
        .fold(bloom_bits(least), f64::max);
    let (top, base) = (30, 270);
    let up = Scale {
        values: (0.0, highest * 1.1),
        pixels: (base, top),
        logarithmic: false,
    };
    points.sort_by(|a, b| bits(b.0).total_cmp(&bits(a.0)));
    chart(base + 3 * LETTERS + 4, |canvas| {
        canvas.text("bits a URL", (0, 11), Side::Right, MUTED)?;
        for mark in up.marks() {
            let y = up.at(mark);
            canvas.line(vec![(across.pixels.0, y), (across.pixels.1, y)], GRID, 1)?;
            canvas.text(&format!("{mark:.0}"), (28, y), Side::Left, MUTED)?;
        }
        bottom(canvas, across, (top, base), percent)?;
        let middle = (across.pixels.0 + across.pixels.1) / 2;
        let name = "needless reads a lookup of an absent URL";
        canvas.text(name, (middle, base + 2 * LETTERS + 6), Side::Middle, MUTED)?;
        curve(canvas, across, up)?;
        let mut taken: Vec<(i32, i32)> = Vec::new();
        for (store, rate) in &points {
            let (x, y) = (across.at(*rate), up.at(bits(store)));
            canvas.dot((x, y), colour(store))?;
            // Names of neighbours stand below one another.
            let near = |(a, b): &&(i32, i32)| (a - x).abs() < 96 && y.abs_diff(*b) < 15;
            let lowest = taken.iter().filter(near).map(|(_, b)| b + 15).max();
            let label = lowest.unwrap_or(y);
            taken.push((x, label));
            canvas.text(&store.variant.to_string(), (x + 9, label), Side::Right, INK)?;
        }
        Ok(())
    })
    .map(Some)
}

/// What theory says that a classic Bloom filter takes.
fn curve(canvas: &Canvas<'_>, across: Scale, up: Scale) -> Result<(), Failure> {
    let (from, to) = across.values;
    // Straight, as the rate's logarithm is across.
    let ends = [from, to].map(|rate| (across.at(rate), up.at(bloom_bits(rate))));
    canvas.line(ends.into(), MUTED, 2)?;
    let (x, y) = (across.at(to) + 8, up.at(bloom_bits(to)));
    canvas.text("classic Bloom,", (x, y - 8), Side::Right, MUTED)?;
    canvas.text("in theory", (x, y + 8), Side::Right, MUTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percent_takes_9_6_bits() {
        assert!((bloom_bits(0.01) - 9.585).abs() < 0.001);
        assert!((bloom_bits(0.001) - 14.378).abs() < 0.001);
    }

    #[test]
    fn reads_have_digits_that_tell_something() {
        assert_eq!(reads_text(6.0), "6.00");
        assert_eq!(reads_text(0.0094), "0.0094");
        assert_eq!(reads_text(0.000_002), "2.0e-6");
        assert_eq!(reads_text(0.0), "0.0000");
    }
}
