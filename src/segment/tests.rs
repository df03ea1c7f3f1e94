use super::*;
use crate::error::Result;
use crate::filter::{FilterKind, Size};
use crate::header::StoreId;
use crate::options::Reads;
use crate::record::{Detail, Details, Last, MAX_SECONDS, Stored, Token};
use crate::vfs::{File, Kind, Lock, Map, Os, Vfs, WriteMap, read_exact_at, write_all_at};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const STORE: StoreId = StoreId {
    id: *b"0123456789abcdef",
    incarnation: 3,
};

type Entries = BTreeMap<Vec<u8>, Stored>;

/// The record of an entry without one.
const PLAIN: Stored = Stored::Seen(None);

struct Lab {
    dir: tempfile::TempDir,
    vfs: Arc<dyn Vfs>,
}

fn lab() -> Lab {
    Lab {
        dir: tempfile::tempdir().unwrap(),
        vfs: Arc::new(Os),
    }
}

fn params(stamps: bool, block_size: usize) -> Params {
    Params {
        store: STORE,
        number: 17,
        seed: 0x5eed,
        policy: "raw/1".into(),
        stamps,
        records: stamps,
        place: 0,
        codec: Some(crate::codec::Codec::Plain),
        coder: Arc::new(Coder::plain()),
        filter: FilterKind::Blocked,
        filter_size: Size::for_rate(FilterKind::Blocked, 0.01),
        block_size,
        sequences: (100, 999),
        inputs: vec![3, 4],
        position: Some(77),
    }
}

impl Lab {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, entries: &Entries, params: Params) -> Meta {
        let records = params.records;
        let mut writer = Writer::create(&*self.vfs, &self.path(name), params).unwrap();
        for (key, record) in entries {
            let record = if records { record.clone() } else { PLAIN };
            writer.add(key, record).unwrap();
        }
        let guess = writer.size();
        let meta = writer.finish(true).unwrap();
        let far = guess.abs_diff(meta.size);
        // Keys that wait may be separators too.
        let longest = entries.keys().map(Vec::len).max().unwrap_or(0) as u64;
        let most = 600 + meta.size / 10 + 2 * longest;
        assert!(far < most, "{guess} {}", meta.size);
        meta
    }

    fn open(&self, name: &str, meta: &Meta, reads: Reads) -> Result<Arc<Segment>> {
        let expect = SegmentRef {
            number: meta.number,
            size: meta.size,
            content: meta.content,
        };
        Segment::open(&self.vfs, &self.path(name), STORE, &expect, reads).map(Arc::new)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        let file = self.vfs.open(&self.path(name)).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, &mut bytes, 0).unwrap();
        bytes
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        if self.vfs.kind(&path).unwrap().is_some() {
            self.vfs.remove(&path).unwrap();
        }
        write_all_at(&*self.vfs.create(&path).unwrap(), bytes, 0).unwrap();
    }
}

/// A small generator: the tests need variety, not quality.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 29)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Keys as a crawl meets them: few hosts, deep shared paths, numbered pages.
fn urls(count: usize, seed: u64) -> Entries {
    let mut random = Random(seed);
    let mut entries = Entries::new();
    while entries.len() < count {
        let mut url = format!("https://www.site{}.example/", random.below(9));
        for _ in 0..random.below(4) {
            url += ["articles/", "2024/11/", "product-reviews/", "a/"][random.below(4) as usize];
        }
        url += &format!("item?id={}", random.below(count as u64 * 3));
        entries.insert(url.into_bytes(), record(&mut random));
    }
    entries
}

fn time(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => 0,
        1 => MAX_SECONDS,
        _ => 1_732_900_000 + random.below(86_400),
    }
}

