//! Does one kind of call a number of times, for an instruction counter or a clock.
//!
//! ```sh
//! benches/instructions            # instructions a call, of every kind, under callgrind
//! benches/pairs BEFORE AFTER      # two builds of this program, by turns: ratios of times
//! ```
//!
//! The first script runs this program with two numbers of calls and divides the difference,
//! so that what comes before and after the calls does not count. What is printed is the
//! number of answers that were yes, and the nanoseconds that all calls took. URLs are made
//! up, and the same every time.

#![allow(
    clippy::disallowed_methods,
    reason = "an example is no part of the store"
)]

use seendb::{Canon, Driver, Durability, Seen};
use std::error::Error;
use std::time::Instant;

/// URLs in the store before lookups.
const STORED: u64 = 40_000;
/// URLs that one batch has.
const BATCH: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: instructions KIND CALLS";
    let kind = args.next().ok_or(usage)?;
    let calls: u64 = args.next().ok_or(usage)?.parse()?;

    let dir = tempfile::tempdir()?;
    let seen = Seen::builder(dir.path().join("store"))
        .canon(Canon::raw())
        .durability(Durability::Manual)
        // No thread does anything of its own.
        .driver(Driver::Manual)
        .create()?;
    let urls: Vec<String> = (0..STORED).map(url).collect();
    let absent: Vec<String> = (STORED..2 * STORED).map(url).collect();
    let in_segments = kind.ends_with("segment");
    if !kind.starts_with("insert") {
        seen.extend(&urls)?;
        if in_segments {
            seen.flush()?;
            // Blocks are read and verified at their first use.
            seen.get_many(&urls)?;
        }
    }
    let ask = if kind.starts_with("miss") {
        &absent
    } else {
        &urls
    };
    let mut found = 0;
    let start = Instant::now();
    for call in 0..calls {
        // Neighbours in number are not neighbours in the order of keys.
        let at = (call.wrapping_mul(7919) % STORED) as usize;
        let url = ask.get(at).map_or("", String::as_str);
        match kind.as_str() {
            "insert" => found += u64::from(seen.insert(url_of_call(call))?),
            "insert_many" => {
                let urls: Vec<String> = (call * BATCH..(call + 1) * BATCH)
                    .map(url_of_call)
                    .collect();
                found += seen.insert_many(&urls)?.iter().filter(|new| **new).count() as u64;
            }
            "insert_known" => found += u64::from(seen.insert("https://example.com/")?),
            "hit_memtable" | "hit_segment" | "miss_memtable" | "miss_segment" => {
                found += u64::from(seen.contains(url)?);
            }
            "get_many_segment" => {
                let many: Vec<&String> = ask.iter().cycle().skip(at).take(BATCH as usize).collect();
                let found_now = seen.get_many(&many)?;
                found += found_now.iter().flatten().count() as u64;
            }
            other => return Err(format!("no such kind: {other}").into()),
        }
    }
    println!("{found} {}", start.elapsed().as_nanos());
    Ok(())
}

fn url(number: u64) -> String {
    let host = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57;
    format!("https://www.site{host}.example/articles/2024/item?id={number}")
}

fn url_of_call(call: u64) -> String {
    url(1_000_000 + call)
}
