//! A disk that is really full, at every setting: a clear error and never a signal,
//! nothing lost that was recorded, reads that go on, and work again once there is room.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test"
)]

#[path = "support/setting.rs"]
mod setting;
#[path = "support/small_disk.rs"]
mod small_disk;
mod support;

use seendb::{Canon, Error, Seen, Writes};
use setting::{SETTINGS, Setting};
use small_disk::{Disk, cut, namespace, take_all_room};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use support::{assert_clean, child, place, small};

/// The size of the disk, and the room on it that others leave at first: when they are
/// gone, merges have all that they need.
const MIB: u64 = 40;
const ROOM: u64 = 4 << 20;
/// Refusals in a row that mean that nothing goes any more.
const ENOUGH: usize = 10;

#[test]
fn a_tmpfs() {
    on(0);
}

#[test]
fn an_ext4_with_blocks_of_a_page() {
    on(4096);
}

#[test]
fn an_ext4_with_blocks_smaller_than_a_page() {
    on(1024);
}

/// Runs [`child_fills_a_disk`] with a disk of its own.
fn on(number: u32) {
    let command = match namespace() {
        Ok(command) => command,
        Err(why) => return support::tell(&format!("skipped, as no disk can be mounted: {why}")),
    };
    let (_dir, path) = place();
    let argument = format!("{number} {}", path.display());
    let (mut process, mut lines) = child::start_under(command, "child_fills_a_disk", &argument);
    let mut said = String::new();
    while let Some(line) = child::next_line(&mut lines) {
        println!("{:?}: {line}", Disk::numbered(number));
        said = line;
    }
    let status = process.wait().unwrap();
    assert!(status.success(), "{status} (7 is SIGBUS) after: {said}");
    assert!(said == "done" || said.starts_with("skipped"), "{said}");
}

#[test]
fn child_fills_a_disk() {
    let Some(argument) = child::argument() else {
        return;
    };
    let (number, path) = argument.split_once(' ').unwrap();
    let disk = Path::new(path);
    if let Err(why) = Disk::numbered(number.parse().unwrap()).mount(MIB, disk) {
        return child::report(&format!("skipped, as it cannot be mounted: {why}"));
    }
    // How blocks are read makes no difference to what is written.
    for setting in (0..SETTINGS / 2).map(Setting) {
        child::report(&setting.to_string());
        let said = Filling::new(setting, disk).run();
        child::report(&said);
    }
    child::report("done");
}

/// One store on a disk, and what it must hold.
struct Filling {
    setting: Setting,
    disk: PathBuf,
    store: PathBuf,
    next: u64,
    done: Vec<u64>,
    refused: Vec<u64>,
}

/// The URLs of operation `i`: one, or a batch.
fn urls(i: u64) -> Vec<String> {
    let count = if i.is_multiple_of(8) { 1 } else { 8 };
    let place = |j: u64| (i * 8 + j).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..count)
        .map(|j| format!("{:016x}/{i}/{j}/{:1700}", place(j), ""))
        .collect()
}

fn is_full(error: &Error) -> bool {
    let told = error.to_string().contains("make room on that disk");
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::StorageFull && told)
}

/// What may fail for want of room, and for nothing else.
fn unless_full(outcome: Result<(), Error>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(error) if is_full(&error) => false,
        Err(error) => panic!("{error}"),
    }
}

impl Filling {
    fn new(setting: Setting, disk: &Path) -> Filling {
        Filling {
            setting,
            disk: disk.to_path_buf(),
            store: disk.join("store"),
            next: 0,
            done: Vec::new(),
            refused: Vec::new(),
        }
    }

    fn open(&self) -> Seen {
        let builder = self.setting.on(small(&self.store)).canon(Canon::raw());
        builder.open().unwrap()
    }

    fn run(mut self) -> String {
        let others = self.disk.join("others");
        take_all_room(&others);
        cut(&others, ROOM);
        let seen = self.open();
        let reader = Seen::open_read_only(&self.store).unwrap();
        self.write_until_full(&seen);
        let first = self.done.len();
        self.check_while_full(&seen, &reader);

        // The same handle goes on once there is room.
        fs::remove_file(&others).unwrap();
        for _ in 0..100 {
            assert!(self.write(&seen), "there is room");
        }
        seen.compact().unwrap();
        assert!(seen.stats().last_error.is_none());

        // Others take the last of the room, and the log has some that it took before:
        // what is stored there finds its blocks.
        assert!(self.write(&seen));
        take_all_room(&others);
        let before = self.done.len();
        self.write_until_full(&seen);
        let after = self.done.len() - before;
        assert!(after > 0 || self.setting.writes() == Writes::Pwrite);
        self.check_while_full(&seen, &reader);

        // Closing, and opening again, on the full disk.
        unless_full(seen.close());
        let seen = self.open();
        self.check(&seen);
        self.write_until_full(&seen);
        self.check_while_full(&seen, &reader);
        unless_full(seen.close());

        // A writer that is killed when it has filled what they left.
        cut(&others, 2 << 20);
        self.kill_a_writer();
        assert_clean(&self.store);
        self.check(&Seen::open_read_only(&self.store).unwrap());
        let seen = self.open();
        self.check_while_full(&seen, &reader);

        // It holds files that were merged since it looked, and their room.
        drop(reader);
        fs::remove_file(&others).unwrap();
        seen.compact().unwrap();
        assert_eq!(seen.stats().runs, 1);
        self.check(&seen);
        seen.close().unwrap();
        assert_clean(&self.store);
        let seen = self.open();
        self.check(&seen);
        seen.close().unwrap();
        fs::remove_dir_all(&self.store).unwrap();
        format!(
            "{first} operations till it was full, {after} into room that was taken, {} in all, {} refused",
            self.done.len(),
            self.refused.len()
        )
    }