fn record(random: &mut Random) -> Stored {
    let first = time(random);
    let later = |random: &mut Random| (first + random.below(1000)).min(MAX_SECONDS);
    let content = |random: &mut Random| {
        let bytes = (u128::from(random.next()) << 64 | u128::from(random.next())).to_le_bytes();
        (random.below(2) == 0).then_some(bytes)
    };
    let detail = match random.below(10) {
        0 => return Stored::Seen(None),
        1 => return Stored::Forgotten,
        2 => Detail::Seen,
        3 => Detail::Claimed {
            until: MAX_SECONDS,
            token: Token {
                epoch: random.below(3),
                counter: random.next(),
            },
            attempts: 1 + random.below(3) as u32,
            worker: "worker 7".into(),
            last: match random.below(3) {
                0 => None,
                1 => Some(Last::Failed {
                    at: later(random),
                    reason: "so".into(),
                }),
                _ => Some(Last::Fetched {
                    at: later(random),
                    status: 404,
                    content: content(random),
                }),
            },
        },
        4 => Detail::Fetched {
            status: random.below(600) as u16,
            content: content(random),
        },
        5 => Detail::Failed {
            attempts: 9,
            retry_at: (random.below(2) == 0).then_some(MAX_SECONDS),
            reason: "connection refused".into(),
        },
        _ => return Stored::Seen(Some(first)),
    };
    Stored::Full(Box::new(Details {
        first,
        changed: later(random),
        detail,
    }))
}

/// Keys that are hard to code: binary, prefixes of each other, of all lengths.
fn odd_keys() -> Entries {
    let mut random = Random(5);
    let mut keys = BTreeSet::new();
    for len in [1, 2, 3, 15, 16, 17, 127, 128, 129, 300, 65_534, 65_535] {
        keys.insert(vec![0; len]);
        keys.insert(vec![255; len]);
        keys.insert((0..len).map(|_| random.next() as u8).collect());
        keys.insert((0..len).map(|i| (i % 251) as u8).collect());
    }
    for _ in 0..300 {
        let len = 1 + random.below(6);
        keys.insert(
            (0..len)
                .map(|_| [0, 1, 0x7f, 0x80, 255][random.below(5) as usize])
                .collect(),
        );
    }
    keys.into_iter()
        .map(|key| (key, record(&mut random)))
        .collect()
}

/// Keys that differ little from `key`.
fn neighbours(key: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    if let Some((last, rest)) = key.split_last() {
        out.push([rest, &[last.wrapping_add(1)]].concat());
        out.push([rest, &[last.wrapping_sub(1)]].concat());
        out.push(rest.to_vec());
    }
    if let Some((first, rest)) = key.split_first() {
        out.push([&[first.wrapping_add(1)], rest].concat());
        out.push([&[first.wrapping_sub(1)], rest].concat());
    }
    if let Some(middle) = key.len().checked_sub(2) {
        let mut changed = key.to_vec();
        changed[middle / 2] ^= 1;
        out.push(changed);
    }
    out.push([key, &[0]].concat());
    out.push([key, b"zz"].concat());
    out
}

fn expected(entries: &Entries, key: &[u8], stamps: bool) -> Option<Stored> {
    let record = entries.get(key)?;
    Some(if stamps { record.clone() } else { PLAIN })
}

fn scan(cursor: &mut Cursor) -> Result<Vec<(Vec<u8>, Stored)>> {
    let mut out = Vec::new();
    while cursor.advance()? {
        out.push((cursor.key().to_vec(), cursor.record().clone()));
    }
    Ok(out)
}

