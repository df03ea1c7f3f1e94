//! A durable, exact set of URLs for web crawlers.
//!
//! A crawler asks "have I seen this URL?" hundreds of thousands of times a second,
//! over millions to billions of URLs, for months. `seendb` answers exactly, keeps
//! the answer when the process is killed, and needs a few bytes of memory a URL.
//!
//! ```
//! use seendb::Seen;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("crawl.seen");
//! let seen = Seen::open(&path)?; // creates it if absent
//! if seen.insert("https://example.com/")? {
//!     // never seen before: fetch it
//! }
//! assert!(seen.contains("HTTPS://EXAMPLE.COM:443/#top")?); // the same page
//! assert_eq!(seen.get("https://example.com/other")?, None);
//! let new = seen.insert_many(&["https://example.com/", "https://example.org/"])?;
//! assert_eq!(new, [false, true]);
//! seen.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//!
//! ```text
//! URL ──canon──> key ──hash──┬─> memtable (exact, in memory)
//!                            └─> log (append-only, checksummed)
//!                                     │ full: freeze, sort, write
//!                                     ▼
//!                 run 0  [segment]                 newest
//!                 run 1  [segment|segment]         oldest, largest
//!                 each segment: sorted blocks + index + its own filter
//!                 manifest: which segments and logs are live
//! ```
//!
//! A URL becomes a *key*, its canonical form under the store's policy ([`Canon`]).
//! New keys go to the *log*, then become visible in the *memtable*. A full
//! memtable is written to a *segment*, sorted, with a *filter* of its own; the
//! segments that one flush or merge wrote are a *run*. A lookup asks the memtable,
//! then each run: if the filter says "definitely no", the segment is not read (a
//! *filter skip*); else one block is read and the whole key compared. A filter
//! never decides alone. Runs are merged in the background, so that there are few.
//!
//! # What is promised
//!
//! - [`insert`](Seen::insert) is true exactly once for a URL, whatever the number of
//!   threads, until it is [forgotten](Seen::forget) or
//!   [expires](Builder::expire_after).
//! - A [claim](Seen::claim) is granted to one caller at a time, and says what came of it:
//!   fetched, failed, to be tried again. Nobody else can settle it.
//! - When a write returns, it survives the process being killed; after
//!   [`sync`](Seen::sync), a power loss. [`Durability`] says when the store syncs by
//!   itself: by default every second.
//! - A batch ([`insert_many`](Seen::insert_many), [`apply`](Seen::apply)) is there
//!   whole or not at all.
//! - Damage is an error that names file and offset, never "not found";
//!   [`repair`](Seen::repair) makes a new store of all that is intact.
//! - One writer, any number of readers in other processes
//!   ([`open_read_only`](Seen::open_read_only)).
//!
//! # A crawler's bookkeeping
//!
//! A URL that is known is *seen*, *claimed*, *fetched* or *failed* ([`State`]).
//! [`claim`](Seen::claim) gives one worker the right to fetch it for a time;
//! [`Lease`] settles it, or a [`Batch`] does, together with the links that were found.
//! [`due`](Seen::due) gives what can be claimed. So a crawler needs no list of its own of
//! what is still to be done, and goes on where it was killed; `examples/crawl` is one.
//!
//! # Features
//!
//! `cli` (on by default) is the program `seen`. A program that embeds the library
//! leaves it out with `default-features = false`. `sim` is a simulated file system
//! (`vfs::sim`) that loses what a power cut may lose, for tests.

mod canon;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod codec;
mod compact;
pub mod env;
mod error;
pub mod filter;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod header;
mod log;
mod manifest;
mod memtable;
mod options;
mod record;
mod segment;
mod stats;
mod store;
mod sync;
mod vector;
pub mod vfs;
mod wire;

pub use canon::{Canon, Key, ToKey};
pub use codec::{Codec, UnknownCodec};
pub use env::Env;
pub use error::{Corrupt, Error, InvalidUrl, Result};
pub use filter::FilterKind;
pub use options::{Driver, Durability, Reads, Writes};
pub use record::{InvalidToken, Outcome, Record, State, StateKind, Token};
pub use stats::LookupStats;
pub use store::{
    Applied, Batch, Builder, Claim, Cut, FilterStats, Lease, Lost, MemoryStats, Progress, Query,
    Recovery, RepairReport, RunStats, Scan, Seen, StateStats, Stats, VerifyReport, verify,
};
