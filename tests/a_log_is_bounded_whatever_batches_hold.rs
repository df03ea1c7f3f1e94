//! Batches that add no entry, because every URL in them is known, fill logs all the
//! same: a consumer that reads an outside log again sends nothing else.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::{manual, place};

#[test]
fn known_urls_with_positions_do_not_grow_it_for_ever() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    seen.insert("https://example.com/").unwrap();
    for position in 1..=200_000 {
        let mut batch = seen.batch();
        batch.insert("https://example.com/").unwrap();
        batch.position(position);
        assert_eq!(seen.apply(batch).unwrap().new, [false]);
        while seen.step().unwrap() {}
    }
    let stats = seen.stats();
    assert!(stats.flushes >= 3, "{} flushes", stats.flushes);
    assert!(stats.log_bytes <= 3 << 20, "{} bytes", stats.log_bytes);
    assert_eq!(seen.position(), Some(200_000));
    seen.close().unwrap();

    let seen = manual(&path).open().unwrap();
    assert_eq!((seen.position(), seen.len()), (Some(200_000), 1));
    assert_eq!(seen.durable_position(), Some(200_000));
}