fn check(entries: &Entries, stamps: bool, block_size: usize) {
    let lab = lab();
    let meta = lab.write("a.seg", entries, params(stamps, block_size));
    assert_eq!(meta.keys, entries.len() as u64);
    assert_eq!(Some(&meta.first), entries.keys().next());
    assert_eq!(Some(&meta.last), entries.keys().last());
    let all: Vec<_> = entries
        .keys()
        .map(|key| (key.clone(), expected(entries, key, stamps).unwrap()))
        .collect();
    for reads in [Reads::Map, Reads::Pread] {
        let segment = lab.open("a.seg", &meta, reads).unwrap();
        assert_eq!(segment.meta(), &meta);
        assert_eq!((segment.seed(), segment.policy()), (0x5eed, "raw/1"));
        segment.verify(&mut |_| {}).unwrap();

        let mut probes: BTreeSet<Vec<u8>> = entries.keys().cloned().collect();
        probes.extend(entries.keys().flat_map(|key| neighbours(key)));
        for key in &probes {
            let found = segment.find(key).unwrap();
            assert_eq!(found.record, expected(entries, key, stamps), "{key:?}");
            assert!(found.bytes > 0);
            if entries.contains_key(key) {
                assert!(segment.covers(key));
                assert!(
                    segment
                        .filter()
                        .may_contain(crate::filter::hash(0x5eed, key))
                );
            }
        }

        let mut cursor = segment.cursor();
        assert!(scan(&mut cursor).unwrap() == all);
        assert!(!cursor.advance().unwrap());
        for key in probes.iter().step_by(1 + probes.len() / 300) {
            cursor.seek(key).unwrap();
            let next: Vec<_> = entries.range::<Vec<u8>, _>(key..).take(40).collect();
            for (key, _) in &next {
                assert!(cursor.advance().unwrap());
                assert_eq!(cursor.key(), key.as_slice());
                assert_eq!(cursor.record(), &expected(entries, key, stamps).unwrap());
            }
            if next.len() < 40 {
                assert!(!cursor.advance().unwrap());
            }
        }
        cursor.seek(b"").unwrap();
        assert!(scan(&mut cursor).unwrap() == all);
    }
}

#[test]
fn crawled_urls_come_back() {
    for (count, block_size) in [(5000, 4096), (3000, 512), (40, 4096), (16, 4096), (17, 1)] {
        for stamps in [true, false] {
            check(&urls(count, 9), stamps, block_size);
        }
    }
}

#[test]
fn odd_keys_come_back() {
    for block_size in [1, 100, 4096, 1 << 20] {
        check(&odd_keys(), true, block_size);
    }
    check(&odd_keys(), false, 4096);
}

#[test]
fn one_key_comes_back() {
    check(&[(b"k".to_vec(), Stored::Seen(Some(5)))].into(), true, 4096);
    check(&[(vec![7; 65_535], PLAIN)].into(), false, 4096);
}

#[test]
fn a_range_is_that_of_the_keys() {
    let lab = lab();
    let keys = ["ab", "abcdefgh", "abcdefghij", "b"].map(|key| (key.into(), PLAIN));
    let meta = lab.write("a.seg", &keys.into(), params(false, 4096));
    let segment = lab.open("a.seg", &meta, Reads::Map).unwrap();
    for key in ["ab", "ab\0", "abcdefgg", "abcdefghi", "azzzzzzzzz", "b"] {
        assert!(segment.covers(key.as_bytes()), "{key}");
    }
    for key in ["", "a", "aa", "aazzzzzzzzz", "b\0", "ba", "bbbbbbbbbb", "c"] {
        assert!(!segment.covers(key.as_bytes()), "{key}");
    }
}

#[test]
fn a_segment_without_keys_has_none() {
    let lab = lab();
    let meta = lab.write("a.seg", &Entries::new(), params(true, 4096));
    let segment = lab.open("a.seg", &meta, Reads::Map).unwrap();
    segment.verify(&mut |_| {}).unwrap();
    assert!(!segment.covers(b"") && !segment.covers(b"a"));
    assert_eq!(segment.find(b"a").unwrap().record, None);
    assert!(!segment.filter().may_contain(1));
    assert!(!segment.cursor().advance().unwrap());
}

#[test]
fn keys_out_of_order_are_refused() {
    let lab = lab();
    let mut writer = Writer::create(&*lab.vfs, &lab.path("a.seg"), params(true, 4096)).unwrap();
    writer.add(b"b", PLAIN).unwrap();
    for key in [&b"b"[..], b"a", b"", &[99; 65_536]] {
        let error = writer.add(key, PLAIN).unwrap_err().to_string();
        assert!(error.contains("a.seg"), "{error}");
    }
    writer.add(b"ba", PLAIN).unwrap();
    assert_eq!(writer.finish(true).unwrap().keys, 2);
}

