//! The results of all stores and rounds, and what follows from them.

use crate::figure::{Figure, Figures, Value, median};
use crate::rivals::{Name, Settings};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// All that was measured, and on what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Where the URLs came from.
    pub(crate) source: String,
    pub(crate) count: u64,
    /// In bytes.
    pub(crate) mean_length: f64,
    pub(crate) lookups: u64,
    pub(crate) cold: u64,
    pub(crate) settings: Settings,
    pub(crate) machine: String,
    pub(crate) versions: BTreeMap<Name, String>,
    pub(crate) rivals: Vec<Measured>,
    /// What was left out, and why.
    pub(crate) skipped: Vec<String>,
}

/// The rounds of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) name: Name,
    pub(crate) rounds: Vec<Figures>,
}

/// A figure of a store: the median of all rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: f64,
    /// How many times that of the set it is. The median of each round's ratio.
    pub(crate) to_set: Option<f64>,
    /// The same of seendb.
    pub(crate) to_seendb: Option<f64>,
    pub(crate) otherwise: bool,
}

impl Report {
    pub(crate) fn load(path: &Path) -> Result<Report> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text)
            .with_context(|| format!("{} has no results of this program", path.display()))
    }

    /// The stores, in the order of columns.
    pub(crate) fn names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = self.rivals.iter().map(|rival| rival.name).collect();
        names.sort_unstable();
        names
    }

    fn rounds(&self, name: Name) -> &[Figures] {
        let found = self.rivals.iter().find(|rival| rival.name == name);
        found.map_or(&[], |rival| &rival.rounds)
    }

    pub(crate) fn cell(&self, name: Name, figure: Figure) -> Option<Cell> {
        let rounds = self.rounds(name);
        let values = rounds.iter().filter_map(|round| round.get(&figure));
        let otherwise = values.clone().any(|value| value.otherwise);
        let value = median(values.map(|value| value.value).collect())?;
        let against = |other: Name, ratio: fn(&Value, &Value) -> Option<f64>| {
            if name == other {
                return None;
            }
            let pairs = rounds.iter().zip(self.rounds(other));
            let ratios =
                pairs.filter_map(|(mine, its)| ratio(mine.get(&figure)?, its.get(&figure)?));
            median(ratios.filter(|ratio| ratio.is_finite()).collect())
        };
        // The set beside a store, or else the set in a process of its own.
        let beside = rounds.iter().filter_map(|round| {
            let value = round.get(&figure)?;
            Some(value.value / value.set?)
        });
        let to_set = (name != Name::Set)
            .then(|| median(beside.collect()))
            .flatten()
            .or_else(|| against(Name::Set, |mine, its| Some(mine.value / its.value)));
        let to_seendb = if name == Name::Set {
            against(Name::Seendb, |mine, its| {
                Some(its.set.unwrap_or(mine.value) / its.value)
            })
        } else {
            against(Name::Seendb, |mine, its| {
                Some(match (mine.set, its.set) {
                    (Some(my_set), Some(its_set)) => (mine.value / my_set) / (its.value / its_set),
                    _ => mine.value / its.value,
                })
            })
        };
        Some(Cell {
            value,
            to_set,
            to_seendb,
            otherwise,
        })
    }

    /// A line on what was measured.
    pub(crate) fn about(&self) -> String {
        let rounds = self.rivals.iter().map(|rival| rival.rounds.len()).max();
        format!(
            "{}: {} URLs, mean length {:.1} bytes; {} rounds; {} lookups of each kind, {} cold; \
             caches of {} MiB{}; {}",
            self.source,
            self.count,
            self.mean_length,
            rounds.unwrap_or_default(),
            self.lookups,
            self.cold,
            self.settings.cache >> 20,
            if self.settings.compact {
                "; compacted"
            } else {
                ""
            },
            self.machine
        )
    }

    /// The versions of all stores, in a line.
    pub(crate) fn versions(&self) -> String {
        let versions = self.names().into_iter().filter_map(|name| {
            let version = self.versions.get(&name)?;
            Some(format!("{} {version}", name.package()))
        });
        versions.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::figure::{alone, beside};

    /// Three rounds, of which one was on a machine half as fast.
    pub(crate) fn sample() -> Report {
        let rounds = |value: f64, set: f64, disk: f64| -> Vec<Figures> {
            [1.0, 2.0, 1.0]
                .map(|slow| {
                    Figures::from([
                        (Figure::Hit, beside(value * slow, Some(set * slow))),
                        (Figure::DiskAllocated, alone(disk)),
                    ])
                })
                .to_vec()
        };
        let of = |name, rounds| Measured { name, rounds };
        let mut set = rounds(300.0, 300.0, 1.0);
        for round in &mut set {
            round.remove(&Figure::DiskAllocated);
        }
        Report {
            source: "<some> & file".into(),
            count: 1_000,
            mean_length: 70.0,
            lookups: 10,
            cold: 5,
            settings: Settings {
                cache: 1 << 30,
                compact: false,
            },
            machine: "a machine".into(),
            versions: BTreeMap::from([(Name::Fjall, "3.1".into())]),
            rivals: vec![
                of(Name::Fjall, rounds(6_000.0, 300.0, 150.0)),
                of(Name::Set, set),
                of(Name::Seendb, rounds(1_500.0, 300.0, 30.0)),
            ],
            skipped: vec!["something".into()],
        }
    }

    #[test]
    fn ratios_are_those_of_each_round() {
        let report = sample();
        assert_eq!(report.names(), [Name::Set, Name::Seendb, Name::Fjall]);
        let fjall = report.cell(Name::Fjall, Figure::Hit).unwrap();
        assert_eq!(fjall.value, 6_000.0);
        assert_eq!((fjall.to_set, fjall.to_seendb), (Some(20.0), Some(4.0)));
        let seendb = report.cell(Name::Seendb, Figure::Hit).unwrap();
        assert_eq!((seendb.to_set, seendb.to_seendb), (Some(5.0), None));
        let set = report.cell(Name::Set, Figure::Hit).unwrap();
        assert_eq!((set.to_set, set.to_seendb), (None, Some(0.2)));
        let disk = report.cell(Name::Fjall, Figure::DiskAllocated).unwrap();
        assert_eq!((disk.to_set, disk.to_seendb), (None, Some(5.0)));
        assert_eq!(report.cell(Name::Set, Figure::DiskAllocated), None);
        assert_eq!(report.cell(Name::Redb, Figure::Hit), None);
    }

    #[test]
    fn results_survive_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.json");
        crate::job::save(&path, &sample()).unwrap();
        assert_eq!(Report::load(&path).unwrap(), sample());
        fs::write(&path, "{}").unwrap();
        assert!(Report::load(&path).is_err());
    }
}
