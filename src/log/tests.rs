use super::*;
use crate::error::{Error, Result};
use crate::header::StoreId;
use crate::options::Writes;
use crate::record::plain;
use crate::vfs::Os;
use std::path::PathBuf;

const STORE: StoreId = StoreId {
    id: [7; 16],
    incarnation: 1,
};

fn new(number: u64, id: u64, first_sequence: u64, writes: Writes) -> NewLog {
    NewLog {
        number,
        id,
        first_sequence,
        immediate: false,
        writes,
    }
}

/// A tombstone in the place of what was seen.
const FORGOTTEN: [u8; 1] = [0b001_010];

struct Fixture {
    dir: tempfile::TempDir,
    ends: Vec<u64>,
}

impl Fixture {
    fn path(&self) -> PathBuf {
        self.dir.path().join(file_name(3))
    }

    /// A log of `frames` frames of one key each; the first `synced` of them count
    /// as synced for those behind.
    fn new(frames: u64, synced: u64) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let mut log =
            LogWriter::create(&Os, dir.path(), STORE, &new(3, 99, 10, Writes::Map)).unwrap();
        let mut ends = vec![log.end()];
        for i in 0..frames {
            log.append(Some(i), None, |body| body.put(key(i).as_bytes(), &plain(i)))
                .unwrap();
            ends.push(log.end());
            if i + 1 == synced {
                log.file().sync().unwrap();
                log.synced()
                    .store(log.end(), std::sync::atomic::Ordering::Release);
            }
        }
        Fixture { dir, ends }
    }

    #[allow(clippy::disallowed_methods, reason = "the test damages the file")]
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path()).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(), bytes).unwrap();
    }

    fn read(&self, recorded: Option<u64>) -> Result<(Vec<String>, u64, Tail)> {
        let mut reader = LogReader::open(&Os, &self.path(), STORE, 3)?;
        let mut keys = Vec::new();
        let tail = reader.read(recorded, true, &mut |operation| {
            if let Operation::Insert { key, .. } = operation {
                keys.push(String::from_utf8(key.to_vec()).unwrap());
            }
            Ok(())
        })?;
        Ok((keys, reader.offset(), tail))
    }
}

fn key(i: u64) -> String {
    format!("https://example.com/{i}")
}

fn keys(count: u64) -> Vec<String> {
    (0..count).map(key).collect()
}

#[test]
fn frames_come_back_in_order() {
    let log = Fixture::new(100, 50);
    let (found, end, tail) = log.read(None).unwrap();
    assert_eq!(found, keys(100));
    assert_eq!(end, log.ends[100]);
    assert_eq!(tail, Tail::Clean);
    assert_eq!(log.read(Some(end)).unwrap().0, keys(100));
}

#[test]
fn times_positions_and_long_keys_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = LogWriter::create(&Os, dir.path(), STORE, &new(1, 5, 1, Writes::Map)).unwrap();
    let long = vec![b'x'; 65_535];
    for i in 0..40 {
        let sequence = log
            .append(Some(1234), Some(i), |body| {
                body.put(&long, &plain(1234));
                body.put(b"a", &plain(1234));
                body.put(b"c", &FORGOTTEN);
            })
            .unwrap();
        assert_eq!(sequence, i + 1);
    }
    log.append(None, None, |body| body.put(b"b", &[])).unwrap();
    let path = dir.path().join(file_name(1));
    let mut reader = LogReader::open(&Os, &path, STORE, 1).unwrap();
    let mut count = 0;
    let mut last = None;
    reader
        .read(None, true, &mut |operation| {
            match operation {
                Operation::Insert { key, seconds } if key == long => {
                    assert_eq!(seconds, Some(1234));
                    count += 1;
                }
                Operation::Insert { key, seconds } => {
                    assert_eq!(seconds, (key == b"a").then_some(1234));
                }
                Operation::Put { key, record } => {
                    assert_eq!((key, record), (&b"c"[..], &FORGOTTEN[..]));
                }
                Operation::Position(at) => last = Some(at),
            }
            Ok(())
        })
        .unwrap();
    assert_eq!((count, last), (40, Some(39)));
    assert_eq!(reader.next_sequence(), 42);
}