/// Opens a file and uses all of it. Whatever is damaged, an answer is right.
fn use_all(lab: &Lab, meta: &Meta, entries: &Entries, reads: Reads) -> (bool, usize) {
    let Ok(segment) = lab.open("b.seg", meta, reads) else {
        return (true, 1);
    };
    let mut failed = false;
    for key in entries.keys() {
        for key in [key.clone(), [key, &b"x"[..]].concat()] {
            match segment.find(&key) {
                Ok(found) => assert_eq!(found.record, expected(entries, &key, true)),
                Err(_) => failed = true,
            }
        }
    }
    let mut cursor = segment.cursor();
    match scan(&mut cursor) {
        Ok(got) => assert_eq!(got.len(), entries.len()),
        Err(error) => {
            failed = true;
            for _ in 0..2 {
                assert_eq!(cursor.advance().unwrap_err().to_string(), error.to_string());
                assert_eq!(
                    cursor.seek(b"a").unwrap_err().to_string(),
                    error.to_string()
                );
            }
        }
    }
    let damage = segment.verify_all(&mut |_| {});
    let first = segment.verify(&mut |_| {});
    assert_eq!(first.is_err(), !damage.is_empty());
    (failed, damage.len())
}

#[test]
fn every_flipped_byte_is_found() {
    let lab = lab();
    let entries = urls(60, 4);
    let meta = lab.write("a.seg", &entries, params(true, 256));
    let good = lab.bytes("a.seg");
    assert_eq!(good.len() as u64, meta.size);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= [1, 0x80, 0xff][at % 3];
        lab.put("b.seg", &bytes);
        let reads = if at % 2 == 0 {
            Reads::Map
        } else {
            Reads::Pread
        };
        let (failed, damage) = use_all(&lab, &meta, &entries, reads);
        assert!(failed, "byte {at} was not noticed by use");
        assert_eq!(damage, 1, "byte {at}");
    }
}

#[test]
fn a_file_of_another_length_is_refused() {
    let lab = lab();
    let entries = urls(30, 4);
    let meta = lab.write("a.seg", &entries, params(true, 256));
    let good = lab.bytes("a.seg");
    for len in (0..good.len()).chain([good.len() + 1]) {
        let mut bytes = good.clone();
        bytes.resize(len, 0);
        lab.put("b.seg", &bytes);
        let error = lab
            .open("b.seg", &meta, Reads::Map)
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("{len} bytes")), "{error}");
        assert!(error.contains(&format!("{} bytes", meta.size)), "{error}");
        // And if the manifest were to say the same:
        let mut meta = meta.clone();
        meta.size = len as u64;
        assert!(lab.open("b.seg", &meta, Reads::Pread).is_err(), "{len}");
    }
}

#[test]
fn a_file_that_is_another_is_refused() {
    let lab = lab();
    let entries = urls(30, 4);
    let meta = lab.write("a.seg", &entries, params(true, 256));
    let of = |number, content| SegmentRef {
        number,
        size: meta.size,
        content,
    };
    let open = |store, expect| {
        Segment::open(&lab.vfs, &lab.path("a.seg"), store, &expect, Reads::Map).is_ok()
    };
    assert!(open(STORE, of(17, meta.content)));
    assert!(!open(STORE, of(18, meta.content)));
    assert!(!open(STORE, of(17, meta.content ^ 1)));
    let incarnation = 4;
    assert!(!open(
        StoreId {
            incarnation,
            ..STORE
        },
        of(17, meta.content)
    ));
}

