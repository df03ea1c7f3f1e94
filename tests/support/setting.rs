//! Every combination of the settings on which it depends how bytes get to the disk and
//! back.

use seendb::{Builder, Durability, Reads, Writes};
use std::fmt;
use std::time::Duration;

/// How many there are.
pub(crate) const SETTINGS: u64 = 12;

/// One combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting(pub(crate) u64);

impl Setting {
    pub(crate) fn durability(self) -> Durability {
        match self.0 % 3 {
            0 => Durability::Manual,
            1 => Durability::Interval(Duration::from_millis(3)),
            _ => Durability::Immediate,
        }
    }

    pub(crate) fn writes(self) -> Writes {
        match self.0 / 3 % 2 {
            0 => Writes::Map,
            _ => Writes::Pwrite,
        }
    }

    pub(crate) fn reads(self) -> Reads {
        match self.0 / 6 % 2 {
            0 => Reads::Map,
            _ => Reads::Pread,
        }
    }

    /// The options with this setting.
    pub(crate) fn on(self, builder: Builder) -> Builder {
        builder
            .durability(self.durability())
            .writes(self.writes())
            .reads(self.reads())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let durability = match self.durability() {
            Durability::Manual => "Manual",
            Durability::Immediate => "Immediate",
            _ => "Interval",
        };
        write!(
            f,
            "{durability} Writes::{:?} Reads::{:?}",
            self.writes(),
            self.reads()
        )
    }
}
