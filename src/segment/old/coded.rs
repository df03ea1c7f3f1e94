//! Front-coded keys: the form of the entries of a block, and of the index, up to version 3.
//!
//! ```text
//! entries         one after the other
//! restarts  u32 each: offsets of every 16th entry, beginning with the first
//! count     u32   of the restarts
//! ```
//!
//! An entry:
//!
//! ```text
//! shared    varint   bytes that the key has in common with the one before; as
//!                    many as it can be, but 0 at a restart
//! length    varint   of the suffix
//! values    varint   a fixed number of them, known from what the region is for
//! suffix    [u8; length]
//! ```
//!
//! Offsets count from the region's beginning. Keys ascend strictly. That `shared`
//! is the most that it can be is what lets a search decide most entries by two
//! numbers, without looking at their bytes.
/// Every how many entries a key is stored whole.
pub(super) const RESTART: usize = 16;
