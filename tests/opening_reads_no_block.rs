//! Opening costs what indexes and filters take, not what blocks do.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Reads, Seen};
use support::faults::{Faults, Maps, Op};
use support::{env_on, manual, place};

#[test]
fn of_a_closed_store() {
    let (_dir, path) = place();
    let seen = manual(&path)
        .memtable_size(64 << 20)
        .segment_size(1 << 30)
        .open()
        .unwrap();
    let urls: Vec<String> = (0..100_000u64)
        .map(|i| {
            let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!(
                "https://host{}.example/{mixed:016x}/{mixed:016x}/{:016x}",
                i % 97,
                !mixed
            )
        })
        .collect();
    for batch in urls.chunks(5000) {
        seen.insert_many(batch).unwrap();
    }
    seen.close().unwrap();
    for reads in [Reads::Map, Reads::Pread] {
        for read_only in [true, false] {
            let vfs = Faults::new(Maps::System);
            vfs.watch();
            let builder = Seen::builder(&path).reads(reads).env(env_on(&vfs));
            let seen = if read_only {
                builder.open_read_only()
            } else {
                builder.open()
            }
            .unwrap();
            let stats = seen.stats();
            assert_eq!(stats.entries, 100_000);
            assert_eq!((stats.lookup.blocks_read, stats.lookup.bytes_read), (0, 0));
            let read = vfs.bytes_read();
            // Filters and indexes, and a few pages for headers and footers.
            let needed = stats.memory.filters + stats.memory.indexes;
            assert!(read <= needed + 32_768, "{read} bytes for {needed}");
            assert!(
                read * 10 < stats.segment_bytes,
                "{read} of {}",
                stats.segment_bytes
            );
            println!("{reads:?}: {read} bytes read of {}", stats.segment_bytes);
            // No log was there to be read.
            assert_eq!(seen.recovery().logs, 0);
            assert!(!vfs.events().iter().any(|event| event.is(Op::Read, ".log")));
            assert!(seen.contains(&urls[77_777]).unwrap());
            assert_eq!(seen.stats().lookup.blocks_read, 1);
            seen.close().unwrap();
        }
    }
}
