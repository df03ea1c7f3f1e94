//! Steps of a store's user, from a seed.

use crate::support::Seeded;

/// One call of a store's user. Numbers are those of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Insert(u64),
    Batch {
        keys: Vec<u64>,
        /// A claim that the batch settles, if there is one.
        settle: Option<u64>,
        forget: Option<u64>,
        position: Option<u64>,
        immediate: bool,
    },
    Claim(u64),
    /// Settles the claim on a key, if there is one.
    Settle(u64, How),
    Forget(u64),
    /// Forgets the seventh of all keys whose numbers leave this rest.
    ForgetPrefix(u64),
    Sync,
    Flush,
    /// Time passes, and the background work takes a step.
    Work,
    Compact,
    /// Closes the store and opens it again.
    Close,
    /// The process dies, and another opens the store.
    Kill,
}

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Fetched(u16),
    /// To be tried again after so many seconds.
    Failed(Option<u64>),
    Release,
    Extend(u64),
}

/// The key with a number: most are short, some take several sectors.
pub fn key(number: u64) -> Vec<u8> {
    let length = match number % 23 {
        3 => 700,
        11 => 2_000,
        _ => number % 19,
    };
    let mut key = [prefix(number), format!("{number}/").into_bytes()].concat();
    key.extend((0..length).map(|i| b'a' + (i % 26) as u8));
    if number >= LARGE {
        key.resize(50_000, b'x');
    }
    key
}

/// What the key with a number begins with.
pub fn prefix(number: u64) -> Vec<u8> {
    format!("https://example.com/{:x}/", number % 7).into_bytes()
}

/// Keys from this number on take 50,000 bytes: a few batches of them fill a memtable.
pub const LARGE: u64 = 1_000_000;
/// Keys that steps choose from.
const KNOWN: u64 = 100;

/// A batch of inserts.
pub fn inserts(keys: Vec<u64>, position: Option<u64>) -> Step {
    Step::Batch {
        keys,
        settle: None,
        forget: None,
        position,
        immediate: false,
    }
}

/// Steps of a user, from a seed. With `fills`, some freeze memtables by filling them.
pub fn steps(seed: u64, count: usize, fills: bool) -> Vec<Step> {
    let random = Seeded::new(seed);
    let mut position = 0;
    let mut large = LARGE;
    let mut steps = Vec::new();
    for _ in 0..count {
        let number = random.below(KNOWN);
        steps.push(match random.below(42) {
            0..7 => Step::Insert(number),
            7..14 => {
                if random.below(2) == 0 {
                    position += 1 + random.below(5);
                }
                let one = |of: u64| (random.below(of) == 0).then(|| random.below(KNOWN));
                Step::Batch {
                    keys: (0..random.below(9)).map(|_| random.below(KNOWN)).collect(),
                    settle: one(2),
                    forget: one(4),
                    position: (random.below(2) == 0).then_some(position),
                    immediate: random.below(6) == 0,
                }
            }
            // Few keys, so that there are claims to be met.
            14..19 => Step::Claim(number % 12),
            19..24 => {
                let how = match random.below(6) {
                    0..2 => How::Fetched([200, 404][random.below(2) as usize]),
                    2 => How::Failed(Some(random.below(900))),
                    3 => How::Failed(None),
                    4 => How::Release,
                    _ => How::Extend(random.below(600)),
                };
                Step::Settle(number % 12, how)
            }
            24..28 => Step::Forget(number % 40),
            28 => Step::ForgetPrefix(number),
            29..31 => Step::Sync,
            31..35 => Step::Flush,
            35..37 => Step::Work,
            37..39 => Step::Compact,
            39 => Step::Close,
            _ => Step::Kill,
        });
        if fills && random.below(4) == 0 {
            steps.push(inserts((large..large + 5).collect(), None));
            large += 5;
        }
    }
    // A position that is not above the last is refused, and no step here.
    let mut last = 0;
    for step in &mut steps {
        if let Step::Batch { position, .. } = step {
            match position {
                Some(position) if *position > last => last = *position,
                other => *other = None,
            }
        }
    }
    steps
}