#[test]
fn a_reader_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = LogWriter::create(&Os, dir.path(), STORE, &new(1, 5, 1, Writes::Map)).unwrap();
    let mut reader = LogReader::open(&Os, &dir.path().join(file_name(1)), STORE, 1).unwrap();
    let mut found = 0u64;
    // Past several allocated parts.
    for i in 0..20_000 {
        log.append(None, None, |body| body.put(key(i).as_bytes(), &[]))
            .unwrap();
        if i % 977 == 0 || i == 19_999 {
            let tail = reader
                .read(None, false, &mut |_| {
                    found += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!(tail, Tail::Clean);
            assert_eq!(found, i + 1);
        }
    }
}

#[test]
fn a_flip_in_what_was_synced_is_an_error_and_behind_it_a_cut() {
    let log = Fixture::new(12, 6);
    let synced = log.ends[6];
    let last = log.ends[12];
    for at in log.ends[0]..last {
        let pristine = std::cell::RefCell::new(Vec::new());
        log.change(|bytes| {
            *pristine.borrow_mut() = bytes.clone();
            bytes[at as usize] ^= 0x10;
        });
        let frame = log.ends.iter().rposition(|&end| end <= at).unwrap();
        match log.read(None) {
            Err(Error::Corrupt(corrupt)) => {
                assert!(at < synced, "byte {at}: {corrupt}");
                assert_eq!(corrupt.offset, log.ends[frame]);
            }
            Err(other) => panic!("byte {at}: {other}"),
            Ok((found, end, tail)) => {
                assert!(at >= synced, "byte {at} was synced");
                assert_eq!(found, keys(frame as u64));
                assert_eq!(end, log.ends[frame]);
                assert!(matches!(tail, Tail::Unfinished { .. }), "byte {at}");
            }
        }
        // With the length recorded, everything below it must be good.
        assert!(matches!(log.read(Some(last)), Err(Error::Corrupt(_))));
        log.change(|bytes| *bytes = pristine.into_inner());
    }
}

#[test]
fn a_flip_in_the_header_is_an_error() {
    let log = Fixture::new(2, 2);
    for at in 0..log.ends[0] {
        log.change(|bytes| bytes[at as usize] ^= 1);
        assert!(log.read(None).is_err(), "byte {at}");
        log.change(|bytes| bytes[at as usize] ^= 1);
    }
}

#[test]
fn a_log_cut_at_any_length_is_a_prefix_unless_its_length_is_recorded() {
    let log = Fixture::new(8, 3);
    let last = log.ends[8];
    for cut in (log.ends[0]..last).rev() {
        log.change(|bytes| bytes.truncate(cut as usize));
        // Nothing behind the cut can say that more was synced.
        let whole = log.ends.iter().rposition(|&end| end <= cut).unwrap();
        let (found, end, tail) = log.read(None).unwrap();
        assert_eq!((found, end), (keys(whole as u64), log.ends[whole]));
        assert_eq!(tail == Tail::Clean, cut == log.ends[whole], "cut at {cut}");
        assert!(matches!(log.read(Some(last)), Err(Error::Corrupt(_))));
    }
}

#[test]
fn a_lost_sector_of_zeros_is_damage_if_a_later_frame_knew_it_synced() {
    for (synced, damage) in [(60, true), (20, false)] {
        let log = Fixture::new(100, synced);
        let (from, to) = (log.ends[40] as usize, log.ends[45] as usize);
        log.change(|bytes| bytes[from..to].fill(0));
        match log.read(None) {
            Err(Error::Corrupt(corrupt)) => {
                assert!(damage);
                assert_eq!(corrupt.offset, from as u64);
            }
            other => {
                let (found, ..) = other.unwrap();
                assert!(!damage);
                assert_eq!(found, keys(40));
            }
        }
    }
}

#[test]
fn frames_of_another_log_and_key_bytes_that_look_like_a_frame_are_not_read() {
    let log = Fixture::new(5, 0);
    let end = log.ends[5] as usize;
    // The next frame of a log with the same numbers and another id.
    let other = tempfile::tempdir().unwrap();
    let mut writer =
        LogWriter::create(&Os, other.path(), STORE, &new(3, 100, 10, Writes::Map)).unwrap();
    for i in 0..6 {
        writer
            .append(Some(i), None, |body| body.put(key(i).as_bytes(), &plain(i)))
            .unwrap();
    }
    #[allow(clippy::disallowed_methods, reason = "the test reads the file")]
    let foreign = std::fs::read(other.path().join(file_name(3))).unwrap();
    let next = foreign[end..writer.end() as usize].to_vec();
    log.change(|bytes| bytes[end..end + next.len()].copy_from_slice(&next));
    let (found, at, tail) = log.read(None).unwrap();
    assert_eq!((found, at), (keys(5), end as u64));
    assert!(matches!(tail, Tail::Unfinished { .. }));
}

#[test]
fn an_earlier_frame_of_the_same_log_is_not_read_again() {
    // A disk may show old bytes of the file where new ones were lost.
    let log = Fixture::new(5, 0);
    let (from, to, end) = (
        log.ends[1] as usize,
        log.ends[2] as usize,
        log.ends[5] as usize,
    );
    log.change(|bytes| bytes.copy_within(from..to, end));
    let (found, at, tail) = log.read(None).unwrap();
    assert_eq!((found, at), (keys(5), end as u64));
    let Tail::Unfinished { reason } = tail else {
        panic!("{tail:?}");
    };
    assert!(
        reason.contains("sequence number 11 instead of 15"),
        "{reason}"
    );
}

#[test]
fn another_stores_log_or_another_number_is_refused() {
    let log = Fixture::new(1, 1);
    let open = |store, number| LogReader::open(&Os, &log.path(), store, number);
    assert!(open(STORE, 3).is_ok());
    assert!(matches!(open(STORE, 4), Err(Error::Corrupt(_))));
    let mut other = STORE;
    other.incarnation = 2;
    assert!(matches!(open(other, 3), Err(Error::Corrupt(_))));
}

#[test]
fn an_operation_of_a_newer_writer_is_refused_by_name() {
    let log = Fixture::new(1, 1);
    let start = log.ends[0] as usize;
    // Behind the frame's head, flags and time: the kind of the first operation.
    for (offset, name) in [(FRAME + 9, "log operation"), (FRAME, "flags of a batch")] {
        log.change(|bytes| {
            bytes[start + offset] = 77;
            let size = frame_size(usize::from(bytes[start + 4]));
            let crc = Salt::new(99).checksum(&bytes[start + 4..start + size]);
            bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        });
        let error = log.read(None).unwrap_err();
        assert!(
            matches!(&error, Error::UnsupportedFormat { what, .. } if *what == name),
            "{error}"
        );
    }
}

#[test]
fn without_maps_each_frame_is_written_and_nothing_is_allocated_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let mut log =
        LogWriter::create(&Os, dir.path(), STORE, &new(3, 99, 10, Writes::Pwrite)).unwrap();
    for i in 0..1000 {
        log.append(Some(i), None, |body| body.put(key(i).as_bytes(), &plain(i)))
            .unwrap();
    }
    let fixture = Fixture {
        ends: vec![log.end()],
        dir,
    };
    let (found, end, tail) = fixture.read(None).unwrap();
    assert_eq!((found, end, tail), (keys(1000), log.end(), Tail::Clean));
    assert_eq!(log.file().len().unwrap(), log.end());
}
