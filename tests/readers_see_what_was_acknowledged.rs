//! A reader in another process finds every URL that was acknowledged before it
//! refreshed, and is never told of damage that is none.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod support;

use seendb::{Batch, Canon, Durability, Error, Seen};
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use support::child;
use support::faults::{Do, Faults, Gate, Maps, Op};
use support::{assert_clean, env_on, listing, long, manual, place, small, within};

/// The writer: three URLs, one of them in a batch, then a flush, again and again.
#[test]
fn child_writer() {
    let Some(path) = child::argument() else {
        return;
    };
    // What another process reads does not depend on syncs.
    let vfs = Faults::new(Maps::System);
    vfs.sync_nothing();
    let seen = small(path.as_ref()).env(env_on(&vfs)).open().unwrap();
    let mut flushes = 0;
    for i in 0.. {
        assert!(seen.insert(format!("single/{i}")).unwrap());
        child::report(&format!("single/{i}"));
        let batch = [format!("batch/{i}/a"), format!("batch/{i}/b")];
        assert_eq!(seen.insert_many(&batch).unwrap(), [true, true]);
        child::report(&format!("batch/{i}/a"));
        child::report(&format!("batch/{i}/b"));
        if i % 2 == 0 {
            seen.flush().unwrap();
            flushes += 1;
        }
        let stats = seen.stats();
        if i % 64 == 0 && flushes + stats.merges >= 1000 * long() {
            child::report(&format!("done {} {}", stats.flushes, stats.merges));
            break;
        }
    }
    seen.close().unwrap();
}

/// The reader: URLs on standard input, an answer for each.
#[test]
fn child_reader() {
    let Some(path) = child::argument() else {
        return;
    };
    let seen = Seen::open_read_only(path).unwrap();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        seen.refresh().unwrap();
        let found = seen.contains(&line).unwrap();
        child::report(&format!("{found} {line}"));
    }
}

#[test]
fn across_a_thousand_flushes_and_merges() {
    let (_dir, path) = place();
    let text = path.to_str().unwrap();
    drop(manual(&path).create().unwrap());
    let (mut writer, mut written) = child::start("child_writer", text);
    let (mut reader, mut answers) = child::start("child_reader", text);
    let mut asked = reader.stdin.take().unwrap();
    let mut count = 0;
    let (flushes, merges) = loop {
        let line = child::next_line(&mut written).unwrap();
        if let Some(done) = line.strip_prefix("done ") {
            let mut numbers = done.split(' ').map(|n| n.parse::<u64>().unwrap());
            break (numbers.next().unwrap(), numbers.next().unwrap());
        }
        writeln!(asked, "{line}").unwrap();
        let answer = child::next_line(&mut answers).unwrap();
        assert_eq!(answer, format!("true {line}"));
        count += 1;
    };
    drop(asked);
    assert!(writer.wait().unwrap().success() && reader.wait().unwrap().success());
    assert!(flushes + merges >= 1000 * long() && merges > 10);
    println!("{count} URLs found across {flushes} flushes and {merges} merges");
    assert_clean(&path);
}

/// A log whose end moves while it is read looks, for a moment, as if a synced
/// part were missing.
#[test]
fn a_log_that_is_being_synced_is_not_taken_for_damage() {
    // A new store now and then, as reading all of one takes ever longer.
    for _ in 0..8 * long() {
        read_beside_a_writer_that_syncs(6);
    }
}

fn read_beside_a_writer_that_syncs(rounds: u32) {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::System);
    vfs.sync_nothing();
    let seen = small(&path)
        .canon(Canon::raw())
        .memtable_size(2 << 20)
        .env(env_on(&vfs))
        .durability(Durability::Manual)
        .open()
        .unwrap();
    let done = AtomicBool::new(false);
    let acknowledged = AtomicU64::new(0);
    let opened = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut i = 0;
            while !done.load(Ordering::SeqCst) {
                assert!(seen.insert(format!("{i:040}")).unwrap());
                i += 1;
                acknowledged.store(i, Ordering::SeqCst);
                seen.sync().unwrap();
            }
        });
        let _done = support::Done(&done);
        (|| {
            let long_lived = Seen::open_read_only(&path)?;
            for round in 0..rounds {
                let before = acknowledged.load(Ordering::SeqCst);
                let reader = Seen::open_read_only(&path)?;
                long_lived.refresh()?;
                assert!(reader.len() >= before && long_lived.len() >= before);
                let report = seendb::verify(&path, &mut |_| {})?;
                assert!(report.damage.is_empty(), "{round}: {:?}", report.damage);
            }
            Ok::<(), Error>(())
        })()
    });
    opened.unwrap();
}

