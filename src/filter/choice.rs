//! What was chosen for filters when a store was last opened for writing.
//!
//! ```text
//! kind      u16
//! rate      f64
//! memory    u64   bytes for memtables, filters and indexes together; 0: as they need
//! memtable  u64   bytes of one memtable
//! ```

use super::FilterKind;
use crate::options::{DEFAULT_MEMTABLE, DEFAULT_RATE, MAX_RATE, MIN_RATE};
use crate::wire::{Malformed, Reader};

/// The kind of filters, their rate, and the memory there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FilterChoice {
    pub(crate) kind: FilterKind,
    /// Needless reads for each lookup of an absent key, over all runs.
    pub(crate) rate: f64,
    /// In bytes, for memtables, filters and indexes together.
    pub(crate) memory: Option<u64>,
    /// Bytes of one memtable.
    pub(crate) memtable: u64,
}

impl Default for FilterChoice {
    fn default() -> Self {
        FilterChoice {
            kind: FilterKind::default(),
            rate: DEFAULT_RATE,
            memory: None,
            memtable: DEFAULT_MEMTABLE as u64,
        }
    }
}

impl FilterChoice {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.kind.number().to_le_bytes().to_vec();
        out.extend_from_slice(&self.rate.to_le_bytes());
        out.extend_from_slice(&self.memory.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&self.memtable.to_le_bytes());
        out
    }

    /// A kind that this build does not know is the default: it is about new segments only.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<FilterChoice, Malformed> {
        let number = reader.u16("a filter kind")?;
        let at = reader.offset();
        let rate = f64::from_le_bytes(reader.array("a rate")?);
        if !(MIN_RATE..=MAX_RATE).contains(&rate) {
            return Err(Malformed {
                at,
                expected: "a rate from 0.000001 to 0.5",
            });
        }
        let memory = reader.u64("bytes of memory")?;
        Ok(FilterChoice {
            kind: FilterKind::from_number(number).unwrap_or_default(),
            rate,
            memory: (memory > 0).then_some(memory),
            memtable: reader.u64("bytes of a memtable")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_as_it_was_written() {
        for memory in [None, Some(1 << 30)] {
            let choice = FilterChoice {
                kind: FilterKind::Fuse,
                rate: 0.001,
                memory,
                memtable: 1 << 20,
            };
            let bytes = choice.encode();
            let mut reader = Reader::new(&bytes);
            assert_eq!(FilterChoice::decode(&mut reader), Ok(choice));
            assert!(reader.is_empty());
            for len in 0..bytes.len() {
                assert!(FilterChoice::decode(&mut Reader::new(&bytes[..len])).is_err());
            }
        }
        for rate in [0.0, -0.01, 0.6, f64::NAN, f64::INFINITY] {
            let bytes = FilterChoice {
                rate,
                ..FilterChoice::default()
            }
            .encode();
            assert!(
                FilterChoice::decode(&mut Reader::new(&bytes)).is_err(),
                "{rate}"
            );
        }
    }
}
