//! A store that was killed with as many unflushed memtables as it may have opens again,
//! also while the disk is full, and goes on once there is room.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod support;

use seendb::vfs::sim::{Fault, OperationKind, Sim};
use seendb::{Driver, Durability, Error, Reads, Seen, Writes};
use std::sync::Arc;
use std::time::Duration;
use support::workload::{Session, Setting};
use support::{ENOSPC, is_os};

/// No segment can be created.
fn fill(sim: &Sim) {
    sim.rule(|operation| {
        let is_segment = operation.path.extension().is_some_and(|end| end == "seg");
        (operation.kind == OperationKind::Create && is_segment).then_some(Fault::Error(ENOSPC))
    });
}

fn open(sim: &Arc<Sim>, driver: Driver) -> Seen {
    let setting = Setting {
        durability: Durability::Manual,
        writes: Writes::Map,
        reads: Reads::Map,
        stamps: true,
        expiry: None,
    };
    let session = Session::new(sim.clone(), setting, 1);
    session.builder().driver(driver).open().unwrap()
}

/// Inserts until the answer is an error; how many were taken.
fn insert_all(seen: &Seen, first: u64) -> (u64, Error) {
    let mut number = first;
    loop {
        match seen.insert(key(number)) {
            Ok(new) => assert!(new, "{number}"),
            Err(error) => return (number, error),
        }
        number += 1;
    }
}

fn key(number: u64) -> String {
    format!("{number:09}/{}", "x".repeat(2_000))
}

#[test]
fn and_it_goes_on() {
    for driver in [Driver::Manual, Driver::Threads] {
        let sim = Sim::new();
        fill(&sim);
        let seen = open(&sim, driver);
        let (taken, error) = insert_all(&seen, 0);
        assert!(is_os(&error, ENOSPC), "{error}");
        // Three memtables of a MiB.
        assert!(taken > 1_200, "{taken}");

        // Killed, and opened while the disk is still full: three logs are read.
        let sim = sim.kill();
        drop(seen);
        let seen = open(&sim, driver);
        assert_eq!(seen.recovery().entries, taken);
        assert_eq!(seen.recovery().logs, 3);
        assert_eq!(seen.len(), taken);
        assert!((0..taken).all(|number| !seen.insert(key(number)).unwrap()));
        // Writers go on to their memory bound.
        let (more, error) = insert_all(&seen, taken);
        assert!(is_os(&error, ENOSPC), "{error}");

        // And again, with no more memory bound to give.
        let sim = sim.kill();
        drop(seen);
        let seen = open(&sim, driver);
        assert_eq!(seen.len(), more);
        sim.heal();
        let goes_on = support::within(Duration::from_secs(60), "an insert", move || {
            for number in more..more + 2_000 {
                assert!(seen.insert(key(number)).unwrap());
            }
            seen.flush().unwrap();
            seen
        });
        assert_eq!(goes_on.len(), more + 2_000);
        goes_on.close().unwrap();
        let seen = open(&sim, driver);
        assert_eq!(seen.recovery().logs, 0);
        assert!((0..more + 2_000).all(|number| seen.contains(key(number)).unwrap()));
        let report = seen.verify(&mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{report:?}");
    }
}