/// Where frames are written one by one, room that was allocated is taken back.
#[test]
fn a_log_that_becomes_shorter_while_it_is_read_is_read_again() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::Never);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    let gate = Arc::new(Gate::default());
    gate.shut();
    let at_gate = gate.clone();
    vfs.rule(move |event| {
        if event.is(Op::SetLen, ".log") {
            at_gate.pass();
        }
        Do::Pass
    });
    let reader_vfs = Faults::new(Maps::Never);
    let opens = gate.clone();
    reader_vfs.rule(move |event| {
        // Headers are read in small pieces, frames in a large one.
        if event.is(Op::Read, ".log") && event.bytes > 10_000 {
            opens.open();
            std::thread::sleep(Duration::from_millis(50));
        }
        Do::Pass
    });
    std::thread::scope(|scope| {
        let insert = scope.spawn(|| seen.insert("a").unwrap());
        gate.wait_for_somebody();
        let reader = Seen::builder(&path)
            .env(env_on(&reader_vfs))
            .open_read_only()
            .unwrap();
        assert!(insert.join().unwrap());
        reader.refresh().unwrap();
        assert!(reader.contains("a").unwrap());
    });
}

#[test]
fn a_log_that_was_cut_under_a_reader_is_damage() {
    let (_dir, path) = place();
    let vfs = Faults::new(Maps::Never);
    let seen = manual(&path).env(env_on(&vfs)).open().unwrap();
    for i in 0..100 {
        seen.insert(format!("key{i}")).unwrap();
    }
    let reader = Seen::open_read_only(&path).unwrap();
    assert_eq!(reader.len(), 100);
    let log = path.join(&support::names(&path, ".log")[0]);
    let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.set_len(1000).unwrap();
    let error = within(Duration::from_secs(20), "a refresh", move || {
        let error = reader.refresh().unwrap_err();
        // It answers from what it knows.
        assert_eq!(reader.len(), 100);
        assert!(reader.contains("key99").unwrap());
        error
    });
    match error {
        Error::Corrupt(corrupt) => assert_eq!(corrupt.path, log),
        other => unreachable!("{other}"),
    }
}

#[test]
fn a_reader_changes_nothing_on_disk() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    for i in 0..300 {
        seen.insert(format!("key{i}")).unwrap();
        if i % 100 == 99 {
            seen.flush().unwrap();
        }
    }
    seen.insert("in the log").unwrap();
    // What an interrupted flush leaves, and the lock of a writer that was killed.
    std::fs::write(path.join("000999.seg"), b"never finished").unwrap();
    std::fs::write(path.join("MANIFEST.tmp"), b"half").unwrap();
    let (_other_dir, copy) = place();
    support::copy_dir(&path, &copy);
    for dir in [&path, &copy] {
        use std::os::unix::fs::PermissionsExt;
        // The superuser may write all the same: so the listings are compared too.
        let mode = |mode| std::fs::set_permissions(dir, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o555);
        let before = listing(dir);
        let reader = Seen::open_read_only(dir).unwrap();
        assert_eq!(reader.len(), 301);
        assert!(reader.contains("in the log").unwrap());
        assert!(!reader.contains("absent").unwrap());
        reader.refresh().unwrap();
        assert_eq!(support::keys(&reader).len(), 301);
        reader.verify(&mut |_| {}).unwrap();
        let _ = reader.stats();
        for denied in [
            reader.insert("new").map(|_| ()),
            reader.insert_many(&["new"]).map(|_| ()),
            reader.apply(Batch::new()).map(|_| ()),
            reader.extend(["new"]).map(|_| ()),
            reader.sync(),
            reader.flush(),
            reader.compact(),
            reader.step().map(|_| ()),
        ] {
            assert!(matches!(denied, Err(Error::ReadOnly { path }) if path == *dir));
        }
        reader.close().unwrap();
        assert_eq!(listing(dir), before);
        mode(0o755);
    }
}

#[test]
fn a_reader_keeps_its_view_while_files_go_away() {
    let (_dir, path) = place();
    let seen = manual(&path).open().unwrap();
    for i in 0..1000 {
        seen.insert(format!("{i:06}")).unwrap();
        if i % 100 == 99 {
            seen.flush().unwrap();
        }
    }
    let reader = Seen::open_read_only(&path).unwrap();
    let mut scan = reader.scan("").unwrap();
    assert!(scan.next().is_some());
    seen.compact().unwrap();
    seen.insert("later").unwrap();
    seen.flush().unwrap();
    assert_eq!(scan.map(Result::unwrap).count(), 999);
    for i in 0..1000 {
        assert!(reader.contains(format!("{i:06}")).unwrap());
    }
    assert!(!reader.contains("later").unwrap());
    assert_eq!(reader.len(), 1000);
    reader.refresh().unwrap();
    assert!(reader.contains("later").unwrap());
    assert_eq!(reader.len(), 1001);
}
