//! Whoever runs a store hears once, as an event of `tracing`, that filters let through more
//! than was asked for, or do not fit the memory.
#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use seendb::{Builder, Canon, Driver, Durability, Seen};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use support::place;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps the warnings of this crate.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("seendb") && *metadata.level() == Level::WARN
    }
    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The warnings while `run` runs, on this thread.
fn warnings(run: impl FnOnce()) -> Vec<String> {
    let kept = Kept::default();
    tracing::subscriber::with_default(kept.clone(), run);
    let warnings = kept.0.lock().unwrap();
    warnings.clone()
}

fn builder(path: &Path) -> Builder {
    Seen::builder(path)
        .canon(Canon::raw())
        .stamps(false)
        .durability(Durability::Manual)
        .memtable_size(1 << 20)
        .driver(Driver::Manual)
}

fn fill(seen: &Seen, from: u64, to: u64) {
    let keys: Vec<u64> = (from..to).collect();
    for keys in keys.chunks(1000) {
        let keys: Vec<_> = keys.iter().map(|i| i.to_be_bytes()).collect();
        seen.insert_many(&keys).unwrap();
        while seen.step().unwrap() {}
    }
    seen.flush().unwrap();
}

#[test]
fn where_a_lower_rate_is_asked_for_than_filters_have() {
    let (_dir, path) = place();
    let none = warnings(|| {
        let seen = builder(&path).false_positive_rate(0.1).open().unwrap();
        fill(&seen, 0, 200_000);
        seen.close().unwrap();
    });
    assert_eq!(none, [""; 0]);
    let once = warnings(|| {
        let seen = builder(&path).false_positive_rate(0.001).open().unwrap();
        fill(&seen, 200_000, 300_000);
        seen.compact().unwrap();
        seen.close().unwrap();
    });
    assert_eq!(once.len(), 1, "{once:?}");
    let warning = &once[0];
    assert!(warning.contains("asked=0.001 expected=0.0"), "{warning}");
    assert!(warning.contains("compacting builds them anew"), "{warning}");
    assert!(
        warning.contains(&format!("store={}", path.display())),
        "{warning}"
    );
    // Compacted, they have it.
    let none = warnings(|| {
        builder(&path).open().unwrap().close().unwrap();
    });
    assert_eq!(none, [""; 0]);
}

#[test]
fn where_the_rate_does_not_fit_the_memory() {
    let (_dir, path) = place();
    let open = || {
        let builder = builder(&path).false_positive_rate(0.000_001);
        builder.memory(8 << 20).open().unwrap()
    };
    let once = warnings(|| {
        let seen = open();
        fill(&seen, 0, 1_000_000);
        let filter = seen.stats().filter;
        assert!(filter.fits.unwrap() > filter.asked, "{filter:?}");
        seen.close().unwrap();
    });
    assert_eq!(once.len(), 1, "{once:?}");
    let warning = &once[0];
    for part in ["memory=8388608", "asked=1e-6", "fits=", "needed="] {
        assert!(warning.contains(part), "{warning}");
    }
    // Told again when it is opened again.
    let once = warnings(|| open().close().unwrap());
    assert_eq!(once.len(), 1, "{once:?}");
}