    /// One operation; false if it was refused for want of room.
    fn write(&mut self, seen: &Seen) -> bool {
        let urls = urls(self.next);
        let outcome = match urls.as_slice() {
            [only] => seen.insert(only).map(|new| vec![new]),
            urls => seen.insert_many(urls),
        };
        let written = unless_full(outcome.map(|new| assert!(new.iter().all(|&new| new))));
        if !written {
            let found = seen.get_many(&urls).unwrap();
            assert!(found.iter().all(Option::is_none), "refused, and there");
        }
        self.note(written)
    }

    /// Whether the next operation was done.
    fn note(&mut self, done: bool) -> bool {
        let list = if done {
            &mut self.done
        } else {
            &mut self.refused
        };
        list.push(self.next);
        self.next += 1;
        done
    }

    fn write_until_full(&mut self, seen: &Seen) {
        let mut refused = 0;
        while refused < ENOUGH {
            refused = if self.write(seen) { 0 } else { refused + 1 };
        }
    }

    /// What was recorded is there, and what was refused wholly there or wholly absent.
    fn check(&self, seen: &Seen) {
        let mut expected = 0;
        for &i in &self.done {
            let found = seen.get_many(&urls(i)).unwrap();
            assert!(found.iter().all(Option::is_some), "{i} is lost");
            expected += found.len();
        }
        for &i in &self.refused {
            let found = seen.get_many(&urls(i)).unwrap();
            let there = found.iter().flatten().count();
            assert!(there == 0 || there == found.len(), "{there} of {i}");
            expected += there;
        }
        assert_eq!(seen.len(), expected as u64);
    }

    /// Everything but new entries works, or says that there is no room.
    fn check_while_full(&self, seen: &Seen, reader: &Seen) {
        self.check(seen);
        for &i in self.done.iter().rev().take(50) {
            let new = seen.insert_many(&urls(i)).unwrap();
            assert!(new.iter().all(|new| !new), "{i} is new again");
        }
        reader.refresh().unwrap();
        self.check(reader);
        self.check(&Seen::open_read_only(&self.store).unwrap());
        // What a killed writer left has to be flushed for that.
        if seen.recovery().logs == 0 {
            seen.sync().unwrap();
        } else {
            unless_full(seen.sync());
        }
        unless_full(seen.flush());
        unless_full(seen.compact());
        self.check(seen);
        assert_clean(&self.store);
    }

    fn kill_a_writer(&mut self) {
        let argument = format!("{} {} {}", self.setting.0, self.next, self.disk.display());
        let (mut process, mut lines) = child::start("child_writes_to_a_full_disk", &argument);
        let mut refused = 0;
        while refused < ENOUGH {
            let line = child::next_line(&mut lines).unwrap();
            let done = line == "done";
            refused = if done { 0 } else { refused + 1 };
            let list = if done {
                &mut self.done
            } else {
                &mut self.refused
            };
            list.push(self.next);
            self.next += 1;
        }
        process.kill().unwrap();
        while let Some(line) = child::next_line(&mut lines) {
            let done = line == "done";
            let list = if done {
                &mut self.done
            } else {
                &mut self.refused
            };
            list.push(self.next);
            self.next += 1;
        }
        process.wait().unwrap();
        // The one on its way is there or not.
        self.refused.push(self.next);
        self.next += 1;
    }
}

#[test]
fn child_writes_to_a_full_disk() {
    let Some(argument) = child::argument() else {
        return;
    };
    let words: Vec<&str> = argument.splitn(3, ' ').collect();
    let [setting, next, disk] = words[..] else {
        panic!("{argument}");
    };
    let mut filling = Filling::new(Setting(setting.parse().unwrap()), Path::new(disk));
    filling.next = next.parse().unwrap();
    let seen = filling.open();
    loop {
        let written = filling.write(&seen);
        child::report(if written { "done" } else { "refused" });
    }
}
