//! The simulator loses what a disk may lose, and nothing else.

use super::{Fault, OperationKind, PowerCut, SECTOR, Sim};
use crate::vfs::{File, Vfs};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

const FILE: &str = "/dir/file";

/// A file of one durable sector with a durable name.
fn begun() -> (Arc<Sim>, Arc<dyn File>) {
    let sim = Sim::new();
    sim.create_dir(Path::new("/dir")).unwrap();
    let file = sim.create(Path::new(FILE)).unwrap();
    file.write_at(&[1; SECTOR], 0).unwrap();
    file.sync().unwrap();
    sim.sync_dir(Path::new("/dir")).unwrap();
    sim.sync_dir(Path::new("/")).unwrap();
    (sim, file)
}

/// All contents of the file that a power cut can leave; `None`: no file.
fn left(cut: &PowerCut) -> BTreeSet<Option<Vec<u8>>> {
    let all = (0..cut.outcomes()).map(|number| cut.outcome(number));
    let sampled = (0..300).map(|seed| cut.disk(seed));
    all.chain(sampled).map(|sim| sim.read(FILE).ok()).collect()
}

fn filled(parts: &[(u8, usize)]) -> Option<Vec<u8>> {
    Some(
        parts
            .iter()
            .flat_map(|&(byte, count)| vec![byte; count])
            .collect(),
    )
}

#[test]
fn what_is_synced_stays() {
    let (sim, _file) = begun();
    assert_eq!(sim.power_cut().outcomes(), 1);
    assert_eq!(left(&sim.power_cut()), [filled(&[(1, SECTOR)])].into());
}

#[test]
fn a_sector_survives_in_any_state_that_it_had() {
    let (sim, file) = begun();
    file.write_at(&[2; SECTOR], 0).unwrap();
    file.write_at(&[3; 10], 0).unwrap();
    let expected = [
        filled(&[(1, SECTOR)]),
        filled(&[(2, SECTOR)]),
        filled(&[(3, 10), (2, SECTOR - 10)]),
    ];
    assert_eq!(left(&sim.power_cut()), expected.into());
    file.sync().unwrap();
    assert_eq!(
        left(&sim.power_cut()),
        [filled(&[(3, 10), (2, SECTOR - 10)])].into()
    );
}

#[test]
fn length_and_bytes_are_durable_separately() {
    let (sim, file) = begun();
    file.write_at(&[2; SECTOR], SECTOR as u64).unwrap();
    let left = left(&sim.power_cut());
    for expected in [
        filled(&[(1, SECTOR)]),
        filled(&[(1, SECTOR), (0, SECTOR)]),
        filled(&[(1, SECTOR), (2, SECTOR)]),
        // Stale bytes, here of the same file.
        filled(&[(1, 2 * SECTOR)]),
    ] {
        assert!(left.contains(&expected), "{expected:?}");
    }
    assert_eq!(left.len(), 4);
}

#[test]
fn a_cut_file_that_grows_again_has_zeros() {
    let (sim, file) = begun();
    file.set_len(0).unwrap();
    file.set_len(SECTOR as u64).unwrap();
    assert_eq!(sim.read(FILE).unwrap(), [0; SECTOR]);
    let left = left(&sim.power_cut());
    assert!(left.contains(&filled(&[(1, SECTOR)])) && left.contains(&filled(&[(0, SECTOR)])));
    assert!(left.contains(&Some(Vec::new())));
}

#[test]
fn names_are_durable_with_their_directory() {
    let (sim, _file) = begun();
    let (old, new) = (Path::new("/dir/new"), Path::new(FILE));
    let file = sim.create(old).unwrap();
    file.write_at(&[7; 5], 0).unwrap();
    file.sync().unwrap();
    sim.rename(old, new).unwrap();
    let expected = [filled(&[(1, SECTOR)]), filled(&[(7, 5)])];
    assert_eq!(left(&sim.power_cut()), expected.into());
    sim.remove(new).unwrap();
    assert!(left(&sim.power_cut()).contains(&None));
    assert!(left(&sim.power_cut()).contains(&filled(&[(1, SECTOR)])));
    sim.sync_dir(Path::new("/dir")).unwrap();
    assert_eq!(left(&sim.power_cut()), [None].into());
}

#[test]
fn a_failed_sync_loses_what_it_should_have_saved() {
    let (sim, file) = begun();
    file.write_at(&[2; SECTOR], 0).unwrap();
    sim.rule(|operation| (operation.kind == OperationKind::Sync).then_some(Fault::Error(5)));
    assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(5));
    sim.heal();
    assert_eq!(
        sim.read(FILE).unwrap(),
        [2; SECTOR],
        "as long as the system runs"
    );
    let before = left(&sim.power_cut());
    assert_eq!(before.len(), 1, "it is decided");
    file.sync().unwrap();
    assert_eq!(left(&sim.power_cut()), before, "no later sync saves it");
    sim.evict();
    assert!(before.contains(&sim.read(FILE).ok()));
}