#[test]
fn all_damaged_parts_are_reported() {
    let lab = lab();
    let entries = urls(2000, 4);
    let meta = lab.write("a.seg", &entries, params(true, 1024));
    let segment = lab.open("a.seg", &meta, Reads::Map).unwrap();
    let places: Vec<_> = [3, 4, 20]
        .into_iter()
        .map(|ordinal| segment.index.nth(ordinal).unwrap().unwrap().offset)
        .chain([
            segment.footer.index.place.offset,
            segment.footer.filter.place.offset,
        ])
        .collect();
    let file = lab.vfs.open_write(&lab.path("a.seg")).unwrap();
    for &offset in &places {
        write_all_at(&*file, &[0xaa; 3], offset + 1).unwrap();
    }
    let mut read = 0;
    let damage = segment.verify_all(&mut |bytes| read += bytes);
    assert_eq!(read, meta.size);
    let offsets: Vec<_> = damage
        .iter()
        .map(|error| match error {
            Error::Corrupt(corrupt) => corrupt.offset,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(offsets, places);
}

/// A block that is well formed, but not where it was written.
#[test]
fn a_block_in_another_place_is_noticed() {
    let lab = lab();
    let mut entries = Entries::new();
    for i in 0..64 {
        entries.insert(format!("key{i:02}").into_bytes(), Stored::Seen(Some(1)));
    }
    let meta = lab.write("a.seg", &entries, params(true, 1));
    let segment = lab.open("a.seg", &meta, Reads::Pread).unwrap();
    let (a, b) = (
        segment.index.nth(5).unwrap().unwrap(),
        segment.index.nth(6).unwrap().unwrap(),
    );
    assert_eq!(a.len, b.len);
    let mut bytes = lab.bytes("a.seg");
    let (low, high) = bytes.split_at_mut(b.offset as usize);
    low[a.offset as usize..].swap_with_slice(&mut high[..b.len as usize]);
    let file = lab.vfs.open_write(&lab.path("a.seg")).unwrap();
    write_all_at(&*file, &bytes, 0).unwrap();
    assert!(segment.find(b"key05").is_err());
    assert_eq!(segment.verify_all(&mut |_| {}).len(), 2);
}

fn unsupported(result: Result<Arc<Segment>>) -> (&'static str, String) {
    match result.unwrap_err() {
        Error::UnsupportedFormat { what, found, .. } => (what, found),
        other => panic!("{other}"),
    }
}

/// Replaces the footer's bytes and makes the tail fit them.
fn with_footer(lab: &Lab, meta: &Meta, change: impl FnOnce(&mut Vec<u8>)) -> Meta {
    let bytes = lab.bytes("a.seg");
    let tail = bytes.len() - 24;
    let offset = u64::from_le_bytes(bytes[tail..tail + 8].try_into().unwrap());
    let mut footer = bytes[offset as usize..tail].to_vec();
    change(&mut footer);
    let mut out = bytes[..offset as usize].to_vec();
    out.extend_from_slice(&footer);
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    out.extend_from_slice(&checksum(offset, &footer).to_le_bytes());
    out.extend_from_slice(&bytes[tail + 16..]);
    lab.put("b.seg", &out);
    Meta {
        size: out.len() as u64,
        ..meta.clone()
    }
}

fn find(bytes: &[u8], tag: u16) -> usize {
    let mut reader = crate::wire::Reader::new(bytes);
    loop {
        let (found, value) = reader.field().unwrap();
        if found == tag {
            return reader.offset() - value.len();
        }
    }
}

#[test]
fn what_this_build_does_not_know_is_named() {
    use crate::wire::{MUST_UNDERSTAND, put_field};
    let lab = lab();
    let meta = lab.write("a.seg", &urls(50, 1), params(true, 256));
    let open = |meta: &Meta| lab.open("b.seg", meta, Reads::Map);

    let other = with_footer(&lab, &meta, |f| put_field(f, 99, b"later"));
    open(&other).unwrap().verify(&mut |_| {}).unwrap();
    let other = with_footer(&lab, &meta, |f| {
        put_field(f, 99 | MUST_UNDERSTAND, b"later")
    });
    assert_eq!(unsupported(open(&other)), ("field", "field 99".into()));
    let other = with_footer(&lab, &meta, |f| {
        let at = find(f, 13 | MUST_UNDERSTAND);
        f[at] = 5;
    });
    assert_eq!(unsupported(open(&other)), ("filter kind", "5".into()));
    let other = with_footer(&lab, &meta, |f| {
        let at = find(f, 14 | MUST_UNDERSTAND);
        f[at] = 2;
    });
    assert_eq!(unsupported(open(&other)), ("block codec", "2".into()));
    // A footer that lacks a field is damaged, not new: the last two are of the dictionary
    // and the codec, which need not be there.
    let other = with_footer(&lab, &meta, |f| f.truncate(f.len() - 7));
    assert_eq!(open(&other).unwrap().codec(), None);
    let other = with_footer(&lab, &meta, |f| f.truncate(f.len() - 7 - 22));
    assert!(matches!(open(&other), Err(Error::Corrupt(_))));
}

/// The real files, but reading them is refused while the flag is set.
#[derive(Debug)]
struct Failing(Arc<AtomicBool>);

#[derive(Debug)]
struct FailingFile(Arc<dyn File>, Arc<AtomicBool>);

#[derive(Debug)]
struct FailingMap(Box<dyn Map>, Arc<AtomicBool>);

fn fail(flag: &AtomicBool) -> io::Result<()> {
    if flag.load(Relaxed) {
        return Err(io::Error::other("the disk is on fire"));
    }
    Ok(())
}

impl Vfs for Failing {
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> {
        Os.kind(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        Os.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        Os.create_dir(dir)
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Os.create(path)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(FailingFile(Os.open(path)?, self.0.clone())))
    }
    fn open_write(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Os.open_write(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Os.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Os.remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        Os.sync_dir(dir)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        Os.lock(path)
    }
}

impl File for FailingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        fail(&self.1)?;
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(buf, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
    fn map(&self) -> io::Result<Option<Box<dyn Map>>> {
        let map = self.0.map()?;
        Ok(map.map(|map| Box::new(FailingMap(map, self.1.clone())) as Box<dyn Map>))
    }
    fn map_write(&self, offset: u64, len: usize) -> io::Result<Option<Box<dyn WriteMap>>> {
        self.0.map_write(offset, len)
    }
}

impl Map for FailingMap {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
    fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        fail(&self.1)?;
        self.0.populate(offset, len)
    }
}

/// A failed read is an error of that lookup, never an absence; a block that was
/// verified before needs no read, and a later lookup tries again.
#[test]
fn a_failed_read_is_an_error() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut lab = lab();
    lab.vfs = Arc::new(Failing(flag.clone()));
    let entries = urls(500, 3);
    let meta = lab.write("a.seg", &entries, params(true, 1024));
    let (early, late) = (&meta.first, &meta.last);
    for reads in [Reads::Map, Reads::Pread] {
        flag.store(false, Relaxed);
        let segment = lab.open("a.seg", &meta, reads).unwrap();
        assert!(segment.find(early).unwrap().record.is_some());
        flag.store(true, Relaxed);
        let kept = segment.find(early);
        assert_eq!(kept.is_ok(), reads == Reads::Map);
        let error = segment.find(late).unwrap_err().to_string();
        assert!(
            error.contains("a.seg") && error.contains("on fire"),
            "{error}"
        );
        let mut cursor = segment.cursor();
        assert!(cursor.advance().is_err());
        // Blocks, and each other part, once.
        let parts = segment.index.blocks() + 7;
        assert_eq!(segment.verify_all(&mut |_| {}).len(), parts);
        flag.store(false, Relaxed);
        assert!(segment.find(late).unwrap().record.is_some());
        assert!(cursor.advance().is_err());
        segment.verify(&mut |_| {}).unwrap();
    }
}
