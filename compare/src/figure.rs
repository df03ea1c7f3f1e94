//! What is measured: names, units, and values.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that is measured. The order is that of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Figure {
    InsertTime,
    InsertCpu,
    RestTime,
    RestCpu,
    CompactTime,
    Miss,
    Hit,
    MissWaiting,
    HitWaiting,
    MissMany,
    HitMany,
    MissTwoThreads,
    HitTwoThreads,
    ColdMiss,
    ColdHit,
    ColdMissRead,
    ColdHitRead,
    DiskAllocated,
    DiskApparent,
    MemoryLoad,
    MemoryRest,
    Open,
    OpenCold,
}

impl Figure {
    pub(crate) const ALL: [Figure; 23] = [
        Figure::InsertTime,
        Figure::InsertCpu,
        Figure::RestTime,
        Figure::RestCpu,
        Figure::CompactTime,
        Figure::Miss,
        Figure::Hit,
        Figure::MissWaiting,
        Figure::HitWaiting,
        Figure::MissMany,
        Figure::HitMany,
        Figure::MissTwoThreads,
        Figure::HitTwoThreads,
        Figure::ColdMiss,
        Figure::ColdHit,
        Figure::ColdMissRead,
        Figure::ColdHitRead,
        Figure::DiskAllocated,
        Figure::DiskApparent,
        Figure::MemoryLoad,
        Figure::MemoryRest,
        Figure::Open,
        Figure::OpenCold,
    ];

    /// What it is, and its unit.
    pub(crate) fn title(self) -> (&'static str, &'static str) {
        match self {
            Figure::InsertTime => ("insert, until synced", "ns/URL"),
            Figure::InsertCpu => ("... processor time of all threads", "ns/URL"),
            Figure::RestTime => ("insert, until background work is done", "ns/URL"),
            Figure::RestCpu => ("... processor time of all threads", "ns/URL"),
            Figure::CompactTime => ("compacting after that", "ns/URL"),
            Figure::Miss => ("miss, single calls", "ns"),
            Figure::Hit => ("hit, single calls", "ns"),
            Figure::MissWaiting => ("miss, each waits for the one before", "ns"),
            Figure::HitWaiting => ("hit, each waits for the one before", "ns"),
            Figure::MissMany => ("miss, batches of 64", "ns/URL"),
            Figure::HitMany => ("hit, batches of 64", "ns/URL"),
            Figure::MissTwoThreads => ("miss, two threads, time that passes", "ns/URL"),
            Figure::HitTwoThreads => ("hit, two threads, time that passes", "ns/URL"),
            Figure::ColdMiss => ("miss, files not in memory", "us"),
            Figure::ColdHit => ("hit, files not in memory", "us"),
            Figure::ColdMissRead => ("... read from disk for a miss", "bytes"),
            Figure::ColdHitRead => ("... read from disk for a hit", "bytes"),
            Figure::DiskAllocated => ("disk, allocated", "bytes/URL"),
            Figure::DiskApparent => ("disk, sizes of files", "bytes/URL"),
            Figure::MemoryLoad => ("anonymous memory, most while filling", "bytes/URL"),
            Figure::MemoryRest => ("anonymous memory after lookups", "bytes/URL"),
            Figure::Open => ("open, and answer once", "ms"),
            Figure::OpenCold => ("open, files not in memory", "ms"),
        }
    }
}

/// A measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Value {
    pub(crate) value: f64,
    /// That of the set, measured beside it in the same process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) set: Option<f64>,
    /// Whether it was not done as the title says, for want of a call for it: single calls
    /// in place of a batch, or a set built at once in place of batches of inserts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) otherwise: bool,
}

/// What one process measured.
pub(crate) type Figures = BTreeMap<Figure, Value>;

/// A value without a set beside it.
pub(crate) fn alone(value: f64) -> Value {
    Value {
        value,
        set: None,
        otherwise: false,
    }
}

/// A value with the set's.
pub(crate) fn beside(value: f64, set: Option<f64>) -> Value {
    Value {
        set,
        ..alone(value)
    }
}

/// The middle of values; of an even number the upper one. `None` of none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
