//! Which thread goes on when changes no promise: a URL is new once, an answer rests on
//! what is durable, no lookup misses a key, a failed sync ends writing, closing is the
//! end.
//!
//! Runs only in a build in which a scheduler stands in for locks, atomics and threads;
//! docs/testing.md says how.
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod schedules;
mod support;
