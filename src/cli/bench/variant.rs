//! Which stores are compared: kinds of filters, and their rates.

use super::super::units::parse_rate;
use crate::FilterKind;
use std::fmt;

/// One way to build filters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Variant {
    pub(super) kind: FilterKind,
    /// The rate that is asked for; `None` without filters.
    pub(super) rate: Option<f64>,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate {
            Some(rate) => write!(f, "{} {}", self.kind, percent(rate)),
            None => write!(f, "{}", self.kind),
        }
    }
}

/// A rate for people: `1 %`, `0.25 %`, with at most three digits.
pub(super) fn percent(rate: f64) -> String {
    let value = rate * 100.0;
    let digits = match value {
        value if value >= 10.0 || value <= 0.0 => 1,
        value => {
            let zeros = (-value.log10().floor()).max(0.0);
            // At most eight: one in a million is 0.0001 %.
            (zeros as usize).min(6) + 2
        }
    };
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} %")
}

/// What `--fpr` takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rate {
    Share(f64),
    /// The same as the kind `none`.
    None,
}

/// Reads a rate, or `none`.
pub(super) fn parse(text: &str) -> Result<Rate, String> {
    match text {
        "none" => Ok(Rate::None),
        _ => parse_rate(text)
            .map(Rate::Share)
            .map_err(|wrong| format!("{wrong}; or none, for no filters")),
    }
}

/// Each kind with each rate, each once. The store without filters comes first, as what the
/// others are compared with.
pub(super) fn all(kinds: &[FilterKind], rates: &[Rate]) -> Vec<Variant> {
    let mut variants = Vec::new();
    if kinds.contains(&FilterKind::None) || rates.contains(&Rate::None) {
        variants.push(Variant {
            kind: FilterKind::None,
            rate: None,
        });
    }
    for &kind in kinds.iter().filter(|kind| **kind != FilterKind::None) {
        for rate in rates {
            let Rate::Share(share) = *rate else { continue };
            let variant = Variant {
                kind,
                rate: Some(share),
            };
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
    }
    variants
}

#[cfg(test)]
mod tests {
    use super::*;
    use FilterKind::{Bloom, Fuse, None as Without};

    fn names(kinds: &[FilterKind], rates: &str) -> Vec<String> {
        let rates: Vec<_> = rates.split(',').map(|rate| parse(rate).unwrap()).collect();
        all(kinds, &rates)
            .iter()
            .map(|v| format!("{} {}", v.kind, v.rate.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn the_store_without_filters_comes_once_and_first() {
        let expected = [
            "none 0",
            "bloom 0.01",
            "bloom 0.001",
            "fuse 0.01",
            "fuse 0.001",
        ];
        assert_eq!(names(&[Bloom, Without, Fuse], "1%,0.1%"), expected);
        assert_eq!(names(&[Bloom, Fuse], "1%,none,0.1%,1%"), expected);
        assert_eq!(names(&[Bloom], "none"), ["none 0"]);
        assert_eq!(names(&[Without], "1%"), ["none 0"]);
        assert_eq!(names(&[Bloom], "1%"), ["bloom 0.01"]);
    }

    #[test]
    fn rates_are_printed_for_people() {
        for (rate, text) in [
            (0.01, "1 %"),
            (0.001, "0.1 %"),
            (0.012_345, "1.23 %"),
            (0.000_001, "0.0001 %"),
            (0.123_4, "12.3 %"),
            (0.5, "50 %"),
            (1.0, "100 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(percent(rate), text);
        }
    }

    #[test]
    fn a_bad_rate_is_refused() {
        for wrong in ["", "None", "0", "2", "-1%", "100%"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
