//! A record as the caller sees it.

use super::code::MAX_REASON;
use super::token::Token;
use std::time::SystemTime;

/// What the store knows of a URL.
///
/// Times are whole seconds. The struct is non-exhaustive: later versions record more.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Record {
    /// When the URL was first inserted or claimed; absent in a store that was created
    /// with [`stamps(false)`](crate::Builder::stamps).
    pub first_seen: Option<SystemTime>,
    /// When the state was last changed; absent where `first_seen` is.
    pub changed: Option<SystemTime>,
    /// What became of it since.
    pub state: State,
}

/// What became of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum State {
    /// Inserted; nothing more is known.
    #[default]
    Seen,
    /// Somebody is at it, or was until the claim ran out.
    Claimed {
        /// Who.
        worker: String,
        /// When the claim runs out.
        until: SystemTime,
        /// What settling it takes.
        token: Token,
        /// How often it was claimed since it was last fetched, this time included.
        attempts: u32,
        /// What the last attempt came to, if it was settled.
        last: Option<Outcome>,
    },
    /// Fetched: done.
    Fetched {
        /// When.
        at: SystemTime,
        /// The answer's status, such as 200.
        status: u16,
        /// A hash of what was fetched, if the caller gave one.
        content: Option<[u8; 16]>,
    },
    /// Not fetched, for a reason.
    Failed {
        /// When.
        at: SystemTime,
        /// Why, in the caller's words.
        reason: String,
        /// How often it was tried.
        attempts: u32,
        /// When it may be tried again; `None`: never.
        retry_at: Option<SystemTime>,
    },
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It was fetched.
    Fetched {
        /// When.
        at: SystemTime,
        /// The answer's status.
        status: u16,
        /// A hash of what was fetched.
        content: Option<[u8; 16]>,
    },
    /// It failed.
    Failed {
        /// When.
        at: SystemTime,
        /// Why.
        reason: String,
    },
}

/// The kinds of [`State`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StateKind {
    /// [`State::Seen`]
    Seen,
    /// [`State::Claimed`]
    Claimed,
    /// [`State::Fetched`]
    Fetched,
    /// [`State::Failed`]
    Failed,
}

impl StateKind {
    /// All kinds.
    pub const ALL: [StateKind; 4] = [
        StateKind::Seen,
        StateKind::Claimed,
        StateKind::Fetched,
        StateKind::Failed,
    ];

    /// Its name: `seen`, `claimed`, `fetched` or `failed`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StateKind::Seen => "seen",
            StateKind::Claimed => "claimed",
            StateKind::Fetched => "fetched",
            StateKind::Failed => "failed",
        }
    }
}

impl State {
    /// Which of the states it is.
    #[must_use]
    pub fn kind(&self) -> StateKind {
        match self {
            State::Seen => StateKind::Seen,
            State::Claimed { .. } => StateKind::Claimed,
            State::Fetched { .. } => StateKind::Fetched,
            State::Failed { .. } => StateKind::Failed,
        }
    }
}

/// Keys by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts(pub(crate) [u64; 4]);

impl Counts {
    pub(crate) fn sum(&self) -> u64 {
        self.0.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    pub(crate) fn get(&self, kind: StateKind) -> u64 {
        self.0[kind as usize]
    }

    pub(crate) fn add(&mut self, kind: StateKind) {
        self.0[kind as usize] += 1;
    }

    /// One entry came, and another went. Between the two a count may be below zero: what
    /// comes first is not told. So they wrap.
    pub(crate) fn moved(&mut self, from: Option<StateKind>, to: Option<StateKind>) {
        if let Some(to) = to {
            self.0[to as usize] = self.0[to as usize].wrapping_add(1);
        }
        if let Some(from) = from {
            self.0[from as usize] = self.0[from as usize].wrapping_sub(1);
        }
    }

    pub(crate) fn plus(self, other: &Counts) -> Counts {
        Counts(std::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }

    pub(crate) fn minus(self, other: &Counts) -> Counts {
        Counts(std::array::from_fn(|i| self.0[i].wrapping_sub(other.0[i])))
    }
}

/// The beginning of a reason that a record can hold.
pub(crate) fn cut_reason(reason: &str) -> &str {
    let mut end = reason.len().min(MAX_REASON);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    reason.get(..end).unwrap_or(reason)
}
