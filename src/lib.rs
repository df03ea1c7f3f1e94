//! A durable, exact set of URLs for web crawlers.

pub mod env;
mod canon;
mod error;
mod filter;
mod header;
mod options;
mod record;
mod segment;
mod stats;
pub mod vfs;
mod wire;
