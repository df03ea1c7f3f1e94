//! What the fuzzers do with an input. `tests/no_bytes_make_a_decoder_panic.rs` of the
//! store's package does the same with inputs of a plain generator.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::panic
)]

#[path = "../../tests/support/damage/allocation.rs"]
mod allocation;
pub mod answers;
mod block;
mod bytes;
mod dictionary;
pub mod files;
mod filter;
mod front;
mod index;
pub mod lines;
pub mod log;
mod manifest;
pub mod memory;
mod memory_bound;
pub mod old;
mod operations;
pub mod parts;
mod record;
mod repair;
pub mod sample;
pub mod segment;

pub use block::block;
pub use dictionary::dictionary;
pub use filter::filter;
pub use index::index;
pub use lines::lines;
pub use log::log;
pub use manifest::manifest;
pub use operations::operations;
pub use repair::repair;
pub use segment::segment;

/// What is done with an input; it panics if something is wrong.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Target); 10] = [
    ("log", log),
    ("manifest", manifest),
    ("segment", segment),
    ("dictionary", dictionary),
    ("block", block),
    ("index", index),
    ("filter", filter),
    ("operations", operations),
    ("repair", repair),
    ("lines", lines),
];
