//! The generator of URLs that `seen bench --generate` uses, for tests, benches and examples.

#[path = "../../src/cli/bench/generator.rs"]
mod generator;

pub(crate) use generator::*;