#[test]
fn what_a_failed_sync_lost_can_be_written_again() {
    let (sim, file) = begun();
    let other = sim.open(Path::new(FILE)).unwrap();
    file.write_at(&[2; 2 * SECTOR], SECTOR as u64).unwrap();
    sim.rule(|operation| (operation.kind == OperationKind::Sync).then_some(Fault::Error(28)));
    assert!(file.sync().is_err());
    sim.heal();
    // All that had it open are told, once; who opens it now is not.
    assert_eq!(other.sync().unwrap_err().raw_os_error(), Some(5));
    for told in [&file, &other, &sim.open(Path::new(FILE)).unwrap()] {
        told.sync().unwrap();
    }
    let whole = filled(&[(1, SECTOR), (2, 2 * SECTOR)]);
    assert_eq!(sim.read(FILE).ok(), whole);
    // Its length too, also where that was lost.
    file.write_at(&[2; 2 * SECTOR], SECTOR as u64).unwrap();
    file.sync().unwrap();
    assert_eq!(left(&sim.power_cut()), [whole].into());
}

#[test]
fn a_directory_that_could_not_be_opened_loses_no_name() {
    let (sim, _file) = begun();
    sim.create(Path::new("/dir/new")).unwrap();
    sim.rule(|operation| (operation.kind == OperationKind::SyncDir).then_some(Fault::Error(24)));
    assert!(sim.sync_dir(Path::new("/dir")).is_err());
    sim.heal();
    assert_eq!(sim.power_cut().outcomes(), 2);
    sim.sync_dir(Path::new("/dir")).unwrap();
    assert_eq!(sim.power_cut().outcomes(), 1);
}

#[test]
fn a_fork_goes_its_own_way() {
    let (sim, file) = begun();
    let held = Vfs::lock(&*sim, Path::new("/dir/LOCK")).unwrap().unwrap();
    file.write_at(&[2; SECTOR], 0).unwrap();
    let fork = sim.fork();
    assert_eq!(fork.fingerprint(), sim.fingerprint());
    assert_eq!(fork.power_cut().outcomes(), sim.power_cut().outcomes());
    file.sync().unwrap();
    file.write_at(&[3; SECTOR], 0).unwrap();
    assert_eq!(fork.read(FILE).unwrap(), [2; SECTOR]);
    assert!(left(&fork.power_cut()).contains(&filled(&[(1, SECTOR)])));
    assert!(Vfs::lock(&*fork, Path::new("/dir/LOCK")).unwrap().is_some());
    drop(held);
}

#[test]
fn a_lock_that_was_not_given_is_not_held() {
    let (sim, _file) = begun();
    let lock = || Vfs::lock(&*sim, Path::new("/dir/LOCK"));
    sim.rule(|operation| (operation.kind == OperationKind::Lock).then_some(Fault::ErrorAfter(5)));
    assert!(lock().is_err());
    sim.heal();
    assert!(lock().unwrap().is_some());
}

#[test]
fn a_store_is_caught_half_done() {
    let (sim, file) = begun();
    let mut map = file.map_write(0, SECTOR).unwrap().unwrap();
    let mut torn = BTreeSet::new();
    for _ in 0..20 {
        map.store(0, &[2; 100]);
        torn.extend(left(&sim.power_cut()));
        map.store(0, &[1; 100]);
        file.sync().unwrap();
    }
    assert!(torn.len() > 5, "{}", torn.len());
}

#[test]
#[should_panic(expected = "no block is allocated")]
fn a_store_where_no_block_is_allocated_is_told() {
    let (_sim, file) = begun();
    file.set_len(10_000).unwrap();
    let mut map = file.map_write(0, 10_000).unwrap().unwrap();
    map.store(9_000, &[1]);
}

#[test]
fn a_dead_process_does_nothing_and_holds_no_lock() {
    let (sim, file) = begun();
    let lock = Vfs::lock(&*sim, Path::new("/dir/LOCK")).unwrap().unwrap();
    assert!(
        Vfs::lock(&*sim.beside(), Path::new("/dir/LOCK"))
            .unwrap()
            .is_none()
    );
    file.write_at(&[9], 0).unwrap();
    let next = sim.kill();
    assert!(file.write_at(&[8], 0).is_err() && sim.open(Path::new(FILE)).is_err());
    assert!(lock.is_current().is_err());
    assert_eq!(next.read(FILE).unwrap()[0], 9);
    let held = Vfs::lock(&*next, Path::new("/dir/LOCK")).unwrap();
    drop(lock);
    assert!(
        Vfs::lock(&*next.beside(), Path::new("/dir/LOCK"))
            .unwrap()
            .is_none()
    );
    drop(held);
    assert!(
        Vfs::lock(&*next.beside(), Path::new("/dir/LOCK"))
            .unwrap()
            .is_some()
    );
}

#[test]
fn faults_are_what_they_say() {
    let (sim, file) = begun();
    let now = sim.operations();
    sim.watch();
    sim.rule(move |operation| match operation.number - now {
        0 | 1 => Some(Fault::Short),
        2 => Some(Fault::ErrorAfter(28)),
        3 => Some(Fault::Error(2)),
        4 => Some(Fault::PowerCut),
        _ => None,
    });
    let mut buf = [0; 8];
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 4);
    assert_eq!(file.write_at(&[4; 8], 0).unwrap(), 4);
    assert_eq!(
        file.write_at(&[5; 8], 0).unwrap_err().raw_os_error(),
        Some(28)
    );
    assert_eq!(sim.read(FILE).unwrap()[..6], [5, 5, 5, 5, 1, 1]);
    assert_eq!(
        sim.kind(Path::new(FILE)).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(file.write_at(&[6; 8], 0).is_err());
    assert!(file.len().is_err(), "the power is off");
    assert_eq!(sim.trace().len(), 5);
    assert!(sim.power_cut().outcomes() > 1);
}
