//! The records of a block.
//!
//! A record code has the record's state in its low three bits.
//!
//! | state | rest of the code |
//! |---|---|
//! | 0 | 0: seen, at a time that is not known |
//! | 1 | seen, this many seconds after the base |
//! | 2 | 0: forgotten |
//! | 3 to 6 | where the payload begins, counted from the first |
//! | 7 | not known to this version: refused |
#![deny(clippy::indexing_slicing)]

use super::super::Fault;
use crate::record::{
    KNOWN_STATES, MAX_SECONDS, STATE_BITS, Stored, Unreadable, number, read_payload, tag,
    write_payload,
};
use crate::wire::{Malformed, Reader};

/// What the records of a block have in common.
#[derive(Debug, Clone, Copy)]
pub(in crate::segment) struct Records<'a> {
    /// Times count from it.
    pub(in crate::segment) base: u64,
    pub(in crate::segment) payloads: &'a [u8],
}

impl Records<'_> {
    /// The record with that code. Places of what is malformed count from the payloads.
    #[inline]
    pub(in crate::segment) fn read(&self, code: u64) -> Result<Stored, Fault> {
        let rest = code >> STATE_BITS;
        let state = (code & ((1 << STATE_BITS) - 1)) as u8;
        if state == tag::SEEN_AT {
            return match self.base.checked_add(rest) {
                Some(time) if time <= MAX_SECONDS => Ok(Stored::Seen(Some(time))),
                _ => Err(bad("a time of 40 bits")),
            };
        }
        self.read_other(state, rest)
    }

    #[cold]
    fn read_other(&self, state: u8, rest: u64) -> Result<Stored, Fault> {
        let unsupported = |state: u8| Fault::Unsupported {
            what: "record state",
            found: state.into(),
            supported: KNOWN_STATES,
        };
        match state {
            tag::SEEN if rest == 0 => return Ok(Stored::Seen(None)),
            tag::FORGOTTEN if rest == 0 => return Ok(Stored::Forgotten),
            tag::SEEN | tag::FORGOTTEN => return Err(bad("a record without a time")),
            _ => {}
        }
        if state > tag::SEEN_CHANGED {
            return Err(unsupported(state));
        }
        let place = usize::try_from(rest).ok();
        let Some((place, payload)) = place.and_then(|at| Some((at, self.payloads.get(at..)?)))
        else {
            return Err(bad("the place of a payload within the block"));
        };
        match read_payload(state, self.base, &mut Reader::new(payload)) {
            Ok(details) => Ok(Stored::Full(Box::new(details))),
            Err(Unreadable::State(state)) => Err(unsupported(state)),
            Err(Unreadable::Malformed(m)) => Err(Fault::Malformed(Malformed {
                at: place + m.at,
                ..m
            })),
        }
    }
}

fn bad(expected: &'static str) -> Fault {
    Fault::Malformed(Malformed { at: 0, expected })
}

/// The code of a record, whose payload, if it has one, is appended to `payloads`.
pub(super) fn encode(record: &Stored, base: u64, payloads: &mut Vec<u8>) -> u64 {
    let rest = match record {
        Stored::Seen(Some(first)) => first.saturating_sub(base),
        Stored::Seen(None) | Stored::Forgotten => 0,
        Stored::Full(details) => {
            let place = payloads.len() as u64;
            write_payload(details, base, payloads);
            place
        }
    };
    rest << STATE_BITS | u64::from(number(record))
}
