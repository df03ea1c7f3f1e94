//! What writers that are killed do. Each operation of each lane is a pure function of
//! its number, so that who knows how many were done knows all that must be there.

use crate::support::Seeded;

/// Threads that write at once.
pub(crate) const LANES: usize = 3;

/// Where each lane stands: its first operation that was not done.
pub(crate) type Ends = [u64; LANES];

/// Operations come in this many kinds, by turns.
const KINDS: u64 = 8;

/// The operations of one store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script {
    pub(crate) seed: u64,
}

/// One call, or two.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Operation {
    /// A URL of an operation before, to be inserted by itself first: it is not new.
    pub(crate) again: Option<String>,
    /// URLs that nobody else inserts. All are new.
    pub(crate) own: Vec<String>,
    /// A URL that each lane inserts, in one batch with its own.
    pub(crate) shared: Option<String>,
    /// The position and the time, in seconds, that the batch carries.
    pub(crate) position: Option<u64>,
    pub(crate) at: Option<u64>,
}

/// The number of URLs of its own that operation `i` of any lane has.
pub(crate) fn own(i: u64) -> u64 {
    match i % KINDS {
        0 | 3 | 5 => 7,
        1 => 2,
        _ => 1,
    }
}

/// The number of the shared URL in operation `i`, if it has one.
pub(crate) fn shared(i: u64) -> Option<u64> {
    (i % KINDS == 3).then_some(i / KINDS)
}

/// The time in operation `i`, if it has one; far from those of clocks.
pub(crate) fn time(i: u64) -> Option<u64> {
    (i % KINDS == 5).then_some(1 << 39 | i)
}

/// The position in operation `i`, if it has one. They rise, so that only one lane has
/// them.
fn position(lane: usize, i: u64) -> Option<u64> {
    (i % KINDS == 5 && lane == 0).then_some(i + 1)
}

/// The last position when the lanes stand there.
pub(crate) fn last_position(ends: Ends) -> Option<u64> {
    (0..ends[0]).rev().find_map(|i| position(0, i))
}

impl Script {
    pub(crate) fn operation(&self, lane: usize, i: u64) -> Operation {
        Operation {
            again: (i % KINDS == 6).then(|| self.url(lane, i / 2, 0)),
            own: (0..own(i)).map(|j| self.url(lane, i, j)).collect(),
            shared: shared(i).map(|number| self.url(LANES, number, 0)),
            position: position(lane, i),
            at: time(i),
        }
    }

    /// URL `j` of operation `i`; of no lane, a shared one. Neighbours in number are not
    /// neighbours in order. Some are long, so that memtables fill while a writer lives.
    pub(crate) fn url(&self, lane: usize, i: u64, j: u64) -> String {
        let random = Seeded::new(self.seed ^ (lane as u64) << 56 ^ i << 8 ^ j);
        let place = random.next();
        let padding = [10, 40, 200, 200, 700, 4_000][random.below(6) as usize];
        format!("{place:016x}/{lane}/{i}/{j}/{:padding$}", "")
    }

    /// The lane, operation and place of a URL that is one of the script's.
    pub(crate) fn parse(&self, url: &[u8]) -> Option<(usize, u64, u64)> {
        let text = std::str::from_utf8(url).ok()?;
        let mut numbers = text.split('/').skip(1).map(str::parse::<u64>);
        let mut number = || numbers.next()?.ok();
        let (lane, i, j) = (number()? as usize, number()?, number()?);
        (self.url(lane, i, j) == text).then_some((lane, i, j))
    }
}
